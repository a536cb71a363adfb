package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Borrowed;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.SessionState;

/**
 * A connection while one claim loop has it. The first claim reads the session's settings in its own
 * message. Later claims need not: what a handler changes is found and set back before the next one.
 *
 * <p>Each claim bounds how long its transaction may idle, so that the server ends the session of a
 * process that is frozen or cut off, and lets the server watch for the end of the process while a
 * statement runs: see {@link PoolSettings#CLIENT_CHECK}. A lease is taken in a short transaction,
 * bounded by {@code ListenerContext} and sql/lease.sql.
 */
public final class ClaimSession {

  /** A claim is a few index look-ups: without an answer in this time its connection is lost. */
  public static final Duration LONGEST_ANSWER = Duration.ofSeconds(30);

  /** What a session may idle beyond the handler's time: the process itself has ended it by then. */
  private static final Duration LEEWAY = Duration.ofSeconds(5);

  // Both parameters are how long, in milliseconds, the session may idle in this transaction; a
  // shorter bound of its own stays. Columns are computed in their order.
  private static final String READ =
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
          .formatted(PoolSettings.COLUMN, PoolSettings.CLIENT_CHECK, SessionState.COLUMN);

  private static final String BOUND =
      """
      SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', ?, true),
             pg_catalog.set_config('client_connection_check_interval', ?, true),
             pg_catalog.pg_backend_pid() AS pid""";

  private final Borrowed borrowed;
  private final PoolSettings.Taken taken;
  private final long idleMs;
  private @Nullable Known known;
  private boolean isFit = true;

  /**
   * @param holder of a single row
   * @param idle its idle_in_transaction_session_timeout within the transaction of a claim
   * @param hasContext whether its settings have a context
   */
  private record Known(HandlerSession holder, String idle, String clientCheck, boolean hasContext) {

    Known in(int backendPid) {
      return holder.backendPid() == backendPid
          ? this
          : new Known(holder.in(backendPid), idle, clientCheck, hasContext);
    }
  }

  /**
   * Of a connection that is outside a transaction.
   *
   * @param handlerTimeout how long a handler may take: the session may idle a little longer
   */
  public ClaimSession(Borrowed borrowed, PoolSettings.Taken taken, Duration handlerTimeout) {
    this.borrowed = borrowed;
    this.taken = taken;
    this.idleMs = idleBoundMs(handlerTimeout);
  }

  /** How long the session may idle in the transaction of a claim, in milliseconds. */
  static long idleBoundMs(Duration handlerTimeout) {
    return handlerTimeout.plus(LEEWAY).toMillis();
  }

  public Connection connection() {
    return borrowed.connection();
  }

  public boolean isFit() {
    return isFit;
  }

  /** The connection is lost, or not as it came: it is given back closed. */
  public void giveUp() {
    isFit = false;
  }

  /** Gives the connection back, closed. For any thread. */
  public void closeLost() {
    borrowed.closeLost();
  }

  /** Makes the connection as it came. To be called outside a transaction. */
  public void restore() throws SQLException {
    taken.restore();
  }

  /** The session is not as it was: the next claim reads it again. */
  public void forget() {
    known = null;
  }

  /** What follows may take as long as a handler, and no longer as long as a claim. */
  public void handlerBegins() throws SQLException {
    taken.allowLongest();
  }

  @FunctionalInterface
  interface Reader<R> {
    R read(ResultSet row, HandlerSession holder) throws SQLException;
  }

  /** Claims in a transaction that it begins. */
  <R> R claim(ClaimStatement.Text text, Pipeline.Binding parameters, Reader<R> reader)
      throws SQLException {
    return taken.begin(LONGEST_ANSWER, message -> addTo(message, text, parameters, reader));
  }

  /** Adds a claim to a message, in which its transaction begins. */
  <R> Pipeline.Sent<R> addTo(
      Pipeline message, ClaimStatement.Text text, Pipeline.Binding parameters, Reader<R> reader) {
    var isFirst = known == null;
    message.add(isFirst ? new ReadSession() : new BoundSession());
    var claimed = message.add(rows(text, isFirst, parameters, reader));
    if (text.isOne()) {
      message.add(HandlerSavepoint.SET);
    }
    return claimed;
  }

  private final class ReadSession implements Pipeline.Part<Boolean> {

    @Override
    public String sql() {
      return READ;
    }

    @Override
    public void bind(PreparedStatement statement, int first) throws SQLException {
      statement.setString(first, String.valueOf(idleMs));
      statement.setLong(first + 1, idleMs);
    }

    @Override
    public Boolean read(Statement executed) throws SQLException {
      try (var row = executed.getResultSet()) {
        row.next();
        PoolSettings.Taken.requireFit(row.getString("modes"));
        var settings = new SessionState(row.getString("settings"));
        known =
            new Known(
                new HandlerSession(row.getInt("pid"), row.getString("idle_before"), settings),
                row.getString("idle"),
                row.getString("client_check"),
                !"".equals(settings.value("pgonce.context")));
        return true;
      }
    }
  }

  /**
   * Before the claim, not in it: the client check is armed when a command begins. Behind a
   * transaction pooler each transaction may have another process of the server.
   */
  private final class BoundSession implements Pipeline.Part<Boolean> {

    @Override
    public String sql() {
      return BOUND;
    }

    @Override
    public void bind(PreparedStatement statement, int first) throws SQLException {
      statement.setString(first, known().idle());
      statement.setString(first + 1, known().clientCheck());
    }

    @Override
    public Boolean read(Statement executed) throws SQLException {
      try (var row = executed.getResultSet()) {
        row.next();
        known = known().in(row.getInt("pid"));
        return true;
      }
    }
  }

  private <R> Pipeline.Part<R> rows(
      ClaimStatement.Text text, boolean isFirst, Pipeline.Binding parameters, Reader<R> reader) {
    return new Pipeline.Part<>() {

      @Override
      public String sql() {
        return text.sql();
      }

      @Override
      public void bind(PreparedStatement statement, int first) throws SQLException {
        var next = first;
        if (text.isOne()) {
          statement.setBoolean(next++, isFirst || known().hasContext());
        }
        parameters.bind(statement, next);
      }

      @Override
      public R read(Statement executed) throws SQLException {
        var holder = known().holder();
        try (var row = executed.getResultSet()) {
          return reader.read(row, text.isOne() ? holder : holder.withoutSavepoint());
        }
      }
    };
  }

  private Known known() {
    return Objects.requireNonNull(known, "no claim has read the session");
  }
}
