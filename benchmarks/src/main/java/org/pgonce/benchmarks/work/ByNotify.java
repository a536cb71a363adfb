package org.pgonce.benchmarks.work;

import com.impossibl.postgres.api.jdbc.PGConnection;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.pgonce.testkit.TestDatabase;

/** NOTIFY and its callback in pgjdbc-ng: nothing is stored, nothing claimed, no effect written. */
public final class ByNotify implements Way {

  private static final String CHANNEL = "bare_notify";

  @Override
  public String label() {
    return "bare NOTIFY";
  }

  @Override
  public boolean writesEffects() {
    return false;
  }

  @Override
  public void prepare(TestDatabase database) {
    // It needs nothing.
  }

  @Override
  public Contender open(TestDatabase database, Plan plan) throws SQLException {
    return new AtWork(database);
  }

  private static final class AtWork implements Contender {

    private final TestDatabase database;
    private final Connection connection;
    private final PreparedStatement send;
    private @Nullable PGConnection listening;

    AtWork(TestDatabase database) throws SQLException {
      this.database = database;
      connection = database.dataSource().getConnection();
      send = connection.prepareStatement("select pg_notify('" + CHANNEL + "', (?::bigint)::text)");
    }

    @Override
    public void empty() {
      // It keeps nothing.
    }

    @Override
    public void store(long id) throws SQLException {
      send.setLong(1, id);
      send.execute();
    }

    @Override
    public void fill(long firstId, int count) {
      throw new UnsupportedOperationException("it stores nothing");
    }

    @Override
    public void settle() {
      // It keeps nothing.
    }

    @Override
    public void start(LongConsumer handler) throws SQLException {
      listening = NgListening.to(database, CHANNEL, id -> handler.accept(Long.parseLong(id)));
    }

    @Override
    public void close() throws SQLException {
      if (listening != null) {
        listening.close();
      }
      connection.close();
    }
  }
}
