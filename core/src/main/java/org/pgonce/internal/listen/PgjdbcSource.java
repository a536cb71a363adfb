package org.pgonce.internal.listen;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;
import org.postgresql.Driver;
import org.postgresql.PGProperty;

/** Listens through pgjdbc, with every TLS and authentication setting that it knows. */
public final class PgjdbcSource implements WakeUpSource {

  /** Settings of a pool's sessions that would change what LISTEN or the connect does. */
  private static final List<PGProperty> NOT_HERE =
      List.of(
          PGProperty.CURRENT_SCHEMA,
          PGProperty.LOGIN_TIMEOUT,
          PGProperty.QUERY_TIMEOUT,
          PGProperty.READ_ONLY,
          PGProperty.REPLICATION,
          PGProperty.TARGET_SERVER_TYPE);

  @Override
  public String name() {
    return "pgjdbc";
  }

  @Override
  public WakeUpConnection open(ListenAddress address, Callback callback, Duration timeout)
      throws SQLException {
    var connection =
        new Driver()
            .connect(
                "jdbc:postgresql:"
                    + JdbcUrls.place(address.host(), address.port(), address.database()),
                properties(address, timeout));
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
        return new PgjdbcConnection(connection, row.getInt(1), callback);
      }
    } catch (SQLException | RuntimeException e) {
      connection.abort(Runnable::run);
      throw e;
    }
  }

  private static Properties properties(ListenAddress address, Duration timeout) {
    var properties = new Properties();
    address.properties().forEach(properties::setProperty);
    NOT_HERE.forEach(property -> properties.remove(property.getName()));
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
}
