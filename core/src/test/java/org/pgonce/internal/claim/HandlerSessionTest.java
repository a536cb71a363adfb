package org.pgonce.internal.claim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.internal.jdbc.Borrowed;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.PgBouncer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The session that holds a row: how long it may idle, and that nobody else is ended for it. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class HandlerSessionTest {

  private static final String IDLE =
      "select current_setting('idle_in_transaction_session_timeout')";

  private int subscription;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    PgOnce.using(database.unpooled()).install(Channel.of("orders", String.class));
    database.execute("select pgonce.publish('orders', '\"a\"')");
    subscription = (int) database.queryLong("select id from pgonce.subscription");
  }

  private Claim claim(Connection connection) throws SQLException {
    return claim(
        new ClaimSession(
            new Borrowed(connection),
            new PoolSettings().take(connection, Duration.ofSeconds(30)),
            Duration.ofMinutes(5)));
  }

  private Claim claim(ClaimSession session) throws SQLException {
    return ClaimStatement.claim(session, subscription, false, 0, 1).get(0);
  }

  private static String idle(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(IDLE)) {
      row.next();
      return row.getString(1);
    }
  }

  @ParameterizedTest
  @CsvSource({"0, 305s", "1h, 305s", "20s, 20s"})
  void h49_theClaimBoundsHowLongItsSessionMayIdle(String own, String bound, TestDatabase database)
      throws Exception {
    try (var connection = database.unpooled().getConnection()) {
      try (var statement = connection.createStatement()) {
        statement.execute("set idle_in_transaction_session_timeout = '" + own + "'");
      }
      var session =
          new ClaimSession(
              new Borrowed(connection),
              new PoolSettings().take(connection, Duration.ofSeconds(30)),
              Duration.ofMinutes(5));
      for (var claim = 1; claim <= 3; claim++) {
        assertThat(claim(session).holder().idleTimeout()).isEqualTo(own);
        assertThat(idle(connection)).isEqualTo(bound);
        connection.rollback();
        assertThat(idle(connection)).isEqualTo(own);
        connection.rollback();
      }
    }
  }

  /** As a pool's connection may have it. It is not the notification's. */
  @ParameterizedTest
  @ValueSource(strings = {"", "{\"tenant\": \"other\"}"})
  void theHandlerNeverMeetsTheContextOfItsSession(String own, TestDatabase database)
      throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      try (var set = connection.prepareStatement("select set_config('pgonce.context', ?, false)")) {
        set.setString(1, own);
        set.execute();
      }
      var session =
          new ClaimSession(
              new Borrowed(connection),
              new PoolSettings().take(connection, Duration.ofSeconds(30)),
              Duration.ofMinutes(5));
      for (var context : List.of("null", "'{\"tenant\": \"mine\"}'", "null")) {
        database.execute("update pgonce.notification set context = " + context);
        for (var claim = 1; claim <= 3; claim++) {
          var claimed = claim(session);
          assertThat(context(connection))
              .isEqualTo(claimed.headers().context() == null ? "" : claimed.headers().context());
          connection.rollback();
          assertThat(context(connection)).isEqualTo(own);
          connection.rollback();
        }
      }
    }
  }

  private static String context(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("select current_setting('pgonce.context')")) {
      row.next();
      return row.getString(1);
    }
  }

  /** There each transaction may have another session. */
  @Test
  void h49_behindAPoolerTheHolderIsTheSessionOfThisClaim(TestDatabase database) throws Exception {
    try (var pooler = PgBouncer.start(database, "transaction")) {
      var login = pooler.login(database);
      var url = login.jdbcUrl() + "?prepareThreshold=0";
      try (var mine = DriverManager.getConnection(url, login.user(), login.password());
          var other = DriverManager.getConnection(url, login.user(), login.password())) {
        var session =
            new ClaimSession(
                new Borrowed(mine),
                new PoolSettings().take(mine, Duration.ofSeconds(30)),
                Duration.ofMinutes(5));
        var first = claim(session).holder().backendPid();
        mine.rollback();
        other.setAutoCommit(false);
        assertThat(pid(other)).isEqualTo(first);

        var second = claim(session).holder().backendPid();

        assertThat(second).isEqualTo(pid(mine)).isNotEqualTo(first);
      }
    }
  }

  private static int pid(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("select pg_backend_pid()")) {
      row.next();
      return row.getInt(1);
    }
  }

  @Test
  void h49_onlyTheTransactionOfTheClaimIsEnded(TestDatabase database) throws Exception {
    try (var holder = database.unpooled().getConnection();
        var other = database.unpooled().getConnection()) {
      other.setAutoCommit(false);
      var claim = claim(holder);
      holder.rollback();
      // The same session, some other transaction: a pooler may have given it to somebody else.
      assertThat(idle(holder)).isEqualTo("0");
      HandlerSession.end(other, claim);
      other.commit();
      assertThat(idle(holder)).isEqualTo("0");
      holder.rollback();

      var again = claim(holder);
      HandlerSession.end(other, again);
      other.commit();
      await()
          .atMost(Duration.ofSeconds(10))
          .until(
              () ->
                  database.queryLong(
                          "select count(*) from pg_stat_activity where pid = "
                              + again.holder().backendPid())
                      == 0);
    }
  }
}
