package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import org.pgonce.internal.jdbc.Following;
import org.pgonce.internal.jdbc.LastStatement;
import org.pgonce.internal.jdbc.PgjdbcNg;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.SessionState;

/**
 * The savepoint before a handler's first statement, with the settings that are read or set along
 * with it: in one message, except with pgjdbc-ng, which prepares one command at a time.
 */
public final class HandlerSavepoint {

  public static final String NAME = "pgonce_handler";
  public static final String SET = "SAVEPOINT pgonce_handler";
  public static final String RELEASE = "RELEASE SAVEPOINT pgonce_handler";
  public static final String UNDO = "ROLLBACK TO SAVEPOINT pgonce_handler; " + RELEASE;

  private static final String READ_BEFORE =
      "SELECT " + SessionState.COLUMN + ", " + NotificationHeaders.COLUMNS;
  private static final String READ_BEFORE_AND_SET = READ_BEFORE + "; " + SET;

  // Columns are computed in their order. pgonce's settings of the claim are set back before the
  // state is read, so that it shows whether the handler has kept them for good; the role behind it,
  // since settling is not for the role that a handler has set.
  private static final String READ_AFTER =
      """
      SELECT pg_catalog.set_config('pgonce.context', ?, false), pg_catalog.set_config('pgonce.depth', ?, false),
      %s, pg_catalog.set_config('role', ?, true)
      """
          .formatted(SessionState.COLUMN);
  private static final int PARAMETERS_AFTER = 3;
  private static final int STATE_COLUMN = 3;
  private static final String RELEASE_AND_READ = RELEASE + "; " + READ_AFTER;

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

  /**
   * Reads the session's settings, sets depth and context of the notification, and the savepoint.
   */
  public static SessionState set(NotificationHeaders origin, Connection transaction)
      throws SQLException {
    var alone = PgjdbcNg.made(transaction);
    try (var statement = transaction.prepareStatement(alone ? READ_BEFORE : READ_BEFORE_AND_SET)) {
      origin.bind(statement, 1);
      statement.execute();
      var before = state(statement, 1);
      if (alone) {
        execute(SET, transaction);
      }
      return before;
    }
  }

  /**
   * Sets depth and context of the next notification of a batch.
   *
   * @return whether the other settings are those before: a trigger or a function may have changed
   *     them
   */
  public static boolean setOrigin(
      NotificationHeaders origin, SessionState before, Connection transaction) throws SQLException {
    try (var statement = transaction.prepareStatement(BETWEEN_HANDLERS)) {
      statement.setString(1, before.value("pgonce.context"));
      statement.setString(2, before.value("pgonce.depth"));
      origin.bind(statement, 3);
      statement.execute();
      return state(statement, STATE_COLUMN).equals(before);
    }
  }

  /** Releases it, reads the settings after it, and sets the role back. */
  public static SessionState release(SessionState before, Connection transaction)
      throws SQLException {
    var alone = PgjdbcNg.made(transaction);
    if (alone) {
      execute(RELEASE, transaction);
    }
    try (var statement = transaction.prepareStatement(alone ? READ_AFTER : RELEASE_AND_READ)) {
      bind(before, statement);
      statement.execute();
      if (!alone) {
        statement.getMoreResults(); // the command is the first result
      }
      return state(statement, STATE_COLUMN);
    }
  }

  /** The result of a statement, and the settings before it. */
  public record Followed<R>(SessionState state, R result) {}

  /** The same, and two statements behind it in the same message. Not for pgjdbc-ng. */
  public static <R> Followed<R> release(
      SessionState before, LastStatement<R> last, Following behind, Connection transaction)
      throws SQLException {
    try (var statement =
        transaction.prepareStatement(Pipeline.of(RELEASE_AND_READ, last.sql(), behind.sql()))) {
      bind(before, statement);
      last.bind(statement, PARAMETERS_AFTER + 1);
      behind.bind(statement, PARAMETERS_AFTER + last.parameters() + 1);
      statement.execute();
      statement.getMoreResults(); // the command is the first result
      var state = state(statement, STATE_COLUMN);
      statement.getMoreResults();
      return new Followed<>(state, last.read(statement, behind));
    }
  }

  private static void bind(SessionState before, PreparedStatement statement) throws SQLException {
    statement.setString(1, before.value("pgonce.context"));
    statement.setString(2, before.value("pgonce.depth"));
    statement.setString(3, before.value("role"));
  }

  private static SessionState state(Statement executed, int column) throws SQLException {
    try (var row = executed.getResultSet()) {
      row.next();
      return new SessionState(row.getString(column));
    }
  }

  public static boolean execute(String sql, Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement()) {
      return statement.execute(sql);
    }
  }
}
