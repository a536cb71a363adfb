package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection that goes back to its pool once, by whichever thread comes first: that of a worker,
 * or that which cuts its handler off. HikariCP may lend out again, closed, one that two threads
 * have given back at once.
 *
 * <p>Thread-safe, as far as giving back goes.
 */
public final class Borrowed implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Borrowed.class);

  private static final int MOST_TRIES = 20;

  private final Connection connection;
  private final AtomicBoolean isBack = new AtomicBoolean();

  public Borrowed(Connection connection) {
    this.connection = connection;
  }

  public static Borrowed from(DataSource dataSource) throws SQLException {
    return new Borrowed(dataSource.getConnection());
  }

  public Connection connection() {
    return connection;
  }

  /** Gives it back as it is, unless it is back. */
  @Override
  public void close() throws SQLException {
    if (isBack.compareAndSet(false, true)) {
      connection.close();
    }
  }

  /** Closes its socket and gives it back, unless it is back. Never throws. */
  public void closeLost() {
    if (!isBack.compareAndSet(false, true)) {
      return;
    }
    LostConnection.abandon(connection);
    // pgjdbc-ng may throw once for each open statement, before HikariCP takes the connection back.
    for (var tries = 0; tries < MOST_TRIES; tries++) {
      try {
        connection.close();
        return;
      } catch (SQLException | RuntimeException e) {
        LOG.debug("pgonce: a lost connection is given back", e);
      }
    }
    LOG.warn(
        "pgonce: a lost connection could not be given back in {} tries: its pool may count it as in use, see the exceptions at level DEBUG",
        MOST_TRIES);
  }
}
