package org.pgonce.pgjdbcng;

import com.impossibl.postgres.jdbc.PGDirectConnection;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;

/**
 * Listens through pgjdbc-ng 0.8.9, which calls back as soon as a NOTIFY arrives. The driver ignores
 * its login timeout and can wait for an answer for ever: pgonce bounds its calls.
 *
 * <p>The driver's I/O threads ({@code PG-JDBC I/O}, daemons, at most three in a JVM) are shared by
 * all its connections and may stay after the last one is closed.
 */
public final class PgjdbcNgSource implements WakeUpSource {

  /** For {@link java.util.ServiceLoader}, and where it alone is to listen. */
  public PgjdbcNgSource() {}

  @Override
  public String name() {
    return "pgjdbc-ng";
  }

  @Override
  public WakeUpConnection open(ListenAddress address, Callback callback, Duration timeout)
      throws SQLException {
    PgjdbcNgSettings.refuseWhatItCannot(address.properties());
    // Half the time for the probe: its "nothing answers" says more than a timeout.
    var server = ServerProbe.of(address, timeout.dividedBy(2));
    var settings = PgjdbcNgSettings.dataSource(address, server, (int) timeout.toMillis());
    try {
      var connection = settings.getConnection();
      try {
        return opened(connection, callback);
      } catch (SQLException | RuntimeException e) {
        PgjdbcNgConnection.discard(connection);
        throw e;
      }
    } catch (SQLException e) {
      throw withStandardState(e);
    }
  }

  private static WakeUpConnection opened(Connection connection, Callback callback)
      throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("SELECT pg_catalog.pg_backend_pid()")) {
      row.next();
      return new PgjdbcNgConnection(
          connection.unwrap(PGDirectConnection.class), row.getInt(1), callback);
    }
  }

  /** The driver says "8001" where the standard says "08001". */
  private static SQLException withStandardState(SQLException e) {
    return "8001".equals(e.getSQLState()) ? new SQLException(e.getMessage(), "08001", e) : e;
  }
}
