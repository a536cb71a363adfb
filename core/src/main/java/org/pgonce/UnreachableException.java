package org.pgonce;

/**
 * The database could not be reached, which may pass without anyone changing anything: the server is
 * still starting, say. The same call may be made again.
 */
public final class UnreachableException extends PgOnceException {

  private static final long serialVersionUID = 1L;

  public UnreachableException(String message, Throwable cause) {
    super(message, cause);
  }
}
