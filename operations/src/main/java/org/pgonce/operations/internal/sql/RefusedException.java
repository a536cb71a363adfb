package org.pgonce.operations.internal.sql;

import java.sql.SQLException;

/**
 * The database refused, or cannot be reached. The message is for the person who asked: what, why,
 * what to do.
 */
public final class RefusedException extends RuntimeException {

  public RefusedException(String message, SQLException cause) {
    super(message, cause);
  }
}
