package org.pgonce.internal;

import java.sql.Connection;
import java.sql.SQLException;
import org.pgonce.internal.settle.Failures;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends sessions whose handler does not come back, so that the row is free at once and not when the
 * handler pleases.
 */
final class Sessions {

  private static final Logger LOG = LoggerFactory.getLogger(Sessions.class);

  // A role may end its own sessions. Closing the socket alone would not do: a backend at work
  // notices only when it next writes to it.
  private static final String END = "SELECT pg_terminate_backend(?)";

  private final Transactions transactions;
  private final Threads threads;

  Sessions(Transactions transactions, Threads threads) {
    this.transactions = transactions;
    this.threads = threads;
  }

  /**
   * Ends the session of a connection that its worker still holds, so that the process id is still
   * its own. Never throws.
   */
  void end(int backendPid) {
    try {
      transactions.make(transaction -> end(transaction, backendPid));
    } catch (SQLException e) {
      LOG.warn(
          "pgonce: server process {} could not be ended ({}); its row stays locked until the server"
              + " notices",
          backendPid,
          Failures.inWords(e));
    }
  }

  /** The same within a transaction of the caller's. */
  void end(Connection transaction, int backendPid) throws SQLException {
    try (var statement = transaction.prepareStatement(END)) {
      statement.setInt(1, backendPid);
      statement.execute();
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
