package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.SQLException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Terminates a backend from within a transaction, which stays as it was. */
final class BackendTerminator {

  private static final Logger LOG = LoggerFactory.getLogger(BackendTerminator.class);

  private static final String SAVEPOINT = "SAVEPOINT pgonce_terminate";
  // Whose session it is, is told by its login role; one with «ALTER ROLE … SET role» acts as
  // another one, which may not end it.
  private static final String AS_LOGIN_ROLE = "SELECT pg_catalog.set_config('role', 'none', true)";
  // Takes back the role, and the failure.
  private static final String UNDO = "ROLLBACK TO SAVEPOINT pgonce_terminate";

  private BackendTerminator() {}

  /** The statement that does it. */
  @FunctionalInterface
  interface Terminate {
    void execute() throws SQLException;
  }

  /**
   * Best effort: where the role may not, what the session has locked stays so until it notices by
   * itself.
   *
   * @param whose which session, for the warning if that fails
   * @throws SQLException if the caller's own connection fails
   */
  static void run(Connection transaction, String whose, Terminate terminate) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(SAVEPOINT);
      try {
        statement.execute(AS_LOGIN_ROLE);
        terminate.execute();
      } catch (SQLException e) {
        LOG.warn(
            "pgonce: {} could not be ended (SQLState {}); what it has locked stays locked until it"
                + " ends. Grant the role EXECUTE on pg_terminate_backend, or pg_signal_backend",
            whose,
            e.getSQLState());
        LOG.debug("pgonce: the failure to end a session", e);
      }
      statement.execute(UNDO);
    }
  }
}
