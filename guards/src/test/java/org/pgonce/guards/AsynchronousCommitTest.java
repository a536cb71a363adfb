package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/**
 * A server whose default is synchronous_commit = off is killed: what it has acknowledged in the
 * last seconds is lost. A guarded call is not.
 */
class AsynchronousCommitTest {

  private static final Guard<String, String> PAYMENT =
      Guard.of("payment", String.class, String.class);
  private static final Guard<String, String> FULFILMENT =
      Guard.of("fulfilment", String.class, String.class);

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

  @Test
  void h79_aGuardCallsOnce() throws Exception {
    try (var database = server.createDatabase();
        var pool = database.pooled(2)) {
      var guards = Guards.using(pool).install();
      flush(database);
      var calls = new AtomicInteger();
      var result =
          guards.once(
              PAYMENT,
              "k",
              "r",
              () -> {
                killServer();
                return "call " + calls.incrementAndGet();
              });
      // Its outcome is recorded, and lost neither.
      assertThat(result).isInstanceOf(GuardResult.Succeeded.class);
      killServer();
      assertThat(guards.once(PAYMENT, "k", "r", () -> "call " + calls.incrementAndGet()))
          .isInstanceOfSatisfying(
              GuardResult.Succeeded.class,
              again -> assertThat(again.response()).isEqualTo("call 1"));
      assertThat(calls).hasValue(1);
    }
  }

  @Tag("all")
  @Test
  void h79_aStepOfASequenceIsMadeOnce() throws Exception {
    try (var database = server.createDatabase();
        var pool = database.pooled(2)) {
      var guards = Guards.using(pool).install();
      flush(database);
      var calls = new AtomicInteger();
      var labels = new AtomicInteger();
      for (var run = 1; run <= 2; run++) {
        var last = run;
        var result =
            guards.run(
                FULFILMENT,
                "k",
                "r",
                steps -> {
                  var label =
                      steps.repeatable(
                          "label", String.class, () -> "label " + labels.incrementAndGet());
                  killServer();
                  var charge =
                      steps.once(
                          "charge",
                          String.class,
                          () -> {
                            killServer();
                            return "charge " + calls.incrementAndGet();
                          });
                  killServer();
                  if (last == 1) {
                    throw new IllegalStateException("run again");
                  }
                  return label + ", " + charge;
                });
        assertThat(result)
            .isInstanceOf(run == 1 ? GuardResult.Failed.class : GuardResult.Succeeded.class);
      }
      assertThat(calls).hasValue(1);
      assertThat(labels).hasValue(1);
    }
  }

  /** What the session has as its default, and what the begin of a guard commits with. */
  @Tag("all")
  @ParameterizedTest
  @CsvSource({"off, on", "local, on", "remote_write, on", "on, on", "remote_apply, remote_apply"})
  void h79_aStrongerSettingStays(String own, String used) throws Exception {
    try (var database = server.createDatabase()) {
      var committedWith = new CopyOnWriteArrayList<String>();
      var source = database.dataSource();
      var unused = Guards.using(source).install();
      database.execute(
          "alter database %s set synchronous_commit = '%s'".formatted(database.name(), own));
      TappedSource.Tap tap =
          (sql, real) -> {
            if (sql.equals("COMMIT")) {
              committedWith.add(one(real, "select current_setting('synchronous_commit')"));
            }
            return sql;
          };
      var guards = Guards.using(TappedSource.over(source, tap));
      assertThat(guards.once(PAYMENT, "k", "r", () -> "done").orElseThrow()).isEqualTo("done");
      assertThat(committedWith).hasSize(2).containsOnly(used);
    }
  }

  /** In the user's own transaction the guard is committed with it, as the user has it. */
  @ParameterizedTest
  @ValueSource(strings = {"off", "on"})
  void h79_aGuardInTheUsersTransactionLeavesItsSetting(String own) throws Exception {
    try (var database = server.createDatabase();
        var connection = database.dataSource().getConnection()) {
      var guards = Guards.using(database.dataSource()).install();
      connection.setAutoCommit(false);
      one(connection, "select set_config('synchronous_commit', '%s', true)".formatted(own));
      assertThat(guards.inTransaction(connection, PAYMENT, "k", "r", () -> "done").orElseThrow())
          .isEqualTo("done");
      assertThat(one(connection, "select current_setting('synchronous_commit')")).isEqualTo(own);
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
