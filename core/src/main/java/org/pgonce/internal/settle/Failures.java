package org.pgonce.internal.settle;

import java.sql.SQLException;
import org.postgresql.util.PSQLException;

/** Failures in words that may be stored and logged. */
public final class Failures {

  private static final int MAX_LENGTH = 2_000;

  private Failures() {}

  /**
   * One line: the exception's class and message. Of a database error only the primary message is
   * kept: its detail quotes the values of the row, as in «Key (email)=(…) already exists».
   */
  public static String inWords(Throwable failure) {
    var words = failure.getClass().getName() + ": " + message(failure);
    var cause = failure.getCause();
    if (cause instanceof SQLException && !(failure instanceof SQLException)) {
      words += "; caused by " + cause.getClass().getName() + ": " + message(cause);
    }
    // PostgreSQL's text knows no NUL.
    var line = words.replace('\0', ' ').lines().findFirst().orElse("");
    return line.length() <= MAX_LENGTH ? line : line.substring(0, MAX_LENGTH - 1) + "…";
  }

  /**
   * As {@link #inWords}, with the server's hint behind it where the driver has kept it. pgjdbc-ng
   * has not: pgonce's own functions say in their message what to do.
   */
  public static String withHint(SQLException failure) {
    var server =
        failure instanceof PSQLException postgres ? postgres.getServerErrorMessage() : null;
    var hint = server == null ? null : server.getHint();
    return inWords(failure) + (hint == null ? "" : ". " + hint);
  }

  private static String message(Throwable failure) {
    if (failure instanceof PSQLException server && server.getServerErrorMessage() != null) {
      return server.getServerErrorMessage().getMessage()
          + " (SQLState "
          + server.getSQLState()
          + ")";
    }
    if (failure instanceof SQLException sql) {
      return sql.getMessage() + " (SQLState " + sql.getSQLState() + ")";
    }
    return String.valueOf(failure.getMessage());
  }
}
