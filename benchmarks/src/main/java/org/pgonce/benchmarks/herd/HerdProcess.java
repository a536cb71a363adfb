package org.pgonce.benchmarks.herd;

import java.time.Duration;
import org.pgonce.PgOnce;
import org.pgonce.benchmarks.work.Address;
import org.pgonce.benchmarks.work.ByPgOnce;
import org.pgonce.benchmarks.work.Plan;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.TestDatabase;

/** A process of its own that handles the channel, together with others. */
public final class HerdProcess {

  public static final String READY = "ready";

  private HerdProcess() {}

  /** Starts one; it prints {@link #READY}. */
  public static JvmProcess start(TestDatabase database, Plan plan, Duration takes) {
    var command =
        JvmProcess.of(HerdProcess.class)
            .options("-Xmx64m")
            .arguments(
                String.valueOf(plan.workers()),
                String.valueOf(plan.batch()),
                String.valueOf(takes.toMillis()));
    return Address.tell(command, database).start();
  }

  /**
   * Arguments: how many workers it has, how much one transaction does, and how many ms it takes.
   */
  public static void main(String[] arguments) throws Exception {
    ParentWatch.exitWhenParentDies();
    var plan = new Plan(Integer.parseInt(arguments[0]), Integer.parseInt(arguments[1]));
    try (var pool = Address.pool(plan.poolSize());
        var pgonce = PgOnce.using(pool)) {
      ByPgOnce.listenAndTellWhen(pgonce, plan, Long.parseLong(arguments[2]));
      pgonce.start();
      System.out.println(READY);
      Thread.sleep(Duration.ofHours(2).toMillis()); // until the parent ends it
    }
  }
}
