package org.pgonce.triggers;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;

/** Hears the NOTIFYs of a channel, to count them. */
final class Ear implements AutoCloseable {

  private static final int BOUND_MS = 30_000;
  private static final String MARK = "the end";
  static final String SOMEBODY_LISTENS =
      "select pgonce_private.fit_gates((select array_agg(s.id) from pgonce.subscription s))";

  private final TestDatabase database;
  private final String postgresChannel;
  private final Connection connection;

  Ear(TestDatabase database, TriggerChannel<?> channel) throws SQLException {
    this.database = database;
    this.postgresChannel = "pgonce_" + channel.name();
    this.connection = database.dataSource().getConnection();
    try (var statement = connection.createStatement()) {
      statement.execute("listen \"" + postgresChannel + "\"");
      // While nobody does, nobody is notified.
      statement.execute(SOMEBODY_LISTENS);
    }
  }

  /** The payloads of all that was committed before this call and not yet taken. */
  List<String> take() throws SQLException {
    database.execute("select pg_notify('%s', '%s')".formatted(postgresChannel, MARK));
    var payloads = new ArrayList<String>();
    while (true) {
      var heard = connection.unwrap(PGConnection.class).getNotifications(BOUND_MS);
      if (heard == null || heard.length == 0) {
        throw new AssertionError("no NOTIFY within " + BOUND_MS + " ms");
      }
      for (var one : heard) {
        if (one.getParameter().equals(MARK)) {
          return payloads;
        }
        payloads.add(one.getParameter());
      }
    }
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
