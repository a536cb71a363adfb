package org.pgonce.benchmarks.figures;

/**
 * Not everything was stored or done that should have been: what was timed is not what was meant.
 */
public final class MiscountException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public MiscountException(String message) {
    super(message);
  }
}
