package org.pgonce.internal.gate;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.SqlArray;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.jdbc.Transactions;

/**
 * The gate of one channel in the database, see {@code sql/gate.sql}. Each call is a transaction of
 * its own.
 */
final class GateStatements {

  private static final String OPEN = "SELECT pgonce.open_gate(?, ?::text::integer[])";
  private static final long OPEN_ALREADY = 0;
  private static final String RENEW = "SELECT pgonce.renew_gate(?, ?::text::integer[], ?)";
  private static final String CLOSE = "SELECT 0 FROM pgonce.close_gate(?, ?)";
  private static final String WRITERS_WAIT =
      "SELECT pgonce.do_writers_wait(?, ?::text::integer[])::integer";

  private final Transactions transactions;
  private final String channel;
  private final String listened;

  /**
   * @param listened the ids of the channel's subscriptions that this process listens for
   */
  GateStatements(Transactions transactions, String channel, List<Integer> listened) {
    this.transactions = transactions;
    this.channel = channel;
    this.listened = SqlArray.of("subscription", listened.stream().sorted().toList());
  }

  /** The gate's new value; null if it is open already, or this process may not open it. */
  @Nullable Long open() throws SQLException {
    var value = ask(OPEN, channel, listened);
    return value == null || value == OPEN_ALREADY ? null : value;
  }

  /** The gate's new value; null if it is not this process's any more, or may not be open. */
  @Nullable Long renew(long mine) throws SQLException {
    return ask(RENEW, channel, listened, mine);
  }

  void close(long mine) throws SQLException {
    var unused = ask(CLOSE, channel, mine);
  }

  /** Whether a writer waits for NOTIFY's lock, and this process may open the gate. */
  boolean doWritersWait() throws SQLException {
    var wait = ask(WRITERS_WAIT, channel, listened);
    return wait != null && wait == 1;
  }

  private @Nullable Long ask(String sql, Object... parameters) throws SQLException {
    return transactions
        .run(transaction -> Statements.row(transaction, sql, GateStatements::number, parameters))
        .orElse(null);
  }

  private static Optional<Long> number(ResultSet row) throws SQLException {
    var value = row.getLong(1);
    return row.wasNull() ? Optional.empty() : Optional.of(value);
  }
}
