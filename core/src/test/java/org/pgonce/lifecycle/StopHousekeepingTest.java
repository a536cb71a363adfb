package org.pgonce.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;

import java.sql.SQLException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/** On JDK 21 and later an interrupted virtual thread closes the socket that it reads from. */
@PgTest(PgOnceInstalled.class)
class StopHousekeepingTest {

  // Less than the 2 s that a stop waits.
  private static final long STEP_MILLIS = 1_000;

  @Test
  void aStopWaitsForTheHousekeepingUnderWay(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(ORDERS);
    var begun = new CountDownLatch(1);
    var never = new CountDownLatch(1);
    var ended = new CountDownLatch(1);
    var interrupted = new AtomicBoolean();
    var slow =
        TappedSource.over(
            database.dataSource(),
            (sql, real) -> {
              if (sql.contains("pgonce.keep_house") && begun.getCount() > 0) {
                begun.countDown();
                try {
                  var unused = never.await(STEP_MILLIS, TimeUnit.MILLISECONDS);
                } catch (InterruptedException e) {
                  interrupted.set(true);
                  throw new SQLException("interrupted", e);
                } finally {
                  ended.countDown();
                }
              }
              return sql;
            });
    try (var pgonce = PgOnce.builder(slow).wakeUpBy().build()) {
      pgonce.listen(ORDERS, (order, tx) -> {});
      pgonce.start();
      Stage.awaitSoon(begun);
    }
    Stage.awaitSoon(ended);
    assertThat(interrupted).isFalse();
  }
}
