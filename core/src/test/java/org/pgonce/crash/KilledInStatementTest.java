package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/** kill -9 of a listener while the server is busy with a statement of its handler. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class KilledInStatementTest {

  private static final Duration START = Duration.ofSeconds(60);
  // The server looks each second. The rest is for a busy machine; unmended it is the statement's
  // time.
  private static final Duration FREE_WITHIN = Duration.ofSeconds(15);
  private static final String LONG_STATEMENT = "select pg_sleep(40)";
  private static final String WAITS_FOR_A_LOCK = "select pg_advisory_xact_lock(7)";

  private Stage stage;

  /** Its handler writes an effect and then runs a statement. */
  static final class Victim {
    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      try (var pool = Stage.pooled(arguments, 4);
          var pgonce = PgOnce.builder(pool).build()) {
        pgonce.listen(
            channel(Mode.valueOf(arguments[2])),
            (order, tx) -> {
              Stage.effect(order, tx);
              tx.query(arguments[3], row -> 1);
            });
        pgonce.start();
        System.out.println("started");
        pgonce.awaitStopped();
      }
    }
  }

  private static Channel<Order> channel(Mode mode) {
    return Stage.wokenAlways("killed", mode);
  }

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  @Test
  void h55_aListenerKilledInALongStatementFreesItsRow() throws Exception {
    killedIn(LONG_STATEMENT, Mode.EXACTLY_ONCE);
    stage.awaitWithin(FREE_WITHIN, () -> stage.claimable() == 1);
    assertThat(stage.effects()).isZero();
  }

  @Test
  void h55_aListenerKilledWhileItWaitsForALockFreesItsRow() throws Exception {
    try (var other = stage.database.dataSource().getConnection();
        var statement = other.createStatement()) {
      statement.execute("select pg_advisory_lock(7)");
      killedIn(WAITS_FOR_A_LOCK, Mode.EXACTLY_ONCE);
      stage.awaitWithin(FREE_WITHIN, () -> stage.claimable() == 1);
    }
  }

  /** A lease keeps the row until it is over; what the handler has locked is free before. */
  @ParameterizedTest
  @EnumSource(names = {"AT_LEAST_ONCE", "AT_MOST_ONCE", "BROADCAST"})
  @Tag("all")
  void h55_theLocksOfAHandlersOwnTransactionAreFreeToo(Mode mode) throws Exception {
    killedIn(LONG_STATEMENT, mode);
    stage.awaitWithin(
        FREE_WITHIN, () -> stage.database.backends().running(LONG_STATEMENT).isEmpty());
  }

  private void killedIn(String statement, Mode mode) throws Exception {
    var channel = channel(mode);
    PgOnce.using(stage.dataSource).install(channel);
    var database = stage.database;
    try (var victim =
        JvmProcess.start(
            Victim.class, database.jdbcUrl(), database.user(), mode.name(), statement)) {
      victim.awaitLine("started", START);
      publish(channel);
      database.backends().awaitRunning(statement);
      victim.kill9();
    }
  }

  private void publish(Channel<Order> channel) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, channel, new Order(1, "item"));
    }
  }

  /** As on Windows, whose server refuses the setting, as this one does the value. */
  @ParameterizedTest
  @EnumSource(Mode.class)
  void h55_whereThePlatformHasNoCheckAllGoesOnWithoutIt(Mode mode) throws Exception {
    var told = new AtomicInteger();
    TappedSource.Tap tap =
        (sql, real) -> {
          if (sql.contains("pg_catalog.version()")) {
            told.incrementAndGet();
          }
          return sql.replace(
                  "pg_catalog.version()", "'PostgreSQL 18.0 on x86_64-windows'::pg_catalog.text")
              .replace("ELSE '1s' END", "ELSE '-1' END");
        };
    var source = TappedSource.over(stage.dataSource, tap);
    var channel = channel(mode);
    PgOnce.using(stage.dataSource).install(channel);
    var intervals = new CopyOnWriteArrayList<String>();
    var pgonce = stage.pgonce(PgOnce.builder(source).wakeUpBy());
    if (mode != Mode.BROADCAST) {
      pgonce
          .listen(
              channel,
              Stage.QUICK.withConcurrency(1),
              (order, tx) ->
                  intervals.addAll(
                      tx.query(
                          "select current_setting('client_connection_check_interval')",
                          row -> row.getString(1))))
          .start();
      publish(channel);
      publish(channel);
      stage.awaitSoon(() -> intervals.size() == 2);
      stage.awaitNothingWaits();
      assertThat(stage.deadLetters()).isZero();
      assertThat(intervals).containsOnly("0");
      assertThat(told).hasPositiveValue();
    }
  }
}
