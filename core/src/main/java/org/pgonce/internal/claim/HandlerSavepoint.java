package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.SessionState;

/** The savepoint before a handler's first statement: how it is set, released and undone. */
public final class HandlerSavepoint {

  static final Pipeline.Part<Boolean> SET = Pipeline.command("SAVEPOINT pgonce_handler");
  public static final Pipeline.Part<Boolean> RELEASED =
      Pipeline.command("RELEASE SAVEPOINT pgonce_handler");
  public static final Pipeline.Part<Boolean> UNDONE =
      Pipeline.command("ROLLBACK TO SAVEPOINT pgonce_handler");

  // What is deferred to the commit runs while the handler's context and depth are set, and its work
  // can be undone alone: a commit that fails lets go of the row, before the failure is recorded.
  private static final Pipeline.Part<Boolean> NOTHING_DEFERRED =
      Pipeline.command("SET CONSTRAINTS ALL IMMEDIATE");

  private static final String READ =
      "SELECT " + SessionState.COLUMN + " AS settings, " + NotificationHeaders.COLUMNS;

  // Context and depth were set by the claim, or for the handler before, and must not count as this
  // handler's changes: so they are set back before the settings are read. Columns are computed in
  // their order.
  private static final String SET_BACK_AND_READ =
      """
      SELECT pg_catalog.set_config('pgonce.context', ?, false), pg_catalog.set_config('pgonce.depth', ?, false),
      %s AS settings, %s
      """;

  private static final String BETWEEN_HANDLERS =
      SET_BACK_AND_READ.formatted(SessionState.COLUMN, NotificationHeaders.COLUMNS);

  // The deletion must not run with a role of the handler.
  private static final String READ_AFTER =
      SET_BACK_AND_READ.formatted(SessionState.COLUMN, "pg_catalog.set_config('role', ?, true)");

  private HandlerSavepoint() {}

  /**
   * A statement that reads the session's settings.
   *
   * @param before whose context and depth are set back before; null if none are
   * @param rest the parameters behind those
   */
  private record Read(String sql, @Nullable SessionState before, Pipeline.Binding rest)
      implements Pipeline.Part<SessionState> {

    @Override
    public void bind(PreparedStatement statement, int first) throws SQLException {
      if (before != null) {
        statement.setString(first, before.value("pgonce.context"));
        statement.setString(first + 1, before.value("pgonce.depth"));
      }
      rest.bind(statement, before == null ? first : first + 2);
    }

    @Override
    public SessionState read(Statement executed) throws SQLException {
      try (var row = executed.getResultSet()) {
        row.next();
        return new SessionState(row.getString("settings"));
      }
    }
  }

  /** Reads the session's settings, sets the headers of what is handled, and sets the savepoint. */
  public static SessionState set(NotificationHeaders origin, Connection transaction)
      throws SQLException {
    var message = new Pipeline(transaction);
    var before = message.add(new Read(READ, null, origin::bind));
    message.add(SET);
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
    var between = new Read(BETWEEN_HANDLERS, before, origin::bind);
    return Pipeline.send(between, transaction).equals(before);
  }

  /**
   * Adds statements that run what is deferred to the commit, release the savepoint, set the role
   * back, and read the settings after the handler.
   */
  public static Pipeline.Sent<SessionState> release(SessionState before, Pipeline message) {
    message.add(NOTHING_DEFERRED);
    message.add(RELEASED);
    return message.add(
        new Read(
            READ_AFTER,
            before,
            (statement, first) -> statement.setString(first, before.value("role"))));
  }
}
