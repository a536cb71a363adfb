package org.pgonce.benchmarks.peers;

import static org.jobrunr.server.BackgroundJobServerConfiguration.usingStandardBackgroundJobServerConfiguration;

import java.sql.SQLException;
import java.time.Duration;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import org.jobrunr.configuration.JobRunr;
import org.jobrunr.jobs.lambdas.JobRequest;
import org.jobrunr.jobs.lambdas.JobRequestHandler;
import org.jobrunr.scheduling.JobRequestScheduler;
import org.jobrunr.server.JobActivator;
import org.jobrunr.storage.sql.postgres.PostgresStorageProvider;
import org.pgonce.benchmarks.work.Contender;
import org.pgonce.benchmarks.work.Effects;
import org.pgonce.benchmarks.work.Plan;
import org.pgonce.benchmarks.work.Way;
import org.pgonce.testkit.TestDatabase;

/**
 * JobRunr, the free one: it polls each 5 s, the least that it takes, and whenever its workers run
 * out of jobs. What it stores, it commits itself: to join the caller's transaction takes JobRunr
 * Pro.
 */
public final class ByJobRunr implements Way {

  /** One piece of work, as it is stored. */
  public record Welcome(long id) implements JobRequest {
    @Override
    public Class<? extends JobRequestHandler<Welcome>> getJobRequestHandler() {
      return Welcoming.class;
    }
  }

  /** What is called later. JobRunr looks for the method in the class itself. */
  public static final class Welcoming implements JobRequestHandler<Welcome> {

    private final AtWork work;

    private Welcoming(AtWork work) {
      this.work = work;
    }

    @Override
    public void run(Welcome request) throws SQLException {
      work.handle(request.id());
    }
  }

  @Override
  public String label() {
    return "JobRunr";
  }

  @Override
  public boolean isExactlyOnce() {
    return false; // as it says of itself
  }

  @Override
  public void prepare(TestDatabase database) throws SQLException {
    Effects.prepare(database);
    new AtWork(database, Plan.single(1)).close(); // makes its tables
  }

  @Override
  public Contender open(TestDatabase database, Plan plan) {
    return new AtWork(database, plan);
  }

  private static final class AtWork extends Peer {

    private static final Duration POLL = Duration.ofSeconds(5);

    private final JobRequestScheduler scheduler;
    private volatile LongConsumer handler = id -> {};

    AtWork(TestDatabase database, Plan plan) {
      super(database, plan, "jobrunr_jobs");
      scheduler =
          JobRunr.configure()
              .useJobActivator(activator())
              .useStorageProvider(new PostgresStorageProvider(pool))
              .useBackgroundJobServer(
                  usingStandardBackgroundJobServerConfiguration()
                      .andWorkerCount(plan.workers())
                      .andPollInterval(POLL),
                  false)
              .initialize()
              .getJobRequestScheduler();
    }

    private JobActivator activator() {
      return new JobActivator() {
        @Override
        public <T> T activateJob(Class<T> type) {
          return type.cast(new Welcoming(AtWork.this));
        }
      };
    }

    private void handle(long id) throws SQLException {
      handler.accept(id);
      writeEffectAlone(id);
    }

    @Override
    public void store(long id) {
      var unused = scheduler.enqueue(new Welcome(id));
    }

    @Override
    public void fill(long firstId, int count) throws SQLException {
      scheduler.enqueue(LongStream.range(firstId, firstId + count).mapToObj(Welcome::new));
    }

    @Override
    public void start(LongConsumer handler) {
      this.handler = handler;
      JobRunr.getBackgroundJobServer().start();
    }

    @Override
    public void close() throws SQLException {
      var unused = JobRunr.destroy();
      super.close();
    }
  }
}
