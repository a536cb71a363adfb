package org.pgonce.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Backoff;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The retries of what has failed, with batches. */
@PgTest(PgOnceInstalled.class)
class BatchRetryTest {

  private static final int COUNT = 20;
  // One worker has claimed all of them, and lets go of those that it does not run yet.
  private static final int TOGETHER = 4;
  private static final Duration OUTAGE = Duration.ofMinutes(10);

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  @Test
  void h46_whatHasFailedIsTriedAgainByAllWorkersAtOnce() throws Exception {
    var running = new CountDownLatch(TOGETHER);
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK
                .withBackoff(new Backoff(OUTAGE, OUTAGE))
                .withMaxAttempts(10)
                .withConcurrency(2 * TOGETHER)
                .withBatch(COUNT),
            (order, tx) -> {
              if (order.attempt() == 1) {
                throw new IllegalStateException("an outage");
              }
              running.countDown();
              assertThat(running.await(Stage.SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
              Stage.effect(order, tx);
            })
        .start();
    stage.publish(COUNT);
    stage.awaitSoon(() -> failed() == COUNT);
    stage.database.execute(
        "select pgonce.retry_now('orders', array_agg(s.id)) from pgonce.scheduled s where s.subscription_id > 0");
    Stage.awaitSoon(running);
    stage.awaitSoon(() -> stage.eachOnce(COUNT));
    stage.awaitNothingWaits();
  }

  private long failed() throws SQLException {
    return stage.database.queryLong(
        "select count(*) from pgonce.scheduled where subscription_id > 0 and attempts = 1 and token is null");
  }
}
