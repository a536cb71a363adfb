package org.pgonce.example;

/** Why a run cannot be made or go on, in words for whoever started it. */
final class CannotRunException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  CannotRunException(String message) {
    super(message);
  }

  CannotRunException(String message, Throwable cause) {
    super(message, cause);
  }
}
