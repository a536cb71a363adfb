package org.pgonce.stage;

import java.time.Duration;
import javax.sql.DataSource;
import org.pgonce.PgOnce;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.TestDatabase;

/** A listener of the orders with four workers: here, or in a process of its own to be killed. */
public final class ListenerProcess {

  private static final Duration BOUND = Duration.ofSeconds(60);

  private ListenerProcess() {}

  public static void main(String[] arguments) throws Exception {
    ParentWatch.exitWhenParentDies();
    // A pool: to connect anew for each renewal, under load, would take longer than a gate is open.
    try (var pool = Stage.pooled(arguments, 8);
        var pgonce = listen(pool)) {
      System.out.println("started");
      pgonce.awaitStopped();
    }
  }

  /** It may not listen yet. */
  public static JvmProcess begin(TestDatabase database) {
    return JvmProcess.start(ListenerProcess.class, database.jdbcUrl(), database.user());
  }

  public static JvmProcess start(TestDatabase database) throws InterruptedException {
    var process = begin(database);
    process.awaitLine("started", BOUND);
    return process;
  }

  /** The same in this process. */
  public static PgOnce listen(DataSource dataSource) {
    var pgonce = PgOnce.builder(dataSource).stopTimeout(Duration.ofSeconds(2)).build();
    pgonce.listen(Stage.ORDERS, Stage.QUICK.withConcurrency(4), Stage::effect).start();
    return pgonce;
  }
}
