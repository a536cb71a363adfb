package org.pgonce.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.ClaimHolder;
import org.pgonce.internal.deliver.LostConnection;
import org.pgonce.internal.settle.Failures;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends sessions whose handler does not come back, so that the row is free at once and not when the
 * handler pleases.
 */
final class Sessions {

  private static final Logger LOG = LoggerFactory.getLogger(Sessions.class);

  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final Transactions transactions;
  private final Threads threads;

  Sessions(Transactions transactions, Threads threads) {
    this.transactions = transactions;
    this.threads = threads;
  }

  /**
   * Ends the session that holds a claim. Closing its socket alone would not do: a backend at work
   * notices only when it next writes to it. Never throws.
   */
  void end(ClaimHolder holder) {
    try {
      transactions.make(holder::end);
    } catch (SQLException e) {
      LOG.warn(
          "pgonce: server process {} could not be ended ({}); its row stays locked until the server"
              + " notices",
          holder.backendPid(),
          Failures.inWords(e));
    }
  }

  /**
   * Does what takes a connection from the pool, and then closes the socket of the one whose handler
   * has been cut off. If the pool has none to give for a second, because handlers that do not
   * return hold them all, it gets that one back before.
   */
  void closeAfter(Runnable work, Connection cutOff) {
    var lastResort = takeBackLater(cutOff);
    try {
      work.run();
    } finally {
      if (lastResort != null) {
        lastResort.cancel(false);
      }
      abort(cutOff);
    }
  }

  private @Nullable Future<?> takeBackLater(Connection cutOff) {
    try {
      return threads.runLater(PATIENCE, () -> takeBack(cutOff));
    } catch (RejectedExecutionException stopped) {
      return null; // Nobody needs the place in the pool any more.
    }
  }

  private static void takeBack(Connection cutOff) {
    // First, so that the pool finds it closed: what the handler still does on it must reach nobody.
    LostConnection.abandon(cutOff);
    try {
      cutOff.close();
    } catch (SQLException e) {
      LOG.debug("pgonce: the pool took a connection back that is closed", e);
    }
  }

  /** Closes the connection's socket; whoever waits on it gets an exception. Never throws. */
  void abort(Connection connection) {
    try {
      connection.abort(threads::run);
    } catch (SQLException e) {
      LOG.debug("pgonce: the connection was gone already", e);
    }
  }
}
