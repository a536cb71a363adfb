package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.SessionState;

/** The savepoint before a handler's first statement: how it is set, released and undone. */
public final class HandlerSavepoint {

  public static final String NAME = "pgonce_handler";
  public static final String SET = "SAVEPOINT pgonce_handler";
  public static final String RELEASE = "RELEASE SAVEPOINT pgonce_handler";
  public static final String UNDO = "ROLLBACK TO SAVEPOINT pgonce_handler; " + RELEASE;

  private static final String READ_BEFORE =
      "SELECT " + SessionState.COLUMN + ", " + NotificationHeaders.COLUMNS;

  // The settings that the claim has made for its transaction are set back before the state is read,
  // so that they never count as the handler's. The role is set back behind it, for the rest of the
  // transaction: the deletion must not run with a role of the handler. Columns are computed in
  // their order.
  private static final String READ_AFTER =
      """
      SELECT pg_catalog.set_config('pgonce.context', ?, false), pg_catalog.set_config('pgonce.depth', ?, false),
      %s, pg_catalog.set_config('role', ?, true)
      """
          .formatted(SessionState.COLUMN);

  // Context and depth are those of the notification before: they are set back before the state is
  // read.
  private static final String BETWEEN_HANDLERS =
      """
      SELECT pg_catalog.set_config('pgonce.context', ?, true), pg_catalog.set_config('pgonce.depth', ?, true),
      %s, %s
      """
          .formatted(SessionState.COLUMN, NotificationHeaders.COLUMNS);

  private HandlerSavepoint() {}

  public static boolean isName(String name) {
    return name.equals(NAME) || name.equals('"' + NAME + '"');
  }

  private interface Binding {
    void bind(PreparedStatement statement, int first) throws SQLException;
  }

  /** A statement with the session's settings in one of its columns. */
  private record Read(String sql, int parameters, Binding binding, int column)
      implements Pipeline.Part<SessionState> {

    @Override
    public void bind(PreparedStatement statement, int first) throws SQLException {
      binding.bind(statement, first);
    }

    @Override
    public SessionState read(Statement executed) throws SQLException {
      try (var row = executed.getResultSet()) {
        row.next();
        return new SessionState(row.getString(column));
      }
    }
  }

  /** Reads the session's settings, sets the headers of what is handled, and sets the savepoint. */
  public static SessionState set(NotificationHeaders origin, Connection transaction)
      throws SQLException {
    var message = new Pipeline(transaction);
    var before = message.add(new Read(READ_BEFORE, 2, origin::bind, 1));
    message.add(Pipeline.command(SET));
    message.send();
    return before.result();
  }

  /**
   * Sets the headers of what is handled next.
   *
   * @return whether the session's other settings are still those before the first handler
   */
  public static boolean setOrigin(
      NotificationHeaders origin, SessionState before, Connection transaction) throws SQLException {
    var between =
        new Read(
            BETWEEN_HANDLERS,
            4,
            (statement, first) -> {
              statement.setString(first, before.value("pgonce.context"));
              statement.setString(first + 1, before.value("pgonce.depth"));
              origin.bind(statement, first + 2);
            },
            3);
    return Pipeline.send(between, transaction).equals(before);
  }

  /** Adds its release, and a statement that sets the role back and reads the settings after it. */
  public static Pipeline.Sent<SessionState> release(SessionState before, Pipeline message) {
    message.add(Pipeline.command(RELEASE));
    return message.add(
        new Read(
            READ_AFTER,
            3,
            (statement, first) -> {
              statement.setString(first, before.value("pgonce.context"));
              statement.setString(first + 1, before.value("pgonce.depth"));
              statement.setString(first + 2, before.value("role"));
            },
            3));
  }

  public static boolean execute(String sql, Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement()) {
      return statement.execute(sql);
    }
  }
}
