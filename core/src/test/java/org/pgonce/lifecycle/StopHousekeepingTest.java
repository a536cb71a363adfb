package org.pgonce.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;

import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.SlowStep;
import org.pgonce.testkit.TestDatabase;

/** The housekeeping is under way, and the listener is told to stop. */
@PgTest(PgOnceInstalled.class)
class StopHousekeepingTest {

  @Test
  void aStopWaitsForTheHousekeepingUnderWay(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(ORDERS);
    var step = new SlowStep();
    var slow = step.in(database.dataSource(), sql -> sql.contains("pgonce.keep_house"));
    try (var pgonce = PgOnce.builder(slow).wakeUpBy().build()) {
      pgonce.listen(ORDERS, (order, tx) -> {});
      pgonce.start();
      assertThat(step.begins()).isTrue();
    }
    assertThat(step.endsByItself()).isTrue();
  }
}
