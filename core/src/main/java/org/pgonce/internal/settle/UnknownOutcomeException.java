package org.pgonce.internal.settle;

/** A handler began, and nobody knows how far it came. */
public final class UnknownOutcomeException extends Exception {

  private static final long serialVersionUID = 1L;

  public UnknownOutcomeException(String message) {
    super(message);
  }

  public UnknownOutcomeException(String message, Throwable cause) {
    super(message, cause);
  }
}
