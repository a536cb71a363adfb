package org.pgonce.internal.handle;

import static org.assertj.core.api.Assertions.assertThatCode;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.pgonce.stage.Headers;
import org.pgonce.testkit.TestDatabase;

/**
 * A row that is claimed in an open transaction, and the guard over that transaction's connection.
 * Table {@code item} has the row, table {@code effect} is the handler's.
 */
public record ClaimedRow(TestDatabase database, Connection real, GuardedConnection guard)
    implements AutoCloseable {

  /** With calls that do return: as long as a busy machine may take for one. */
  public static final Duration PATIENCE = Duration.ofSeconds(20);

  public static ClaimedRow in(TestDatabase database, Source source) throws SQLException {
    return in(database, source.of(database));
  }

  public static ClaimedRow in(TestDatabase database, DataSource source) throws SQLException {
    return in(database, source, PATIENCE);
  }

  public static ClaimedRow in(TestDatabase database, DataSource source, Duration patience)
      throws SQLException {
    database.execute(
        """
        CREATE TABLE item (id int PRIMARY KEY);
        CREATE TABLE effect (id int PRIMARY KEY);
        INSERT INTO item VALUES (1)
        """);
    var real = source.getConnection();
    real.setAutoCommit(false);
    try (var statement = real.createStatement()) {
      statement.executeQuery("SELECT id FROM item FOR UPDATE SKIP LOCKED").close();
    }
    return new ClaimedRow(
        database,
        real,
        new GuardedConnection(real, Headers.PLAIN, null, "channel \"item\", id 1", patience));
  }

  /** What a handler that goes on behind a failure does. */
  public static void swallow(ThrowingCallable call) {
    assertThatCode(call).isInstanceOf(SQLException.class);
  }

  public Connection handlers() {
    return guard.connection();
  }

  /** Runs SQL as the handler would. */
  public void handle(String sql) throws SQLException {
    try (var statement = handlers().createStatement()) {
      statement.execute(sql);
    }
  }

  /** Settles as pgonce would. */
  public void deleteAndCommit() throws SQLException {
    try (var statement = real.createStatement()) {
      if (statement.executeUpdate("DELETE FROM item WHERE id = 1") != 1) {
        throw new SQLException("the claimed row is gone");
      }
    }
    real.commit();
  }

  public long effects() throws SQLException {
    return database.queryLong("SELECT count(*) FROM effect");
  }

  /** How many rows another process could claim now. */
  public long claimableElsewhere() throws SQLException {
    return database.queryLong(
        "WITH free AS (SELECT id FROM item FOR UPDATE SKIP LOCKED) SELECT count(*) FROM free");
  }

  @Override
  public void close() throws SQLException {
    if (!real.isClosed()) {
      try {
        real.rollback();
      } finally {
        real.close();
      }
    }
  }
}
