package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.spi.ListenAddress;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/** A listener compares what feeds its channel after an installation, and is told to stop. */
@PgTest(PgOnceInstalled.class)
class StopWhileComparingTest {

  // Less than the 2 s that a stop waits.
  private static final long STEP_MILLIS = 1_000;

  private static TriggerChannelBuilder<RowChange<Object>> thing() {
    return TriggerChannel.changesOf("thing", Object.class).named("thing");
  }

  /** On JDK 21 and later an interrupt would cost the pool a connection. */
  @Test
  void h85_aStopWaitsForTheComparisonUnderWay(TestDatabase database) throws Exception {
    database.execute("create table thing (id int primary key)");
    var defined = thing().afterInsert().afterDelete().build();
    PgOnce.using(database.dataSource()).install(defined);
    var started = new AtomicBoolean();
    var begun = new CountDownLatch(1);
    var never = new CountDownLatch(1);
    var ended = new CountDownLatch(1);
    var interrupted = new AtomicBoolean();
    var slow =
        TappedSource.over(
            database.dataSource(),
            (sql, real) -> {
              if (started.get() && sql.contains("p.prosrc") && begun.getCount() > 0) {
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
    var address =
        new ListenAddress(
            database.host(),
            database.port(),
            database.name(),
            database.user(),
            database.password(),
            Map.of());
    try (var pgonce = PgOnce.builder(slow).listenAddress(address).build()) {
      pgonce.listen(defined, (change, tx) -> {});
      pgonce.start();
      started.set(true);
      PgOnce.using(database.dataSource()).install(thing().afterInsert().build());
      assertThat(begun.await(15, TimeUnit.SECONDS)).isTrue();
    }
    assertThat(ended.await(15, TimeUnit.SECONDS)).isTrue();
    assertThat(interrupted).isFalse();
  }
}
