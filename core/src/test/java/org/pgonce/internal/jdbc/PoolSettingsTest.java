package org.pgonce.internal.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.internal.handle.ClaimedRow.swallow;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.internal.handle.GuardedConnection;
import org.pgonce.internal.handle.Source;
import org.pgonce.stage.Headers;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;
import org.postgresql.jdbc.AutoSave;

/** Whatever the pool hands out, the claim runs READ COMMITTED and READ WRITE without autocommit. */
@PgTest
class PoolSettingsTest {

  private static final String CLAIM =
      "SELECT id, " + PoolSettings.COLUMN + " FROM item FOR UPDATE SKIP LOCKED";

  private static void table(TestDatabase database) throws SQLException {
    database.execute("CREATE TABLE item (id int); INSERT INTO item VALUES (1)");
  }

  /** Claims as a worker would; how often it had to begin. */
  private static int claim(PoolSettings.Taken taken, Connection connection) throws SQLException {
    var begun = new AtomicInteger();
    return taken.begin(
        () -> {
          begun.incrementAndGet();
          try (var statement = connection.createStatement();
              var row = statement.executeQuery(CLAIM)) {
            assertThat(row.next()).isTrue();
            PoolSettings.Taken.requireFit(row.getString(2));
          }
          return begun.get();
        });
  }

  /** The same with a message, in which BEGIN goes too where the driver can do that. */
  private static int claimByMessage(PoolSettings.Taken taken) throws SQLException {
    var begun = new AtomicInteger();
    var claim =
        new Pipeline.Part<Integer>() {
          @Override
          public String sql() {
            return CLAIM;
          }

          @Override
          public Integer read(Statement executed) throws SQLException {
            try (var row = executed.getResultSet()) {
              assertThat(row.next()).isTrue();
              PoolSettings.Taken.requireFit(row.getString(2));
            }
            return begun.get();
          }
        };
    return taken.begin(
        Duration.ofSeconds(30),
        message -> {
          begun.incrementAndGet();
          return message.add(claim);
        });
  }

  @ParameterizedTest
  @EnumSource
  void h42_whatFollowsAClaimByMessageIsInItsTransaction(Source source, TestDatabase database)
      throws Exception {
    table(database);
    try (var connection = source.of(database).getConnection()) {
      var taken = new PoolSettings().take(connection, Duration.ofSeconds(30));
      assertThat(claimByMessage(taken)).isEqualTo(1);
      assertThat(connection.getAutoCommit()).isFalse();
      connection.createStatement().execute("UPDATE item SET id = 2");
      connection.rollback();
      assertThatThrownBy(
              () ->
                  taken.begin(
                      Duration.ofSeconds(30), message -> message.add(Pipeline.command("no"))))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("syntax error");
      assertThat(connection.getAutoCommit()).isFalse();
      connection.rollback();
      assertThat(claimByMessage(taken)).isEqualTo(1);
      connection.rollback();
      taken.restore();
      assertThat(connection.getAutoCommit()).isTrue();
    }
    assertThat(database.queryLong("SELECT id FROM item")).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource
  void h42_autocommitIsOffForTheClaimAndOnAfterwards(Source source, TestDatabase database)
      throws Exception {
    table(database);
    var settings = new PoolSettings();
    try (var connection = source.of(database).getConnection()) {
      var taken = settings.take(connection, Duration.ofSeconds(30));
      assertThat(connection.getAutoCommit()).isFalse();
      assertThat(claim(taken, connection)).isEqualTo(1);
      connection.commit();
      taken.restore();
      assertThat(connection.getAutoCommit()).isTrue();

      connection.setAutoCommit(false);
      taken = settings.take(connection, Duration.ofSeconds(30));
      taken.restore();
      assertThat(connection.getAutoCommit()).isFalse();
    }
  }

  @ParameterizedTest
  @EnumSource
  void h42_aReadOnlyPoolIsLearnedOnceAndSetEachTime(Source source, TestDatabase database)
      throws Exception {
    if (source == Source.HIKARI) {
      Login.assumePgjdbc("pgjdbc-ng sets READ WRITE for the session when HikariCP connects");
    }
    table(database);
    database.execute(
        "ALTER DATABASE %s SET default_transaction_read_only = on".formatted(database.name()));
    assertLearned(source, database);
  }

  @ParameterizedTest
  @EnumSource
  void h42_aRepeatableReadPoolIsLearnedOnceAndSetEachTime(Source source, TestDatabase database)
      throws Exception {
    table(database);
    database.execute(
        "ALTER DATABASE %s SET default_transaction_isolation = 'repeatable read'"
            .formatted(database.name()));
    assertLearned(source, database);
  }

  private static void assertLearned(Source source, TestDatabase database) throws SQLException {
    var settings = new PoolSettings();
    try (var connection = source.of(database).getConnection()) {
      var taken = settings.take(connection, Duration.ofSeconds(30));
      assertThat(claim(taken, connection)).as("begun until learned").isEqualTo(2);
      connection.commit();
      assertThat(claim(taken, connection)).as("begun once learned").isEqualTo(1);
      connection.commit();
      taken.restore();

      taken = new PoolSettings().take(connection, Duration.ofSeconds(30));
      assertThat(claimByMessage(taken)).as("begun by a message until learned").isEqualTo(2);
      connection.commit();
      assertThat(claimByMessage(taken)).as("begun by a message once learned").isEqualTo(1);
      connection.commit();
      taken.restore();
      try (var mode = connection.createStatement().executeQuery("SELECT " + PoolSettings.COLUMN)) {
        mode.next();
        assertThat(mode.getString(1)).as("as it came").isNotEqualTo("read committed, off");
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void h42_readOnlyAndIsolationSetByJdbcAreOverriddenAndKept(Source source, TestDatabase database)
      throws Exception {
    table(database);
    var settings = new PoolSettings();
    try (var connection = source.of(database).getConnection()) {
      connection.setReadOnly(true);
      connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
      var taken = settings.take(connection, Duration.ofSeconds(30));
      assertThat(claim(taken, connection)).isEqualTo(2);
      connection.createStatement().execute("UPDATE item SET id = 2");
      connection.commit();
      assertThat(claimByMessage(taken)).isEqualTo(1);
      connection.rollback();
      taken.restore();
      assertThat(connection.isReadOnly()).isTrue();
      assertThat(connection.getTransactionIsolation())
          .isEqualTo(Connection.TRANSACTION_SERIALIZABLE);
    }
    assertThat(database.queryLong("SELECT id FROM item")).isEqualTo(2);
  }

  @Test
  void anotherReasonForAFailureIsLeftAlone(TestDatabase database) throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      var taken = new PoolSettings().take(connection, Duration.ofSeconds(30));
      swallow(() -> claim(taken, connection)); // there is no such table
      connection.rollback();
      assertThat(taken.mustBeginAgain(new SQLException("on a standby", "25006"))).isTrue();
      taken.begin();
      assertThat(taken.mustBeginAgain(new SQLException("on a standby", "25006"))).isFalse();
    }
  }

  @Test
  void h43_autosaveOfPgjdbcIsOffForTheClaim(TestDatabase database) throws Exception {
    var source = database.dataSource();
    source.setAutosave(AutoSave.ALWAYS);
    database.execute("CREATE TABLE item (id int); CREATE TABLE effect (id int PRIMARY KEY)");
    try (var connection = source.getConnection()) {
      var taken = new PoolSettings().take(connection, Duration.ofSeconds(30));
      var guard =
          new GuardedConnection(
              connection,
              Headers.PLAIN,
              null,
              "a notification",
              GuardedConnection.DEFAULT_PATIENCE);
      swallow(() -> guard.connection().createStatement().execute("SELECT 1/0"));
      swallow(guard::seal);
      connection.rollback();
      taken.restore();
      assertThat(connection.unwrap(PGConnection.class).getAutosave()).isEqualTo(AutoSave.ALWAYS);
    }
  }
}
