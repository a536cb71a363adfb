package org.pgonce;

/**
 * Something that pgonce cannot do, said so that a person can mend it: what, where, why, what to do.
 * The cause, if any, is the driver's exception.
 */
public class PgOnceException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public PgOnceException(String message) {
    super(message);
  }

  public PgOnceException(String message, Throwable cause) {
    super(message, cause);
  }
}
