package org.pgonce.example.latency;

import com.impossibl.postgres.api.jdbc.PGConnection;
import com.impossibl.postgres.api.jdbc.PGNotificationListener;
import com.impossibl.postgres.jdbc.PGDataSource;
import java.sql.SQLException;
import java.util.function.Consumer;
import org.pgonce.example.DatabaseAddress;

/** A LISTEN connection of pgjdbc-ng. The caller holds it: one that nobody holds goes deaf. */
final class NgListening {

  private NgListening() {}

  /** Listens; the callback gets the payloads on a thread of the driver. */
  static PGConnection to(DatabaseAddress address, String channel, Consumer<String> callback)
      throws SQLException {
    var pgjdbc = address.dataSource();
    var source = new PGDataSource();
    source.setServerName(pgjdbc.getServerNames()[0]);
    source.setPortNumber(pgjdbc.getPortNumbers()[0]);
    source.setDatabaseName(pgjdbc.getDatabaseName());
    source.setUser(address.user());
    source.setPassword(address.password());
    source.setProtocolIoMode("nio"); // native transports need a flag on JDK 24 and later
    source.setHousekeeper(false);
    var connection = source.getConnection().unwrap(PGConnection.class);
    connection.addNotificationListener(
        new PGNotificationListener() {
          @Override
          public void notification(int processId, String channelName, String payload) {
            callback.accept(payload);
          }
        });
    try (var statement = connection.createStatement()) {
      statement.execute("LISTEN " + channel);
    }
    return connection;
  }
}
