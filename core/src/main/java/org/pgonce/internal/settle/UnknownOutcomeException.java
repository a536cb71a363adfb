package org.pgonce.internal.settle;

/** A handler began, and nobody knows how far it came. */
public final class UnknownOutcomeException extends Exception {

  public UnknownOutcomeException(String message) {
    super(message);
  }

  public UnknownOutcomeException(String message, Throwable cause) {
    super(message, cause);
  }
}
