package org.pgonce.example.run;

/** Why a run cannot be made or go on, in words for whoever started it. */
public final class CannotRunException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  CannotRunException(String message) {
    super(message);
  }

  CannotRunException(String message, Throwable cause) {
    super(message, cause);
  }
}
