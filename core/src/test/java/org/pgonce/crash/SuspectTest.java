package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.Status;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/**
 * Rows that were at work when processes died, up to the moment at which their handler begins; with
 * real deaths: DeadlyNotificationTest.
 */
@PgTest(PgOnceInstalled.class)
class SuspectTest {

  /** As deaths would leave what is published, one attempt short of the last. */
  private static final String DIED_BEFORE =
      """
      with gone as (delete from pgonce.notification where subscription_id > 0 returning *)
      insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, token)
      select subscription_id, id, clock_timestamp(), 2, created_at, payload, gen_random_uuid() from gone
      """;

  private static final String TIMES_AT_COUNT = "select count(*) from seen where attempts = %d";

  private static final String COUNTED =
      "select count(*) from pgonce.scheduled where subscription_id > 0 and attempts = %d";

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h47_whatWaitsForItsTurnIsNeverCounted(Mode mode) throws Exception {
    var channel = Channel.of("calls", Order.class, mode);
    PgOnce.using(stage.dataSource).install(channel);
    try (var connection = stage.dataSource.getConnection()) {
      for (var id = 1; id <= 2; id++) {
        Publisher.standard().publish(connection, channel, new Order(id, "item"));
      }
    }
    stage.database.execute(DIED_BEFORE);
    logChanges();
    var inside = new CountDownLatch(1);
    var goOn = new CountDownLatch(1);
    stage
        .pgonce()
        .listen(
            channel,
            QUICK.withMaxAttempts(3).withConcurrency(2).withLease(Duration.ofMinutes(1)),
            (order, tx) -> {
              inside.countDown();
              goOn.await();
              Stage.effect(order, tx);
            })
        .start();
    Stage.awaitSoon(inside);
    // The other one is looked at and put off, again and again. In between a death must not count.
    stage.awaitSoon(() -> stage.database.queryLong(TIMES_AT_COUNT.formatted(2)) >= 2);
    assertThat(stage.database.queryLong(TIMES_AT_COUNT.formatted(3))).isEqualTo(1);
    goOn.countDown();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(2)).isTrue();
    assertThat(stage.deadLetters()).isZero();
  }

  /** Every state of a scheduled row that is written, be it for a moment only. */
  private void logChanges() throws SQLException {
    stage.database.execute("create table seen (id bigint, attempts int)");
    stage.database.execute(
        "create function note_it() returns trigger language plpgsql security definer as "
            + "$$ begin insert into public.seen values (new.id, new.attempts); return null; end $$");
    stage.database.execute(
        "create trigger note_it after insert or update on pgonce.scheduled for each row execute function note_it()");
  }

  /** It was counted, and committed, between its claim and its handler. */
  @Test
  void h85_whatIsCountedAheadWhileItStopsIsGivenBackUncounted() throws Exception {
    stage.publish(1);
    stage.database.execute(DIED_BEFORE);
    var counted = new CountDownLatch(1);
    var goOn = new CountDownLatch(1);
    TappedSource.Tap tap =
        (sql, real) -> {
          if (sql.contains("s.token IS NOT DISTINCT FROM") && sql.contains("FOR UPDATE")) {
            counted.countDown();
            try {
              Stage.awaitSoon(goOn);
            } catch (InterruptedException e) {
              throw new SQLException(e);
            }
          }
          return sql;
        };
    // It has the time to end by itself, however long this thread takes.
    try (var pgonce =
        PgOnce.builder(TappedSource.over(stage.dataSource, tap))
            .wakeUpBy()
            .stopTimeout(Stage.SOON.multipliedBy(2))
            .build()) {
      // One worker: a second, later, another would count it once more.
      pgonce.listen(ORDERS, QUICK.withConcurrency(1), Stage::effect).start();
      Stage.awaitSoon(counted);
      assertThat(stage.database.queryLong(COUNTED.formatted(3))).isEqualTo(1);
      var stopping = new Thread(pgonce::close);
      stopping.start();
      stage.awaitSoon(() -> pgonce.status().state() == Status.State.STOPPING);
      goOn.countDown();
      stopping.join(Stage.SOON.toMillis());
      assertThat(stopping.isAlive()).isFalse();
    } finally {
      goOn.countDown();
    }
    assertThat(stage.effects()).isZero();
    assertThat(stage.database.queryLong(COUNTED.formatted(2))).isEqualTo(1);
  }
}
