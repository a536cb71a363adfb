package org.pgonce.handler;

/** An exception whose message cannot be had, as a logger finds that asks for it. */
@SuppressWarnings("serial")
public final class Mute extends RuntimeException {

  @Override
  public String getMessage() {
    throw new UnsupportedOperationException();
  }
}
