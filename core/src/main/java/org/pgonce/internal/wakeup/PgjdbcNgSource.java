package org.pgonce.internal.wakeup;

import com.impossibl.postgres.jdbc.PGDirectConnection;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;

/**
 * Hears through pgjdbc-ng 0.8.9, which calls back as soon as a NOTIFY arrives. Contained rather
 * than trusted: every call has a deadline and a thread of its own, because the driver ignores its
 * login timeout and can wait for an answer for ever.
 *
 * <p>The driver's I/O threads ({@code PG-JDBC I/O}, daemons, at most three in a JVM) are shared by
 * all its connections and may stay after the last one is closed.
 */
public final class PgjdbcNgSource implements WakeUpSource {

  /** How a LISTEN connection shows in {@code pg_stat_activity}, with either driver. */
  static final String APPLICATION_NAME = "pgonce listen";

  @Override
  public String name() {
    return "pgjdbc-ng";
  }

  @Override
  public WakeUpConnection open(ListenAddress address, Ear ear, Duration deadline)
      throws SQLException {
    var connection =
        BoundedCall.run(
            "connecting to " + address,
            // Half of it for the knock: "nothing answers" says more than "took too long".
            () -> connect(address, Deadline.in(deadline.dividedBy(2))),
            deadline,
            "08001",
            PgjdbcNgConnection::discard);
    return new PgjdbcNgConnection(connection, ear);
  }

  private static Opened connect(ListenAddress address, Deadline deadline) throws SQLException {
    PgjdbcNgSettings.refuseWhatItCannot(address.properties());
    var settings = PgjdbcNgSettings.dataSource(address, Knock.at(address, deadline));
    try {
      var connection = settings.getConnection();
      try {
        return Opened.of(connection);
      } catch (SQLException | RuntimeException e) {
        PgjdbcNgConnection.discard(connection);
        throw e;
      }
    } catch (SQLException e) {
      throw withStandardState(e);
    }
  }

  /** The driver says "8001" where the standard says "08001". */
  private static SQLException withStandardState(SQLException e) {
    return "8001".equals(e.getSQLState()) ? new SQLException(e.getMessage(), "08001", e) : e;
  }

  /** A connection and the process ids that the greeting and the backend itself gave. */
  record Opened(PGDirectConnection connection, int greetingPid, int backendPid) {

    static Opened of(Connection opened) throws SQLException {
      var connection = opened.unwrap(PGDirectConnection.class);
      try (var statement = connection.createStatement();
          var row = statement.executeQuery(ListenSql.BACKEND_PID)) {
        row.next();
        return new Opened(connection, connection.getKeyData().getProcessId(), row.getInt(1));
      }
    }
  }
}
