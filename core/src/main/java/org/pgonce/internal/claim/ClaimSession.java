package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.ClientCheck;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.SessionMemory;
import org.pgonce.internal.jdbc.SessionState;

/**
 * A connection while one claim loop has it. Its first claim ever reads the session's settings in
 * its own message. Later claims need not: what a handler changes is found and set back before the
 * next one. They only look whether the session is still that one.
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
          .formatted(PoolSettings.COLUMN, ClientCheck.COLUMN, SessionState.COLUMN);

  /**
   * A column of each claim: what of the session would change the claim and its handler, before the
   * claim sets anything. The context comes last, as it may hold the separator.
   */
  static final String CHECK =
      """
      pg_catalog.concat_ws(E'\\x1f', pg_catalog.pg_backend_pid(), pg_catalog.current_setting('transaction_isolation'),
        pg_catalog.current_setting('transaction_read_only'), COALESCE(pg_catalog.current_setting('pgonce.depth', true), ''),
        COALESCE(pg_catalog.current_setting('pgonce.context', true), '')) AS session""";

  /** The same where there may be several rows. */
  static final String CHECK_ONCE = "(SELECT %s) AS session".formatted(CHECK);

  private static final String SEPARATOR = "\u001f";

  private final Connection connection;
  private final PoolSettings.Taken taken;
  private final long idleMs;
  private SessionMemory.@Nullable Known known;
  // What CHECK gives while it is as known; empty if not known.
  private String expected = "";
  private boolean isRemembered;
  private boolean isFit = true;

  /**
   * Of a connection that is outside a transaction.
   *
   * @param handlerTimeout how long a handler may take: the session may idle a little longer
   */
  public ClaimSession(Connection connection, PoolSettings.Taken taken, Duration handlerTimeout)
      throws SQLException {
    this.connection = connection;
    this.taken = taken;
    this.idleMs = idleBoundMs(handlerTimeout);
    var remembered = taken.sessions().of(connection);
    this.isRemembered = remembered != null;
    if (remembered != null) {
      know(remembered);
    }
  }

  /** How long the session may idle in the transaction of a claim, in milliseconds. */
  static long idleBoundMs(Duration handlerTimeout) {
    return handlerTimeout.plus(LEEWAY).toMillis();
  }

  public Connection connection() {
    return connection;
  }

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

  /** Whether its settings were read when pgonce had it at another time. */
  public boolean isRemembered() {
    return isRemembered;
  }

  /**
   * Its settings were changed, by its handler or by another user of the pool before. What they were
   * is not known, so nobody gets it any more.
   */
  public void giveUpRemembered() {
    taken.sessions().turnOff();
    giveUp();
  }

  @FunctionalInterface
  interface Reader<R> {
    R read(ResultSet row) throws SQLException;
  }

  /** Another server session than the known one: there is a pooler between. */
  private static final class OtherSessionException extends SQLException {
    private static final long serialVersionUID = 1;

    OtherSessionException(String seen) {
      super("the connection has another session than before: " + seen);
    }
  }

  /** Claims in a transaction that it begins. */
  <R> R claim(ClaimStatement.Text text, Pipeline.Binding parameters, Reader<R> reader)
      throws SQLException {
    try {
      return claimNow(text, parameters, reader);
    } catch (OtherSessionException e) {
      taken.sessions().turnOff();
      forget();
      connection.rollback();
      return claimNow(text, parameters, reader);
    }
  }

  private <R> R claimNow(ClaimStatement.Text text, Pipeline.Binding parameters, Reader<R> reader)
      throws SQLException {
    return taken.begin(
        LONGEST_CLAIM,
        () -> {
          var message = new Pipeline(connection);
          var claimed = addTo(message, text, parameters, reader);
          message.send();
          return claimed.result();
        });
  }

  /** Adds a claim to a message, in which its transaction begins. */
  <R> Pipeline.Sent<R> addTo(
      Pipeline message, ClaimStatement.Text text, Pipeline.Binding parameters, Reader<R> reader) {
    var isFirst = known == null;
    if (isFirst) {
      message.add(new ReadSession());
    }
    var claimed = message.add(new Rows<>(text, isFirst, parameters, reader));
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
        var read =
            new SessionMemory.Known(
                row.getInt("pid"),
                row.getString("idle_before"),
                row.getString("idle"),
                row.getString("client_check"),
                settings);
        know(read);
        isRemembered = false;
        taken.sessions().remember(connection, read);
        return true;
      }
    }
  }

  private final class Rows<R> implements Pipeline.Part<R> {

    private final ClaimStatement.Text text;
    private final boolean isFirst;
    private final Pipeline.Binding parameters;
    private final Reader<R> reader;

    Rows(ClaimStatement.Text text, boolean isFirst, Pipeline.Binding parameters, Reader<R> reader) {
      this.text = text;
      this.isFirst = isFirst;
      this.parameters = parameters;
      this.reader = reader;
    }

    @Override
    public String sql() {
      return isFirst ? text.first() : text.later();
    }

    @Override
    public void bind(PreparedStatement statement, int first) throws SQLException {
      var next = first;
      if (!isFirst) {
        statement.setString(next++, known().boundedIdle());
        statement.setString(next++, known().clientCheck());
      }
      parameters.bind(statement, next);
    }

    @Override
    public R read(Statement executed) throws SQLException {
      try (var row = executed.getResultSet()) {
        return reader.read(row);
      }
    }
  }

  /**
   * Who holds the claimed row.
   *
   * @param row with the column of {@link #CHECK}
   * @param isOne whether the claim has set the handler's savepoint
   */
  HandlerSession holder(ResultSet row, boolean isOne) throws SQLException {
    var seen = row.getString("session");
    if (!seen.equals(expected)) {
      compare(seen);
    }
    var session = known();
    return new HandlerSession(session.pid(), session.idle(), isOne ? session.settings() : null);
  }

  private void compare(String seen) throws SQLException {
    var session = known();
    var values = seen.split(SEPARATOR, 5);
    if (!values[0].equals(String.valueOf(session.pid()))) {
      throw new OtherSessionException(seen);
    }
    PoolSettings.Taken.requireFit(values[1] + ", " + values[2]);
    var settings = session.settings();
    // The pool's user has set it meanwhile.
    var now =
        session.with(settings.with("pgonce.depth", values[3]).with("pgonce.context", values[4]));
    know(now);
    taken.sessions().remember(connection, now);
  }

  private void know(SessionMemory.Known session) {
    known = session;
    expected =
        String.join(
            SEPARATOR,
            String.valueOf(session.pid()),
            "read committed",
            "off",
            session.settings().value("pgonce.depth"),
            session.settings().value("pgonce.context"));
  }

  private SessionMemory.Known known() {
    return Objects.requireNonNull(known, "no claim has read the session");
  }
}
