package org.pgonce.cli.doctor;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import javax.sql.DataSource;
import org.postgresql.PGConnection;

/**
 * Whether a pooler gives each transaction another session of the server. The driver has been told
 * the process of its session; a pooler makes that number up.
 */
final class PoolerCheck {

  private static final String PID = "SELECT pg_backend_pid()";
  private static final int ROUNDS = 3;

  private PoolerCheck() {}

  static List<Finding> find(DataSource source) {
    try {
      return examine(source);
    } catch (SQLException e) {
      // Its further connections may be those that the server or a pooler has not got.
      return List.of(
          new Finding(
              Finding.Severity.INFO,
              "POOLER_NOT_EXAMINED",
              "whether a pooler stands at this address could not be examined: " + e.getMessage(),
              "In transaction mode it does not carry LISTEN.",
              "Give doctor two more connections."));
    }
  }

  private static List<Finding> examine(DataSource source) throws SQLException {
    try (var one = source.getConnection()) {
      one.setAutoCommit(false);
      var told = one.unwrap(PGConnection.class).getBackendPID();
      var pid = pid(one);
      one.rollback();
      if (told == pid) {
        return List.of();
      }
      try (var other = source.getConnection()) {
        other.setAutoCommit(false);
        return List.of(finding(changes(one, other)));
      }
    }
  }

  /** Two that work at once, and end in turn: the session that is free last is given out first. */
  private static boolean changes(Connection one, Connection other) throws SQLException {
    var first = pid(one);
    for (var round = 0; round < ROUNDS; round++) {
      var unused = pid(other);
      one.rollback();
      other.rollback();
      if (pid(one) != first) {
        return true;
      }
      unused = pid(other);
      other.rollback();
      one.rollback();
      if (pid(one) != first) {
        return true;
      }
    }
    return false;
  }

  private static int pid(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(PID)) {
      row.next();
      return row.getInt(1);
    }
  }

  private static Finding finding(boolean perTransaction) {
    return perTransaction
        ? new Finding(
            Finding.Severity.WARNING,
            "POOLER_PER_TRANSACTION",
            "a pooler in transaction mode stands at this address",
            "It does not carry LISTEN, and a driver's named statements are other clients' there.",
            "Give listeners the address of the server for LISTEN, and set prepareThreshold=0: docs/connections.md, behind a connection pooler.")
        : new Finding(
            Finding.Severity.INFO,
            "POOLER",
            "a pooler stands at this address; no change of sessions was seen",
            "In session mode it carries LISTEN. In transaction mode it does not, and that cannot always be told.",
            "Look at its pool_mode: docs/connections.md, behind a connection pooler.");
  }
}
