package org.pgonce.benchmarks.peers;

import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.function.LongConsumer;
import org.pgonce.benchmarks.work.Contender;
import org.pgonce.benchmarks.work.Effects;
import org.pgonce.benchmarks.work.Plan;
import org.pgonce.benchmarks.work.SqlFile;
import org.pgonce.benchmarks.work.Way;
import org.pgonce.testkit.TestDatabase;

/**
 * db-scheduler: one-time tasks, fetched by lock-and-fetch with the limits that it recommends for
 * high throughput. It polls; each 100 ms here and not each 10 s as by default, in its favour.
 */
public final class ByDbScheduler implements Way {

  private static final String TABLE = SqlFile.beside(ByDbScheduler.class, "db-scheduler.sql");

  @Override
  public String label() {
    return "db-scheduler";
  }

  @Override
  public boolean isExactlyOnce() {
    return false; // the handler's transaction is not the one that ends the task
  }

  @Override
  public void prepare(TestDatabase database) throws SQLException {
    Effects.prepare(database);
    database.execute(TABLE);
  }

  @Override
  public Contender open(TestDatabase database, Plan plan) {
    return new AtWork(database, plan);
  }

  private static final class AtWork extends Peer {

    private static final Duration POLL = Duration.ofMillis(100);
    private static final String FILL =
        """
        insert into scheduled_tasks (task_name, task_instance, execution_time, picked, version)
        select 'work', g, now(), false, 1 from generate_series(%d, %d) as g
        """;

    private final OneTimeTask<Void> task;
    private final SchedulerClient client;
    private final Scheduler scheduler;
    private volatile LongConsumer handler = id -> {};

    AtWork(TestDatabase database, Plan plan) {
      super(database, plan, "scheduled_tasks");
      task =
          Tasks.oneTime("work")
              .execute((instance, context) -> handle(Long.parseLong(instance.getId())));
      client = SchedulerClient.Builder.create(pool, task).build();
      scheduler =
          Scheduler.create(pool, task)
              .threads(plan.workers())
              .pollUsingLockAndFetch(1.0, 4.0)
              .pollingInterval(POLL)
              .build();
    }

    private void handle(long id) {
      handler.accept(id);
      try {
        writeEffectAlone(id);
      } catch (SQLException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void store(long id) {
      var unused = client.scheduleIfNotExists(task.instance(String.valueOf(id)), Instant.now());
    }

    @Override
    public void fill(long firstId, int count) throws SQLException {
      database.execute(FILL.formatted(firstId, firstId + count - 1));
    }

    @Override
    public void start(LongConsumer handler) {
      this.handler = handler;
      scheduler.start();
    }

    @Override
    public void close() throws SQLException {
      scheduler.stop();
      super.close();
    }
  }
}
