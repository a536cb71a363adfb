package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.TransactionState;
import org.postgresql.jdbc.AutoSave;

/**
 * Makes the connections of a data source fit for a claim, and gives them back as they came:
 * autocommit off, a bound on every call, READ COMMITTED and READ WRITE, no autosave of pgjdbc (it
 * would put claim and deletion into different subtransactions, and hide swallowed errors).
 *
 * <p>The transaction's modes are learned: only after one has turned out to be otherwise are they
 * set at the start of each. So a usual data source costs no round trip (over pgjdbc-ng one per
 * transaction). One per data source; thread-safe.
 */
public final class PoolSettings {

  /** A column with the transaction's modes, for {@link Taken#requireFit}. */
  public static final String COLUMN =
      """
      pg_catalog.concat_ws(', ', pg_catalog.current_setting('transaction_isolation'),
        pg_catalog.current_setting('transaction_read_only'))""";

  /**
   * A column that has the server check once a second, while a statement runs or waits for a lock,
   * whether its client is still connected ({@code client_connection_check_interval}). Without it
   * the session of a killed process keeps its row until the statement ends. The check sees a closed
   * connection, not a silent network.
   *
   * <p>Set for the transaction. A shorter interval of the session stays. Windows refuses it, and so
   * does PostgreSQL 14 on whatever is not Linux. PostgreSQL arms the check when a command begins:
   * the setting holds for the commands behind the one that sets it, also in the same message.
   */
  public static final String CLIENT_CHECK =
      """
      pg_catalog.set_config('client_connection_check_interval',
        CASE WHEN pg_catalog.version() OPERATOR(pg_catalog.!~~) '%linux%'
               OR (pg_catalog.current_setting('client_connection_check_interval') OPERATOR(pg_catalog.<>) '0'
                   AND pg_catalog.current_setting('client_connection_check_interval')::pg_catalog.interval
                     OPERATOR(pg_catalog.<) INTERVAL '1 second')
          THEN pg_catalog.current_setting('client_connection_check_interval') ELSE '1s' END, true)""";

  private static final String AS_NEEDED = "read committed, off";

  // They end with the transaction, and override what the server, the role, the driver and the pool
  // have set. They must come before the first query.
  private static final String MODES = " ISOLATION LEVEL READ COMMITTED, READ WRITE";

  private static final Pipeline.Part<Boolean> BEGIN = Pipeline.command("BEGIN");

  public static final Pipeline.Part<Boolean> BEGIN_IN_MODES = Pipeline.command("BEGIN" + MODES);

  /** What a READ ONLY transaction says to what changes or locks something. */
  public static final String READ_ONLY_TRANSACTION = "25006";

  private static final String SERIALIZATION_FAILURE = "40001";
  private static final String FEATURE_NOT_SUPPORTED = "0A000";

  private static final String STANDBY =
      "the server is a standby: it takes no writes; give the address of the primary (with several hosts in the URL, targetServerType=primary), or promote it";

  // A pool that tests connections without autocommit may leave an empty one.
  private static final String HAS_WRITTEN =
      "SELECT pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL";

  private static final String ACTIVE_TRANSACTION = "25001";
  private static final String CONNECTION_FAILURE = "08006";

  private volatile boolean setsModes;
  private final NamedStatements namedStatements = new NamedStatements();

  public NamedStatements namedStatements() {
    return namedStatements;
  }

  /**
   * Refuses a connection whose transaction has written already, and leaves that as it is: it is
   * somebody else's, whose effects would be committed here. With autocommit on, nobody has it any
   * more: some SQL has begun it, and the connection went back to its pool, which would hand it out
   * so again and again. That one is closed. pgjdbc-ng does not say so.
   */
  static void requireOwn(Connection connection) throws SQLException {
    if (!connection.isWrapperFor(PGConnection.class)
        || !(connection.unwrap(PGConnection.class) instanceof BaseConnection driver)
        || driver.getTransactionState() == TransactionState.IDLE) {
      return;
    }
    if (connection.getAutoCommit()) {
      LostConnection.abandon(connection);
      throw new SQLException(
          "the pool has handed out a connection amid a transaction that was begun by SQL and never ended: it is closed, and that transaction undone. Look for a BEGIN, or for a thread that uses a connection, or a large object of it, after it is given back",
          CONNECTION_FAILURE);
    }
    if (Statements.row(connection, HAS_WRITTEN, row -> row.getBoolean(1))) {
      throw new SQLException(
          "the data source has handed out a connection amid a transaction of others, which a commit would end: give pgonce the pool itself, and no TransactionAwareDataSourceProxy around it",
          ACTIVE_TRANSACTION);
    }
  }

  /**
   * Takes a connection that is not in a transaction. Sends nothing.
   *
   * @param longestCall the most that the driver waits for one answer, at most 24 days; longer than
   *     any bound that the caller watches itself
   */
  public Taken take(Connection connection, Duration longestCall) throws SQLException {
    requireOwn(connection);
    return new Taken(connection, longestCall);
  }

  private static @Nullable AutoSave withoutAutosave(Connection connection) throws SQLException {
    if (!connection.isWrapperFor(PGConnection.class)) {
      return null;
    }
    var pgjdbc = connection.unwrap(PGConnection.class);
    var autosave = pgjdbc.getAutosave();
    if (autosave == AutoSave.NEVER) {
      return null;
    }
    pgjdbc.setAutosave(AutoSave.NEVER);
    return autosave;
  }

  /** A connection while pgonce has it. Not thread-safe. */
  public final class Taken {

    private final Connection connection;
    private final boolean autoCommit;
    private final @Nullable AutoSave autosave;
    private final int networkTimeout;
    private final boolean pgjdbcNg;
    private final boolean sendsBegin;
    private final int longestMs;
    private int timeoutMs;
    private boolean modesSet;

    private Taken(Connection connection, Duration longestCall) throws SQLException {
      this.connection = connection;
      this.pgjdbcNg = PgjdbcNg.made(connection);
      // One that is read-only would tell the server so with each change of autocommit.
      this.sendsBegin = Pipeline.isPossible(connection) && !connection.isReadOnly();
      this.autoCommit = connection.getAutoCommit();
      if (autoCommit) {
        connection.setAutoCommit(false);
      }
      this.networkTimeout = connection.getNetworkTimeout();
      this.timeoutMs = networkTimeout;
      this.longestMs = shorter(longestCall);
      setNetworkTimeout(longestMs);
      this.autosave = withoutAutosave(connection);
    }

    /** The bound in milliseconds, unless the connection came with a shorter one. */
    private int shorter(Duration longest) {
      var millis = Math.toIntExact(longest.toMillis());
      return networkTimeout == 0 ? millis : Math.min(networkTimeout, millis);
    }

    /** Sends nothing. */
    private void setNetworkTimeout(int millis) throws SQLException {
      if (millis != timeoutMs) {
        connection.setNetworkTimeout(Runnable::run, millis);
        timeoutMs = millis;
      }
    }

    /**
     * Begins a transaction with a message; once more if it is not as needed. BEGIN goes in it where
     * it can: one of the driver's own is answered by itself, and that wakes this thread before the
     * rest is there, which costs a tenth of the time from commit to handler.
     *
     * @param longest bounds it, and what follows until {@link #allowLongest} or {@link #restore}
     * @param parts adds to the message what follows BEGIN, at each call
     */
    public <R> R begin(Duration longest, Function<Pipeline, Pipeline.Sent<R>> parts)
        throws SQLException {
      setNetworkTimeout(shorter(longest));
      return sendsBegin ? again(() -> sendWithBegin(parts)) : begin(() -> send(parts));
    }

    /** Each answer may take as long again as the connection was taken for. Sends nothing. */
    public void allowLongest() throws SQLException {
      setNetworkTimeout(longestMs);
    }

    private <R> R sendWithBegin(Function<Pipeline, Pipeline.Sent<R>> parts) throws SQLException {
      modesSet = setsModes;
      connection.setAutoCommit(true); // sends nothing; the driver begins no transaction
      try {
        return send(
            message -> {
              message.add(modesSet ? BEGIN_IN_MODES : BEGIN);
              return parts.apply(message);
            });
      } catch (SQLException e) {
        throw explained(e);
      } finally {
        if (!connection.isClosed()) {
          connection.setAutoCommit(false);
        }
      }
    }

    private <R> R send(Function<Pipeline, Pipeline.Sent<R>> parts) throws SQLException {
      var message = new Pipeline(connection);
      var last = parts.apply(message);
      message.send();
      return last.result();
    }

    /** Begins a transaction and sends its first statements; once more if it is not as needed. */
    public <R> R begin(SqlCall<R> first) throws SQLException {
      return again(
          () -> {
            begin();
            return first.call();
          });
    }

    void begin() throws SQLException {
      modesSet = setsModes;
      try {
        if (pgjdbcNg) {
          PgjdbcNg.begin(connection, modesSet ? BEGIN_IN_MODES.sql() : BEGIN.sql());
        } else if (modesSet) {
          try (var statement = connection.createStatement()) {
            statement.execute("SET TRANSACTION" + MODES);
          }
        }
      } catch (SQLException e) {
        throw explained(e);
      }
    }

    /**
     * A standby refuses READ WRITE. It says nothing about what the transactions of a primary need:
     * that is learned anew after a promotion.
     */
    private SQLException explained(SQLException e) {
      if (!modesSet || !FEATURE_NOT_SUPPORTED.equals(e.getSQLState())) {
        return e;
      }
      setsModes = false;
      return new SQLException(STANDBY, READ_ONLY_TRANSACTION, e);
    }

    private <R> R again(SqlCall<R> begin) throws SQLException {
      try {
        return begin.call();
      } catch (SQLException e) {
        if (!mustBeginAgain(e)) {
          throw e;
        }
      }
      connection.rollback();
      return begin.call();
    }

    /**
     * Fails a transaction whose {@link #COLUMN} does not say READ COMMITTED and READ WRITE, so that
     * it {@link #mustBeginAgain}.
     */
    public static void requireFit(String column) throws SQLException {
      if (!AS_NEEDED.equals(column)) {
        throw new SQLException(
            "the transaction is not as needed, READ COMMITTED and READ WRITE, but: " + column,
            SERIALIZATION_FAILURE);
      }
    }

    /** Whether the transaction that failed so must be begun again in other modes; at most once. */
    boolean mustBeginAgain(SQLException failure) {
      var state = failure.getSQLState();
      // Where the modes are set, the reason is another one, such as a standby.
      if (modesSet
          || !(READ_ONLY_TRANSACTION.equals(state) || SERIALIZATION_FAILURE.equals(state))) {
        return false;
      }
      setsModes = true;
      return true;
    }

    /** Gives the connection back as it came. To be called outside a transaction. */
    public void restore() throws SQLException {
      if (autosave != null) {
        connection.unwrap(PGConnection.class).setAutosave(autosave);
      }
      setNetworkTimeout(networkTimeout);
      if (autoCommit) {
        connection.setAutoCommit(true);
      }
    }
  }
}
