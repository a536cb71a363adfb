package org.pgonce.benchmarks.work;

import com.impossibl.postgres.api.jdbc.PGConnection;
import com.impossibl.postgres.api.jdbc.PGNotificationListener;
import java.sql.SQLException;
import java.util.function.Consumer;
import org.pgonce.testkit.TestDatabase;

/**
 * A LISTEN connection of pgjdbc-ng. The caller holds it: one that nobody holds is collected, and
 * hears nothing.
 */
public final class NgListening {

  private NgListening() {}

  /** Listens; the callback gets the payloads on a thread of the driver. */
  public static PGConnection to(TestDatabase database, String channel, Consumer<String> callback)
      throws SQLException {
    var source = database.ngDataSource();
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
