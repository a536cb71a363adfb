package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.spi.ListenAddress;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.SlowStep;
import org.pgonce.testkit.TestDatabase;

/** A listener compares what feeds its channel after an installation, and is told to stop. */
@PgTest(PgOnceInstalled.class)
class StopWhileComparingTest {

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
    var step = new SlowStep();
    var slow = step.in(database.dataSource(), sql -> started.get() && sql.contains("p.prosrc"));
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
      assertThat(step.begins()).isTrue();
    }
    assertThat(step.endsByItself()).isTrue();
  }
}
