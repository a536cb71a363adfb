package org.pgonce.cli.doctor;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.pgonce.operations.internal.doctor.Check;
import org.pgonce.operations.internal.doctor.Finding;
import org.pgonce.operations.internal.sql.Statements;
import org.postgresql.PGConnection;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * Whether a pooler gives each transaction another session of the server. The driver has been told
 * the process of its session; a pooler makes that number up. Only behind one it takes further
 * connections, which may be refused, or wait for a place in the pool.
 */
final class PoolerCheck {

  private static final String PID = "SELECT pg_backend_pid()";
  private static final int ROUNDS = 3;
  private static final Duration LONGEST = Duration.ofSeconds(5);

  private final PGSimpleDataSource source;
  private final long end = System.nanoTime() + LONGEST.toNanos();

  private PoolerCheck(PGSimpleDataSource source) {
    this.source = source;
  }

  static Check over(PGSimpleDataSource source) {
    return new Check("POOLER", statements -> new PoolerCheck(source).find(statements));
  }

  private List<Finding> find(Statements statements) throws SQLException {
    var told = statements.connection().unwrap(PGConnection.class).getBackendPID();
    if (statements.number(PID) == told) {
      return List.of();
    }
    // The pool may have one place only: it is free when this transaction has ended.
    statements.connection().rollback();
    try (var one = open();
        var other = open()) {
      return List.of(finding(changes(one, other)));
    } catch (SQLException e) {
      return List.of(
          new Finding(
              Finding.Severity.INFO,
              "POOLER_NOT_EXAMINED",
              "a pooler stands at this address; whether it is in transaction mode was not seen: %s (%s)"
                  .formatted(e.getMessage(), e.getSQLState()),
              "In session mode it carries LISTEN. In transaction mode it does not. To tell takes two connections more, for %d s at most."
                  .formatted(LONGEST.toSeconds()),
              "Look at its pool_mode: docs/connections.md, behind a connection pooler."));
    }
  }

  private Connection open() throws SQLException {
    source.setLoginTimeout((int) Math.ceil(leftMillis() / 1_000.0));
    var connection = source.getConnection();
    try {
      connection.setAutoCommit(false);
      return connection;
    } catch (SQLException e) {
      connection.close();
      throw e;
    }
  }

  /** Two that work at once, and end in turn: the session that is free last is given out first. */
  private boolean changes(Connection one, Connection other) throws SQLException {
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

  private int pid(Connection connection) throws SQLException {
    connection.setNetworkTimeout(Runnable::run, leftMillis());
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(PID)) {
      row.next();
      return row.getInt(1);
    }
  }

  /** At least 1: 0 would be no bound. */
  private int leftMillis() throws SQLException {
    var left = (end - System.nanoTime()) / 1_000_000;
    if (left < 1) {
      throw new SQLException("it took too long", "57014");
    }
    return (int) left;
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
