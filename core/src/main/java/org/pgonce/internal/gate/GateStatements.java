package org.pgonce.internal.gate;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Transactions;

/**
 * The gate of one channel as the database has it, see {@code sql/gate.sql}. Each call is a
 * transaction of its own.
 *
 * @param listened the ids of the channel's subscriptions that this process listens for, in order
 */
record GateStatements(Transactions transactions, String channel, List<Integer> listened) {

  /** What {@link #open} returns where another process has opened the gate. */
  static final long TAKEN = 0;

  private static final String OPEN = "SELECT pgonce.open_gate(?, ?::text::integer[])";
  private static final String RENEW = "SELECT pgonce.renew_gate(?, ?::text::integer[], ?)";
  private static final String CLOSE = "SELECT pgonce.close_gate(?, ?)";
  private static final String WRITERS_WAIT = "SELECT pgonce.do_writers_wait(?, ?::text::integer[])";

  /** The gate's new value; {@link #TAKEN}; null if this process may not open it. */
  @Nullable Long open() throws SQLException {
    return nullableLong(OPEN, null);
  }

  /** The gate's new value; null if it is not this process's any more, or may not be open. */
  @Nullable Long renew(long mine) throws SQLException {
    return nullableLong(RENEW, mine);
  }

  void close(long mine) throws SQLException {
    transactions.make(
        connection -> {
          try (var statement = connection.prepareStatement(CLOSE)) {
            statement.setString(1, channel);
            statement.setLong(2, mine);
            statement.execute();
          }
        });
  }

  /** Whether a writer waits for NOTIFY's lock; null if this process may not open the gate. */
  @Nullable Boolean doWritersWait() throws SQLException {
    return transactions
        .run(
            connection -> {
              try (var statement = connection.prepareStatement(WRITERS_WAIT)) {
                statement.setString(1, channel);
                statement.setString(2, array());
                try (var row = statement.executeQuery()) {
                  row.next();
                  var wait = row.getBoolean(1);
                  return new Answer<>(row.wasNull() ? null : wait);
                }
              }
            })
        .given();
  }

  /** What {@link Transactions#run} can hand back. */
  private record Answer<T>(@Nullable T given) {}

  private @Nullable Long nullableLong(String sql, @Nullable Long mine) throws SQLException {
    return transactions.run(connection -> new Answer<>(ask(connection, sql, mine))).given();
  }

  private @Nullable Long ask(Connection connection, String sql, @Nullable Long mine)
      throws SQLException {
    try (var statement = connection.prepareStatement(sql)) {
      statement.setString(1, channel);
      statement.setString(2, array());
      if (mine != null) {
        statement.setLong(3, mine);
      }
      try (var row = statement.executeQuery()) {
        row.next();
        var value = row.getLong(1);
        return row.wasNull() ? null : value;
      }
    }
  }

  // Arrays travel as text: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9.
  private String array() {
    return listened.stream().map(String::valueOf).collect(Collectors.joining(",", "{", "}"));
  }
}
