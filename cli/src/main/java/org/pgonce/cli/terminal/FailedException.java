package org.pgonce.cli.terminal;

/** A command cannot be done. The message is for the person who gave it: what, why, what to do. */
public final class FailedException extends RuntimeException {

  public FailedException(String message) {
    super(message);
  }

  public FailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
