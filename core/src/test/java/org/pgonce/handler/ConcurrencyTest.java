package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** As many handlers of a channel run at once as there is work for, and no more than it may have. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class ConcurrencyTest {

  private static final int WORKERS = 4;

  private Stage stage;
  private PgOnce pgonce;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    // No poll shall be what finds the work, nor what a writer stored while nobody listened.
    stage.somebodyListens();
    pgonce = PgOnce.builder(stage.dataSource).pollInterval(Duration.ofMinutes(5)).build();
  }

  @AfterEach
  void tearDown() {
    pgonce.close();
    stage.close();
  }

  @Test
  void aBurstIsTakenByAllWorkersThoughNoHandlerHasReturned() throws Exception {
    var burst = new AtomicBoolean();
    var together = new CountDownLatch(WORKERS);
    pgonce
        .listen(
            ORDERS,
            QUICK.withConcurrency(WORKERS),
            (order, tx) -> {
              if (burst.get()) {
                together.countDown();
                assertThat(together.await(20, TimeUnit.SECONDS)).isTrue();
              }
              Stage.effect(order, tx);
            })
        .start();
    for (var i = 0; i < 5; i++) { // after these the scans of the start are over
      stage.publish(1);
      stage.awaitNothingWaits();
    }
    stage.database.execute("truncate effect");
    burst.set(true);
    stage.publish(3 * WORKERS); // one wake-up
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(3 * WORKERS)).isTrue();
    assertThat(stage.database.queryLong("select count(*) from effect where note <> 'attempt 1'"))
        .isZero();
  }

  @Test
  void noMoreHandlersRunThanTheChannelMayHave() throws Exception {
    var running = new AtomicInteger();
    var most = new AtomicInteger();
    pgonce
        .listen(
            ORDERS,
            QUICK.withConcurrency(2),
            (order, tx) -> {
              most.accumulateAndGet(running.incrementAndGet(), Math::max);
              Stage.effect(order, tx);
              running.decrementAndGet();
            })
        .start();
    for (var i = 0; i < 20; i++) {
      stage.publish(20);
    }
    stage.awaitNothingWaits();
    assertThat(stage.effects()).isEqualTo(400);
    assertThat(most.get()).isLessThanOrEqualTo(2);
  }

  @Test
  void oneNotificationAtATimeCostsOneClaimAndAtMostOneLookMore() throws Exception {
    pgonce.listen(ORDERS, QUICK.withConcurrency(WORKERS), Stage::effect).start();
    var begun = System.nanoTime();
    for (var i = 0; i < 50; i++) {
      stage.publish(1);
      stage.awaitNothingWaits();
    }
    var activity = pgonce.status().channels().get(0);
    assertThat(activity.claims() - activity.emptyClaims()).isEqualTo(50);
    // Another worker looks beside a handler that takes long, as it may on a slow machine; and where
    // a scan, of which there is one a second, finds what is just being handled.
    var scans = Duration.ofNanos(System.nanoTime() - begun).toSeconds() + 1;
    assertThat(activity.emptyClaims()).isLessThanOrEqualTo(50 + scans);
  }
}
