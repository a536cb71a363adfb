package org.pgonce.internal.wakeup;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource.Ear;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One LISTEN connection of pgjdbc and the thread that owns it. The driver keeps its lock while it
 * waits for a NOTIFY, so the thread waits in slices and runs the statements itself between two.
 * Right after a statement slices are short, because a statement seldom comes alone; then they grow.
 */
final class PgjdbcConnection implements WakeUpConnection {

  private static final int FIRST_SLICE_MILLIS = 4;
  // Bounds how long a heartbeat waits for its turn; a NOTIFY ends the slice at once.
  private static final int LONGEST_SLICE_MILLIS = 256;
  private static final Duration GOODBYE = Duration.ofMillis(LONGEST_SLICE_MILLIS + 200);
  private static final Duration POLITE = Duration.ofMillis(500);
  private static final Logger log = LoggerFactory.getLogger(PgjdbcConnection.class);

  private final PgjdbcSession session;
  private final Ear ear;
  private final LinkedBlockingQueue<FutureTask<Long>> statements = new LinkedBlockingQueue<>();
  private final Thread thread;
  private final Set<String> listened = ConcurrentHashMap.newKeySet();
  private volatile boolean open = true;

  PgjdbcConnection(PgjdbcSession session, Ear ear) {
    this.session = session;
    this.ear = ear;
    this.thread = DaemonThread.start("pgonce-listen-" + session.backendPid(), this::waitAndRun);
  }

  private void waitAndRun() {
    int slice = FIRST_SLICE_MILLIS;
    try {
      while (open) {
        var next = statements.poll();
        if (next != null) {
          next.run();
          slice = FIRST_SLICE_MILLIS;
        } else {
          session.await(slice, ear);
          slice = Math.min(2 * slice, LONGEST_SLICE_MILLIS);
        }
      }
    } catch (SQLException | RuntimeException e) {
      if (open) {
        ear.lost("the connection broke: " + e.getMessage());
      }
    } finally {
      open = false;
      statements.forEach(waiting -> waiting.cancel(false));
    }
  }

  @Override
  public void listen(Collection<String> channels, Duration deadline) throws SQLException {
    execute(channels.stream().map(ListenSql::listen).toList(), deadline);
    listened.addAll(channels);
  }

  @Override
  public long notify(String channel, String payload, Duration deadline) throws SQLException {
    return execute(List.of(ListenSql.notify(channel, payload)), deadline);
  }

  @Override
  public void exemptFromIdleTimeout(Duration deadline) throws SQLException {
    execute(List.of(ListenSql.NO_IDLE_TIMEOUT), deadline);
  }

  long execute(List<String> sql, Duration within) throws SQLException {
    var deadline = Deadline.in(within);
    var task =
        new FutureTask<>(
            () -> {
              long begun = System.nanoTime();
              session.execute(sql, deadline);
              return begun;
            });
    statements.add(task);
    if (!open) {
      task.cancel(false); // the thread may have gone before it could see the task
    }
    try {
      return task.get(within.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      throw new SQLException(
          "a statement on the LISTEN connection took longer than " + within.toMillis() + " ms",
          "08006",
          e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SQLException("a statement on the LISTEN connection was interrupted", "08006", e);
    } catch (CancellationException e) {
      throw new SQLException("the LISTEN connection is closed", "08003", e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof SQLException refused) {
        throw refused;
      }
      throw new SQLException("a statement on the LISTEN connection failed", "08006", e.getCause());
    }
  }

  @Override
  public int backendPid() {
    return session.backendPid();
  }

  @Override
  public boolean pooled() {
    return session.pooled();
  }

  // A pooler lends the backend to others next, and one that LISTENs slows all writers down.
  private void unlistenIfPooled() {
    if (!pooled() || listened.isEmpty()) {
      return;
    }
    Courtesy.say(() -> execute(listened.stream().map(ListenSql::unlisten).toList(), GOODBYE), log);
  }

  @Override
  public void close() {
    if (!open && !thread.isAlive()) {
      session.discard();
      return;
    }
    unlistenIfPooled();
    open = false;
    var said = new CountDownLatch(1);
    DaemonThread.start(
        "pgonce-close",
        () -> {
          session.discard();
          said.countDown();
        });
    try {
      if (!said.await(POLITE.toMillis(), TimeUnit.MILLISECONDS)) {
        session.abort();
      }
      thread.join(POLITE.toMillis());
    } catch (InterruptedException e) {
      session.abort();
      Thread.currentThread().interrupt();
    }
  }
}
