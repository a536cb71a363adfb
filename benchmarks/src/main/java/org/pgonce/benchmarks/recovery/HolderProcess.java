package org.pgonce.benchmarks.recovery;

import java.time.Duration;
import org.pgonce.PgOnce;
import org.pgonce.benchmarks.work.Address;
import org.pgonce.benchmarks.work.ByPgOnce;
import org.pgonce.testkit.ParentWatch;

/** A process of its own whose handler begins and does not end, until somebody kills it. */
public final class HolderProcess {

  static final String HOLDS = "holds";

  private HolderProcess() {}

  public static void main(String[] arguments) throws Exception {
    ParentWatch.exitWhenParentDies();
    try (var pool = Address.pool(4);
        var pgonce = PgOnce.using(pool)) {
      ByPgOnce.listenAndHold(pgonce, () -> System.out.println(HOLDS));
      pgonce.start();
      Thread.sleep(Duration.ofHours(2).toMillis());
    }
  }
}
