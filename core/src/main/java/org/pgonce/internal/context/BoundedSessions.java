package org.pgonce.internal.context;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.concurrent.ThreadTimeout;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends sessions that do not come to an end, so that what they hold is free at once and not when
 * somebody pleases. Whoever gives a connection up closes its socket on its own thread ({@link
 * LostConnection#abandon}), before the connection can go back to the pool: a pool that has it back
 * finds it closed, and no stranger's transaction is ended in its place.
 */
public final class BoundedSessions {

  private static final Logger LOG = LoggerFactory.getLogger(BoundedSessions.class);

  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final Transactions transactions;
  private final Threads threads;
  private final Queue<Released> released = new ConcurrentLinkedQueue<>();
  private final Set<Bounded> bounded = ConcurrentHashMap.newKeySet();

  private record Released(@Nullable Connection connection, Transactions.Work<Runnable> lastWord) {}

  /** Work within a bound. Not a record: each is only equal to itself. */
  private static final class Bounded {
    private final ThreadTimeout deadline;
    private final Connection connection;

    Bounded(ThreadTimeout deadline, Connection connection) {
      this.deadline = deadline;
      this.connection = connection;
    }

    void cutOff() {
      if (deadline.cutOff()) {
        LostConnection.abandon(connection);
      }
    }
  }

  public BoundedSessions(Transactions transactions, Threads threads) {
    this.transactions = transactions;
    this.threads = threads;
  }

  /**
   * Works on the connection within the bound. If it does not answer in that time it is given up:
   * whoever waits for it gets an exception, and so does its next use.
   */
  public <R> R within(Duration bound, Connection connection, Transactions.Work<R> work)
      throws SQLException {
    var deadline =
        new ThreadTimeout.Bound(bound, (time, end) -> threads.alarmAfter(time, end)::cancel)
            .begin(() -> LostConnection.abandon(connection));
    var doing = new Bounded(deadline, connection);
    bounded.add(doing);
    try {
      return work.on(connection);
    } finally {
      bounded.remove(doing);
      if (!deadline.end()) {
        // The other thread may not have got to it yet.
        LostConnection.abandon(connection);
      }
    }
  }

  /** Gives up whatever is still at work within its bound: nobody will watch it any more. */
  public void cutOffRest() {
    bounded.forEach(Bounded::cutOff);
  }

  /**
   * Does what takes a connection from the pool, and then closes the socket of the one whose handler
   * has been cut off. If the pool has none to give for a second, because handlers that do not
   * return hold them all, it gets that one back before.
   */
  public void closeAfter(Runnable work, Connection cutOff) {
    var lastResort = takeBackLater(List.of(cutOff));
    try {
      work.run();
    } finally {
      if (lastResort != null) {
        lastResort.cancel(false);
      }
      LostConnection.abandon(cutOff);
    }
  }

  /**
   * Closes the socket of a handler that is cut off; {@link #endReleased} tells the database.
   *
   * @param lastWord returns what is done when it is committed
   */
  public void release(Connection connection, Transactions.Work<Runnable> lastWord) {
    LostConnection.abandon(connection);
    released.add(new Released(connection, lastWord));
  }

  /** The same where its connection is seen to. */
  public void release(Transactions.Work<Runnable> lastWord) {
    released.add(new Released(null, lastWord));
  }

  /**
   * Says the last words of what was released, each in a transaction of its own: one that fails must
   * not take back the others. Waits for the database.
   *
   * @param end by System.nanoTime(): after that they are left to the server
   */
  public void endReleased(long end) {
    var sessions = new ArrayList<Released>();
    for (var one = released.poll(); one != null; one = released.poll()) {
      sessions.add(one);
    }
    if (sessions.isEmpty()) {
      return;
    }
    var lastResort =
        takeBackLater(
            sessions.stream().map(Released::connection).flatMap(Stream::ofNullable).toList());
    var untold = 0;
    SQLException failure = null;
    try {
      for (var session : sessions) {
        try {
          sayLastWord(session, end);
        } catch (SQLException e) {
          untold++;
          failure = e;
        }
      }
    } finally {
      if (lastResort != null) {
        lastResort.cancel(false);
      }
    }
    if (failure != null) {
      LOG.warn(
          "pgonce: the database could not be told of {} of {} handlers that were cut off ({}); their rows stay"
              + " locked until the server notices that their connections are closed, or leased until their lease is over",
          untold,
          sessions.size(),
          Failures.inWords(failure));
    }
  }

  private void sayLastWord(Released session, long end) throws SQLException {
    requireTime(end); // it may take long to find out that there is no connection to be had
    var whenCommitted =
        transactions.run(
            transaction -> {
              requireTime(end);
              return session.lastWord().on(transaction);
            });
    whenCommitted.run();
  }

  private static void requireTime(long end) throws SQLException {
    if (System.nanoTime() - end > 0 || Thread.currentThread().isInterrupted()) {
      throw new SQLException("the database did not answer in time");
    }
  }

  private @Nullable Future<?> takeBackLater(Collection<Connection> cutOff) {
    try {
      return threads.runLater(PATIENCE, () -> cutOff.forEach(LostConnection::giveBack));
    } catch (RejectedExecutionException stopped) {
      return null; // Nobody needs the places in the pool any more.
    }
  }
}
