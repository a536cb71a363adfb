package org.pgonce.benchmarks.peers;

import com.gruelbox.transactionoutbox.Dialect;
import com.gruelbox.transactionoutbox.Instantiator;
import com.gruelbox.transactionoutbox.Persistor;
import com.gruelbox.transactionoutbox.Submitter;
import com.gruelbox.transactionoutbox.ThreadLocalContextTransactionManager;
import com.gruelbox.transactionoutbox.TransactionManager;
import com.gruelbox.transactionoutbox.TransactionOutbox;
import java.sql.SQLException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.pgonce.benchmarks.work.Contender;
import org.pgonce.benchmarks.work.Effects;
import org.pgonce.benchmarks.work.Plan;
import org.pgonce.benchmarks.work.Way;
import org.pgonce.testkit.TestDatabase;

/**
 * transaction-outbox: after the commit, the process that stored the work hands it to a thread of
 * its own; a loop of flush() takes up what was left behind. No other process hears of it.
 */
public final class ByTransactionOutbox implements Way {

  /** What is called later. */
  public interface Welcome {
    void to(long id);
  }

  @Override
  public String label() {
    return "transaction-outbox";
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

    private static final int AT_ONCE = 1_000;
    // As many as its own executor keeps waiting.
    private static final int QUEUE = 16_384;
    private static final long PAUSE_MS = 1_000;

    private final ThreadLocalContextTransactionManager transactions;
    private final ThreadPoolExecutor workers;
    private final TransactionOutbox outbox;
    private final Thread flushing = new Thread(this::flush, "flush");
    private volatile LongConsumer handler = id -> {};
    private volatile boolean started;

    AtWork(TestDatabase database, Plan plan) {
      super(database, plan, "txno_outbox");
      transactions = TransactionManager.fromDataSource(pool);
      workers =
          new ThreadPoolExecutor(
              plan.workers(), plan.workers(), 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(QUEUE));
      var submitter = Submitter.withExecutor(workers);
      outbox =
          TransactionOutbox.builder()
              .transactionManager(transactions)
              .persistor(Persistor.forDialect(Dialect.POSTGRESQL_9))
              .instantiator(Instantiator.using(type -> (Welcome) this::handle))
              .submitter(
                  (entry, local) -> {
                    if (started) {
                      submitter.submit(entry, local);
                    }
                  })
              .build();
    }

    /** In the transaction that ends the entry. */
    private void handle(long id) {
      handler.accept(id);
      try {
        transactions.requireTransaction(transaction -> writeEffect(transaction.connection(), id));
      } catch (SQLException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void store(long id) {
      transactions.inTransaction(() -> outbox.schedule(Welcome.class).to(id));
    }

    @Override
    public void fill(long firstId, int count) throws SQLException {
      for (var done = 0; done < count; done += AT_ONCE) {
        var first = firstId + done;
        var last = firstId + Math.min(count, done + AT_ONCE);
        transactions.inTransaction(
            () -> {
              for (var id = first; id < last; id++) {
                outbox.schedule(Welcome.class).to(id);
              }
            });
      }
      // It leaves new entries alone for two minutes: these have waited.
      database.execute("update txno_outbox set nextattempttime = now() - interval '1 second'");
    }

    @Override
    public void start(LongConsumer handler) {
      this.handler = handler;
      started = true;
      flushing.start();
    }

    private void flush() {
      try {
        while (!Thread.interrupted()) {
          if (!outbox.flush()) {
            Thread.sleep(PAUSE_MS);
          }
        }
      } catch (InterruptedException e) {
        // closed
      }
    }

    @Override
    public void close() throws SQLException {
      flushing.interrupt();
      end(workers);
      try {
        flushing.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      super.close();
    }
  }
}
