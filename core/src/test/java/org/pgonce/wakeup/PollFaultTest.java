package org.pgonce.wakeup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnce;
import org.pgonce.spi.Event;
import org.pgonce.stage.Events;
import org.pgonce.stage.Logged;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

@PgTest(PgOnceInstalled.class)
class PollFaultTest {

  /** One that waited, for a lock or a processor, says nothing of how long a look at all takes. */
  @ParameterizedTest
  @ValueSource(ints = {500, 600_000})
  void h88_behindAPollThatHadToWaitTheNextLooksAtAllRows(int millis, TestDatabase database)
      throws Exception {
    try (var stage = new Stage(database);
        var holder = database.unpooled().getConnection();
        var locker = database.unpooled().getConnection()) {
      holder.setAutoCommit(false);
      locker.setAutoCommit(false);
      stage.publish(3);
      holder
          .createStatement()
          .execute(
              "select from pgonce.notification where subscription_id > 0 order by id limit 1 for update");
      stage
          .pgonce(PgOnce.builder(stage.dataSource), Duration.ofMillis(millis))
          .listen(ORDERS, QUICK, Stage::effect)
          .start();
      stage.awaitSoon(() -> stage.waiting() == 1);
      locker.createStatement().execute("lock table pgonce.listener in access exclusive mode");
      stage.awaitSoon(
          () ->
              database.queryLong(
                      "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
                          + " and query like '%pgonce.poll(%' and clock_timestamp() - query_start > interval '2 seconds'")
                  == 1);
      locker.rollback();
      stage.awaitSoon(
          () ->
              database.queryLong(
                      "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
                  == 0);
      holder.rollback();
      // By a poll of all rows, as its id is before the cursor.
      stage.awaitWithin(Duration.ofSeconds(10), () -> stage.waiting() == 0);
    }
  }

  /** As pgjdbc-ng throws where its connection has ended. */
  @Test
  void h60_aPollThatFailsByAnUncheckedExceptionIsToldOfAndTriedAgain(TestDatabase database)
      throws Exception {
    var polls = new AtomicInteger();
    TappedSource.Tap breaks =
        (sql, real) -> {
          if (sql.contains("FROM pgonce.poll(") && polls.getAndIncrement() == 0) {
            throw new IllegalStateException("the driver broke");
          }
          return sql;
        };
    var events = new Events();
    try (var stage = new Stage(database);
        var pgonce =
            PgOnce.builder(TappedSource.over(stage.dataSource, breaks))
                .wakeUpBy()
                .observer(events)
                .build()) {
      pgonce.listen(ORDERS, QUICK, Stage::effect).start();
      stage.publish(1);
      stage.awaitSoon(() -> stage.effects() == 1);
      assertThat(events.of(Event.DatabaseTrouble.class))
          .anySatisfy(trouble -> assertThat(trouble.toString()).contains("the driver broke"));
    }
  }

  @Test
  void h60_pollsThatFailAreToldOfEachTimeAndLoggedOnceInTenSeconds(TestDatabase database)
      throws Exception {
    TappedSource.Tap breaks =
        (sql, real) -> {
          if (sql.contains("FROM pgonce.poll(")) {
            throw new SQLException("the disk is full", "53100");
          }
          return sql;
        };
    var events = new Events();
    var begun = System.nanoTime();
    try (var stage = new Stage(database);
        var logged = new Logged();
        var pgonce =
            PgOnce.builder(TappedSource.over(stage.dataSource, breaks))
                .wakeUpBy()
                .observer(events)
                .build()) {
      pgonce.listen(ORDERS, QUICK, Stage::effect).start();
      stage.awaitWithin(
          Duration.ofSeconds(20), () -> events.of(Event.DatabaseTrouble.class).size() >= 4);
      var seconds = Duration.ofNanos(System.nanoTime() - begun).toSeconds();
      assertThat(logged.count("the poll failed")).isBetween(1, (int) (1 + seconds / 10));
    }
  }

  /** Its pool would hand it out to each poll. */
  @Test
  void h60_aConnectionThatWasLeftInAFailedTransactionEndsNoPolls(TestDatabase database)
      throws Exception {
    Login.assumePgjdbc("pgjdbc-ng does not say whether a transaction is open");
    try (var stage = new Stage(database);
        var pool = database.pooled(1)) {
      stage.pgonce(PgOnce.builder(pool).wakeUpBy()).listen(ORDERS, QUICK, Stage::effect).start();
      stage.publish(1);
      stage.awaitSoon(() -> stage.effects() == 1);
      try (var connection = pool.getConnection();
          var statement = connection.createStatement()) {
        statement.execute("begin");
        assertThatThrownBy(() -> statement.execute("select 1 / 0"));
      }
      stage.publish(1);
      stage.awaitSoon(() -> stage.effects() == 2);
    }
  }
}
