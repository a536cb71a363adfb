package org.pgonce.benchmarks.herd;

import java.time.Duration;
import org.pgonce.PgOnce;
import org.pgonce.benchmarks.work.Address;
import org.pgonce.benchmarks.work.ByPgOnce;
import org.pgonce.benchmarks.work.Plan;
import org.pgonce.testkit.ParentWatch;

/** A process of its own that handles the channel, together with others. */
public final class HerdProcess {

  static final String READY = "ready";

  private HerdProcess() {}

  /** Arguments: how many workers it has, and how much one transaction does. */
  public static void main(String[] arguments) throws Exception {
    ParentWatch.exitWhenParentDies();
    var plan = new Plan(Integer.parseInt(arguments[0]), Integer.parseInt(arguments[1]));
    try (var pool = Address.pool(plan.poolSize());
        var pgonce = PgOnce.using(pool)) {
      ByPgOnce.listenAndTellWhen(pgonce, plan);
      pgonce.start();
      System.out.println(READY);
      Thread.sleep(Duration.ofHours(2).toMillis()); // until the parent ends it
    }
  }
}
