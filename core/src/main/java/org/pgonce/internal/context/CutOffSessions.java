package org.pgonce.internal.context;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives up the sessions whose handler was cut off, so that their locks are released at once. The
 * socket is closed ({@link LostConnection#abandon}) before the connection can go back to the pool,
 * so that no later user of it loses its transaction.
 */
public final class CutOffSessions {

  private static final Logger LOG = LoggerFactory.getLogger(CutOffSessions.class);

  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final Transactions transactions;
  private final Threads threads;
  private final LinkedBlockingQueue<Released> released = new LinkedBlockingQueue<>();

  private record Released(@Nullable Connection connection, Transactions.Work<Runnable> lastWord) {}

  public CutOffSessions(Transactions transactions, Threads threads) {
    this.transactions = transactions;
    this.threads = threads;
  }

  /**
   * Does work that takes a connection from the pool, then closes the socket of the connection whose
   * handler was cut off. If the pool gives none for a second, because handlers that do not return
   * hold them all, it gets that one back before.
   */
  public void closeAfter(Runnable work, Connection cutOff) {
    var lastResort = threads.runLater(PATIENCE, () -> LostConnection.giveBack(cutOff));
    try {
      work.run();
    } finally {
      lastResort.cancel(false);
      LostConnection.abandon(cutOff);
    }
  }

  /**
   * Closes the socket of a handler that is cut off since the listener stops.
   *
   * @param connection null if it is closed already
   * @param lastWord what {@link #endReleased} does; returns what follows the commit
   */
  public void release(@Nullable Connection connection, Transactions.Work<Runnable> lastWord) {
    if (connection != null) {
      LostConnection.abandon(connection);
    }
    released.add(new Released(connection, lastWord));
  }

  /**
   * Does the last words of what was released, each in a transaction of its own: if one fails the
   * others stay. Waits for the database.
   *
   * @param end by System.nanoTime(): what is left then the server finds out by itself
   */
  public void endReleased(long end) {
    var sessions = new ArrayList<Released>();
    released.drainTo(sessions);
    if (sessions.isEmpty()) {
      return;
    }
    var lastResort = threads.runLater(PATIENCE, () -> giveBack(sessions));
    var untold = 0;
    Exception failure = null;
    for (var session : sessions) {
      try {
        sayLastWord(session, end);
      } catch (SQLException | RuntimeException e) {
        untold++;
        failure = e;
      }
    }
    lastResort.cancel(false);
    if (failure != null) {
      LOG.warn(
          "pgonce: the database could not be told of {} of {} handlers that were cut off ({}); their rows stay"
              + " locked until the server notices that their connections are closed, or leased until their lease is over",
          untold,
          sessions.size(),
          Failures.inWords(failure));
    }
  }

  private static void giveBack(List<Released> sessions) {
    for (var session : sessions) {
      if (session.connection() != null) {
        LostConnection.giveBack(session.connection());
      }
    }
  }

  private void sayLastWord(Released session, long end) throws SQLException {
    requireTime(end); // it may take long to find out that there is no connection to be had
    transactions
        .run(
            transaction -> {
              requireTime(end);
              return session.lastWord().on(transaction);
            })
        .run();
  }

  private static void requireTime(long end) throws SQLException {
    if (System.nanoTime() - end > 0 || Thread.currentThread().isInterrupted()) {
      throw new SQLException("the database did not answer in time");
    }
  }
}
