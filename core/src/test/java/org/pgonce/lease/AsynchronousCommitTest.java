package org.pgonce.lease;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/**
 * A server whose default is synchronous_commit = off is killed: what it has acknowledged in the
 * last seconds is lost. What must not begin twice does not.
 */
class AsynchronousCommitTest {

  private static final Channel<Order> ONCE = Stage.wokenAlways("once", Mode.AT_MOST_ONCE);

  private static TestServer server;

  @BeforeAll
  static void start() {
    server =
        TestServer.start(
            Map.of(
                "synchronous_commit", "off",
                "wal_writer_delay", "10s",
                "full_page_writes", "off", // pages of the log would come behind it
                "bgwriter_lru_maxpages", "0", // it writes the log before what it writes
                "autovacuum", "off"));
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  /**
   * Writes the log now. A later commit that does not ask for it is written within 10 s, or when a
   * whole page of the log comes behind it.
   */
  private static void flush(TestDatabase database) throws SQLException {
    database.execute("create table if not exists flushed (n int)");
    database.execute("set local synchronous_commit = on; insert into flushed values (1)");
  }

  private static void killServer() {
    server.killPostmaster();
    server.restart();
  }

  /** Else the tests of this class would show nothing. */
  @Test
  void h79_aCommitOfThisServerIsLostWithIt() throws Exception {
    try (var database = server.createDatabase()) {
      flush(database);
      database.execute("insert into flushed values (2)");
      killServer();
      assertThat(database.queryLong("select max(n) from flushed")).isEqualTo(1);
    }
  }

  @Test
  void h79_anAtMostOnceHandlerBeginsOnce() throws Exception {
    try (var database = server.createDatabase();
        var stage = new Stage(database)) {
      PgOnce.using(stage.dataSource).install(ONCE);
      var begun = new AtomicInteger();
      var first = new CountDownLatch(1);
      try (var connection = stage.dataSource.getConnection()) {
        Publisher.standard().publish(connection, ONCE, new Order(1, "item"));
      }
      flush(database);
      stage
          .pgonce()
          .listen(
              ONCE,
              Stage.QUICK.withLease(Duration.ofSeconds(3)),
              (order, tx) -> {
                if (begun.incrementAndGet() == 1) {
                  killServer();
                  first.countDown();
                }
              })
          .start();
      Stage.awaitSoon(first);
      // Its lease is over, or its acknowledgement found it: then it is a dead letter, or gone.
      stage.awaitNothingWaits();
      assertThat(begun).hasValue(1);
    }
  }

  /**
   * What the session has as its default, and what the begin of an AT_MOST_ONCE handler commits
   * with.
   */
  @ParameterizedTest
  @CsvSource({"off, on", "local, on", "remote_write, on", "on, on", "remote_apply, remote_apply"})
  void h79_aStrongerSettingStays(String own, String used) throws Exception {
    try (var database = server.createDatabase()) {
      var source = database.dataSource();
      PgOnce.using(source).install(ONCE);
      database.execute(
          "alter database %s set synchronous_commit = '%s'".formatted(database.name(), own));
      database.execute("select pgonce.publish('once', '{\"id\": 1}')");
      try (var connection = source.getConnection()) {
        connection.setAutoCommit(false);
        var leased =
            one(
                connection,
                """
                select count((l.claimed).id) from pgonce.subscription s,
                       pgonce.lease(s.id, false, gen_random_uuid(), 60000, 1, 'NONE', 'AT_MOST_ONCE') l
                """);
        assertThat(leased).isEqualTo("1");
        assertThat(one(connection, "select current_setting('synchronous_commit')")).isEqualTo(used);
        connection.rollback();
        assertThat(one(connection, "select current_setting('synchronous_commit')")).isEqualTo(own);
      }
    }
  }

  private static String one(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(sql)) {
      assertThat(row.next()).isTrue();
      return String.valueOf(row.getString(1));
    }
  }
}
