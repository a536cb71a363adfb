package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.ClientCheck;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.SessionState;

/**
 * A connection while one claim loop has it. The first claim reads the session's settings in its own
 * message. Later claims need not: what a handler changes is found and set back before the next one.
 *
 * <p>Each claim bounds how long its transaction may idle, so that the server ends the session of a
 * process that is frozen or cut off, and lets the server watch for the end of the process while a
 * statement runs: see {@link ClientCheck}.
 */
public final class ClaimSession {

  /** A claim is a few index look-ups: without an answer in this time its connection is lost. */
  public static final Duration LONGEST_CLAIM = Duration.ofSeconds(30);

  /** What a session may idle beyond the handler's time: the process itself has ended it by then. */
  private static final Duration LEEWAY = Duration.ofSeconds(5);

  // Both parameters are how long, in milliseconds, the session may idle in this transaction; a
  // shorter bound of its own stays. Columns are computed in their order.
  static final String READ =
      """
      SELECT pg_catalog.pg_backend_pid() AS pid, %s AS modes,
             pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle_before,
             CASE WHEN pg_catalog.current_setting('idle_in_transaction_session_timeout') OPERATOR(pg_catalog.=) '0'
               THEN pg_catalog.set_config('idle_in_transaction_session_timeout', ?, true)
               ELSE pgonce.bound_idle(?)::pg_catalog.text END,
             pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle,
             %s AS client_check,
             %s AS settings
      """
          .formatted(PoolSettings.COLUMN, ClientCheck.COLUMN, SessionState.COLUMN);

  private final Connection connection;
  private final PoolSettings.Taken taken;
  private final long idleMs;
  private @Nullable Known known;
  private boolean isFit = true;

  /**
   * @param idleBefore idle_in_transaction_session_timeout outside a claim's transaction
   * @param idle the same within one
   * @param settings what {@link HandlerSavepoint} compares behind a handler
   * @param hasContext whether they have a context
   */
  private record Known(
      int pid,
      String idleBefore,
      String idle,
      String clientCheck,
      String settings,
      boolean hasContext) {}

  /**
   * Of a connection that is outside a transaction.
   *
   * @param handlerTimeout how long a handler may take: the session may idle a little longer
   */
  public ClaimSession(Connection connection, PoolSettings.Taken taken, Duration handlerTimeout) {
    this.connection = connection;
    this.taken = taken;
    this.idleMs = idleBoundMs(handlerTimeout);
  }

  /** How long the session may idle in the transaction of a claim, in milliseconds. */
  static long idleBoundMs(Duration handlerTimeout) {
    return handlerTimeout.plus(LEEWAY).toMillis();
  }

  public Connection connection() {
    return connection;
  }

  /** Whether the connection is fit for another claim. */
  public boolean isFit() {
    return isFit;
  }

  /** The connection is lost, or not as it came: it is given back closed. */
  public void giveUp() {
    isFit = false;
  }

  /** The session is not as it was: the next claim reads it again. */
  public void forget() {
    known = null;
  }

  /** Sets the parameters of the rows that are claimed. */
  @FunctionalInterface
  interface Parameters {
    void set(PreparedStatement statement, int first) throws SQLException;
  }

  /** Reads what was claimed. */
  @FunctionalInterface
  interface Reader<R> {
    R read(ResultSet row, HandlerSession holder) throws SQLException;
  }

  /** Claims in a transaction that it begins. */
  <R> R claim(ClaimSql sql, Parameters parameters, Reader<R> reader) throws SQLException {
    return taken.begin(LONGEST_CLAIM, () -> send(sql, parameters, reader));
  }

  private <R> R send(ClaimSql sql, Parameters parameters, Reader<R> reader) throws SQLException {
    if (known == null && !taken.sendsSeveralAtOnce()) {
      readAlone();
    }
    try (var statement = connection.prepareStatement(text(sql))) {
      bind(sql, statement, 1, parameters);
      statement.execute();
      if (known == null) {
        known = read(statement);
        statement.getMoreResults();
      }
      return claimed(sql, statement, reader);
    }
  }

  private String text(ClaimSql sql) {
    return !taken.sendsSeveralAtOnce() ? sql.alone() : known == null ? sql.first() : sql.later();
  }

  /** A later claim behind a commit, in a transaction that it begins. */
  String textBehindCommit(ClaimSql sql) {
    return sql.behindCommit();
  }

  private void readAlone() throws SQLException {
    try (var statement = connection.prepareStatement(READ)) {
      bindBounds(statement, 1);
      statement.execute();
      known = read(statement);
    }
  }

  private static Known read(Statement executed) throws SQLException {
    try (var row = executed.getResultSet()) {
      row.next();
      PoolSettings.Taken.requireFit(row.getString("modes"));
      var settings = row.getString("settings");
      return new Known(
          row.getInt("pid"),
          row.getString("idle_before"),
          row.getString("idle"),
          row.getString("client_check"),
          settings,
          !"".equals(new SessionState(settings).value("pgonce.context")));
    }
  }

  void bind(ClaimSql sql, PreparedStatement statement, int first, Parameters parameters)
      throws SQLException {
    bindBounds(statement, first);
    var next = first + 2;
    if (known != null && setsSavepoint(sql)) {
      statement.setBoolean(next, known.hasContext());
      next++;
    }
    parameters.set(statement, next);
  }

  private void bindBounds(PreparedStatement statement, int first) throws SQLException {
    if (known == null) {
      statement.setString(first, String.valueOf(idleMs));
      statement.setLong(first + 1, idleMs);
    } else {
      statement.setString(first, known.idle());
      statement.setString(first + 1, known.clientCheck());
    }
  }

  private boolean setsSavepoint(ClaimSql sql) {
    return sql.isOne() && taken.sendsSeveralAtOnce();
  }

  <R> R claimed(ClaimSql sql, Statement executed, Reader<R> reader) throws SQLException {
    if (known == null) {
      throw new IllegalStateException("no claim has read the session");
    }
    var settings = setsSavepoint(sql) ? known.settings() : null;
    try (var row = executed.getResultSet()) {
      return reader.read(row, new HandlerSession(known.pid(), known.idleBefore(), settings));
    }
  }
}
