package org.pgonce.example.latency;

import com.impossibl.postgres.api.jdbc.PGConnection;
import java.sql.SQLException;
import java.util.function.LongConsumer;
import org.pgonce.example.DatabaseAddress;

/** NOTIFY and its callback in pgjdbc-ng: nothing is stored, nothing claimed. */
final class ByNotify extends Contender {

  private static final String CHANNEL = "bare_notify";

  private final PGConnection listening;

  ByNotify(DatabaseAddress address, LongConsumer handler) throws SQLException {
    super(address, "select pg_notify('" + CHANNEL + "', (?::bigint)::text)");
    listening = NgListening.to(address, CHANNEL, id -> handler.accept(Long.parseLong(id)));
  }

  @Override
  public void close() throws SQLException {
    listening.close();
    super.close();
  }
}
