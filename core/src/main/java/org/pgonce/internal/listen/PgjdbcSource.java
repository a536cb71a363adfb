package org.pgonce.internal.listen;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLEncoder;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.locks.ReentrantLock;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;
import org.postgresql.Driver;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.PGProperty;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Listens through pgjdbc, with every TLS and authentication setting that it knows. */
public final class PgjdbcSource implements WakeUpSource {

  private static final Logger LOG = LoggerFactory.getLogger(PgjdbcSource.class);

  /**
   * Settings of a pool's sessions that would change what LISTEN or the connect does. By name, since
   * older drivers do not have all of them.
   */
  private static final List<String> NOT_HERE =
      List.of(
          "currentSchema",
          "loginTimeout",
          "queryTimeout",
          "readOnly",
          "replication",
          "targetServerType");

  @Override
  public String name() {
    return "pgjdbc";
  }

  @Override
  public WakeUpConnection open(ListenAddress address, Callback callback, Duration timeout)
      throws SQLException {
    var connection = new Driver().connect(url(address), properties(address, timeout));
    if (connection == null) {
      throw new SQLException("pgjdbc does not understand the address " + address, "08001");
    }
    try {
      // In a transaction getNotifications returns at once: a hot loop.
      connection.setAutoCommit(true);
      try (var statement = connection.createStatement();
          var row = statement.executeQuery("SELECT pg_catalog.pg_backend_pid()")) {
        row.next();
        // From here on BoundedConnection bounds each call.
        connection.setNetworkTimeout(Runnable::run, 0);
        return new Listening(connection, row.getInt(1), callback);
      }
    } catch (Throwable e) { // also where the machine has no thread to wait on it
      connection.abort(Runnable::run);
      throw e;
    }
  }

  private static String url(ListenAddress address) {
    var host = address.host();
    return "jdbc:postgresql://%s:%s/%s"
        .formatted(
            host.contains(":") ? "[" + host + "]" : host,
            address.port(),
            URLEncoder.encode(address.database(), UTF_8));
  }

  private static Properties properties(ListenAddress address, Duration timeout) {
    var properties = new Properties();
    address.properties().forEach(properties::setProperty);
    NOT_HERE.forEach(properties::remove);
    if (address.user() != null) {
      PGProperty.USER.set(properties, address.user());
    }
    if (address.password() != null) {
      PGProperty.PASSWORD.set(properties, address.password());
    }
    // Whole seconds, beyond the timeout: they end the abandoned thread.
    int seconds = (int) Math.max(1, timeout.toSeconds() + 1);
    PGProperty.CONNECT_TIMEOUT.set(properties, seconds);
    PGProperty.SOCKET_TIMEOUT.set(properties, seconds);
    PGProperty.TCP_KEEP_ALIVE.set(properties, true);
    PGProperty.APPLICATION_NAME.set(properties, APPLICATION_NAME);
    // A pooler could mix up prepared statements.
    PGProperty.PREFER_QUERY_MODE.set(properties, "simple");
    return properties;
  }

  /**
   * One LISTEN connection of pgjdbc and a thread that waits on it. The driver keeps its lock while
   * it waits for a NOTIFY, so the thread waits in slices, and statements run between two of them.
   * Slices are short after a statement, because a statement seldom comes alone; then they grow.
   */
  private static final class Listening implements WakeUpConnection {

    private static final int FIRST_SLICE_MILLIS = 4;
    // Bounds how long a heartbeat waits for its turn; a NOTIFY ends the slice at once.
    private static final int LONGEST_SLICE_MILLIS = 256;
    private static final long CLOSE_MILLIS = 500;

    private final Connection connection;
    private final PGConnection driver;
    private final int backendPid;
    private final Callback callback;
    private final ReentrantLock turn =
        new ReentrantLock(true); // fair, or no statement gets its turn
    private final Thread receiver;
    private int slice = FIRST_SLICE_MILLIS;
    private volatile boolean open = true;

    Listening(Connection connection, int backendPid, Callback callback) throws SQLException {
      this.connection = connection;
      this.driver = connection.unwrap(PGConnection.class);
      this.backendPid = backendPid;
      this.callback = callback;
      this.receiver = Threads.daemon("pgonce-listen-" + backendPid, this::receive);
      receiver.start();
    }

    private void receive() {
      try (connection) {
        while (open) {
          for (var each : next()) {
            var payload = each.getParameter();
            callback.notified(each.getName(), payload == null ? "" : payload);
          }
        }
      } catch (SQLException | RuntimeException e) {
        if (open) {
          callback.lost("the connection broke: " + e.getMessage());
        }
      }
    }

    private PGNotification[] next() throws SQLException {
      turn.lock();
      try {
        var notifications = driver.getNotifications(slice);
        slice = Math.min(2 * slice, LONGEST_SLICE_MILLIS);
        return notifications == null ? new PGNotification[0] : notifications;
      } finally {
        turn.unlock();
      }
    }

    @Override
    public void execute(List<String> statements, Duration timeout) throws SQLException {
      turn.lock();
      try (var statement = connection.createStatement()) {
        statement.setEscapeProcessing(false);
        for (var sql : statements) {
          statement.execute(sql);
        }
        slice = FIRST_SLICE_MILLIS;
      } finally {
        turn.unlock();
      }
    }

    @Override
    public int backendPid() {
      return backendPid;
    }

    @Override
    public boolean pooled() {
      return driver.getBackendPID() != backendPid;
    }

    @Override
    public void close() {
      open = false;
      try {
        receiver.join(CLOSE_MILLIS); // it closes the connection in order, unless the peer is frozen
        connection.abort(Runnable::run);
      } catch (SQLException | RuntimeException e) {
        LOG.debug("pgjdbc could not abort a LISTEN connection", e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
