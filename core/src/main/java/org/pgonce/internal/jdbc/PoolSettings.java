package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.jdbc.AutoSave;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the connections of a data source fit for a claim, whatever the data source hands out, and
 * gives them back as they came: autocommit off, no autosave of pgjdbc (it would put claim and
 * deletion into different subtransactions, and hide swallowed errors), a bound on every call, READ
 * COMMITTED and READ WRITE.
 *
 * <p>The last two are learned: only after a transaction has shown itself otherwise, a statement is
 * sent at the start of each. So a usual data source costs no round trip (over pgjdbc-ng one per
 * transaction). Learned is also whether the server has {@link ClientCheck}. One of these per data
 * source; thread-safe.
 */
public final class PoolSettings {

  private static final Logger LOG = LoggerFactory.getLogger(PoolSettings.class);

  /** A column for the select list of the claim, for {@link Taken#mustBeginAgain(String)}. */
  public static final String COLUMN =
      """
      pg_catalog.concat_ws(', ', pg_catalog.current_setting('transaction_isolation'),
        pg_catalog.current_setting('transaction_read_only'))""";

  private static final String AS_NEEDED = "read committed, off";

  // It ends with the transaction, so there is nothing to restore, and it overrides what the server,
  // the role, the driver and the pool have set. It must come before the first query.
  private static final String SET = "SET TRANSACTION";
  private static final String MODES = " ISOLATION LEVEL READ COMMITTED, READ WRITE";

  public static final String BEGIN = "BEGIN";

  /** The same where that is not what a transaction is by itself. */
  public static final String BEGIN_IN_MODES = BEGIN + MODES;

  /** What a READ ONLY transaction says to what changes or locks something. */
  public static final String READ_ONLY_TRANSACTION = "25006";

  private static final String SERIALIZATION_FAILURE = "40001";

  private static final Duration SHORT = Duration.ofSeconds(30);

  private volatile boolean setEachTime;
  private final AtomicBoolean checksClients = new AtomicBoolean(true);
  private final NamedStatements namedStatements = new NamedStatements();

  /** A statement with {@link ClientCheck#COLUMN}, without it where the server has no such check. */
  public String text(String sql) {
    return checksClients.get() ? sql : ClientCheck.without(sql);
  }

  /** Whether what its driver names is its own. */
  public NamedStatements namedStatements() {
    return namedStatements;
  }

  /** As {@link #take(Connection, Duration)}, for short statements: 30 s. */
  public Taken take(Connection connection) throws SQLException {
    return take(connection, SHORT);
  }

  /**
   * Takes a connection on. It must not be in a transaction. Sends nothing.
   *
   * @param longestCall the most that the driver waits for one answer; whoever watches the time
   *     himself gives more than that. At most 24 days
   */
  public Taken take(Connection connection, Duration longestCall) throws SQLException {
    boolean autoCommit = connection.getAutoCommit();
    if (autoCommit) {
      connection.setAutoCommit(false);
    }
    return new Taken(
        connection,
        autoCommit,
        withoutAutosave(connection),
        NetworkTimeout.set(connection, longestCall));
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
    private final NetworkTimeout bound;
    private final boolean pgjdbcNg;
    private boolean set;

    private Taken(
        Connection connection,
        boolean autoCommit,
        @Nullable AutoSave autosave,
        NetworkTimeout bound)
        throws SQLException {
      this.connection = connection;
      this.autoCommit = autoCommit;
      this.autosave = autosave;
      this.bound = bound;
      this.pgjdbcNg = PgjdbcNg.made(connection);
    }

    /** As {@link PoolSettings#text}. */
    public String text(String sql) {
      return PoolSettings.this.text(sql);
    }

    /** Whether its driver can send several commands in one message. */
    public boolean sendsSeveralAtOnce() {
      return !pgjdbcNg;
    }

    /** Begins a transaction: to be called before the first statement of each. */
    public void begin() throws SQLException {
      set = setEachTime;
      if (pgjdbcNg) {
        PgjdbcNg.begin(connection, set ? BEGIN_IN_MODES : BEGIN);
      } else if (set) {
        try (var statement = connection.createStatement()) {
          statement.execute(SET + MODES);
        }
      }
    }

    /** The first statement of a transaction. */
    @FunctionalInterface
    public interface First<R> {
      R send() throws SQLException;
    }

    /**
     * Begins a transaction and sends its first statement; both once more if that has shown the
     * transaction to be otherwise than needed.
     */
    public <R> R begin(First<R> first) throws SQLException {
      begin();
      try {
        return first.send();
      } catch (SQLException e) {
        if (!mustBeginAgain(e)) {
          throw e;
        }
      }
      connection.rollback();
      begin();
      return first.send();
    }

    /**
     * Whether the transaction is READ COMMITTED and READ WRITE.
     *
     * @param column {@link #COLUMN}
     */
    public static boolean isFit(String column) {
      return AS_NEEDED.equals(column);
    }

    /**
     * Fails a transaction that is not READ COMMITTED and READ WRITE, so that {@link
     * #mustBeginAgain(SQLException)}.
     *
     * @param column {@link #COLUMN}
     */
    public static void requireFit(String column) throws SQLException {
      if (!isFit(column)) {
        throw new SQLException(
            "the transaction is not as needed, READ COMMITTED and READ WRITE, but: " + column,
            SERIALIZATION_FAILURE);
      }
    }

    /**
     * Whether the transaction of this claim must be rolled back, begun and claimed again, as it is
     * not READ COMMITTED and READ WRITE. At most once per transaction begun.
     */
    public boolean mustBeginAgain(String column) {
      return learn(!isFit(column));
    }

    /** The same for a claim that has failed; false if the reason is another one. */
    public boolean mustBeginAgain(SQLException claimFailure) {
      if (ClientCheck.isRefusedBy(claimFailure)) {
        learnNoClientCheck();
        return true; // it is left out from now on, so this does not come twice
      }
      String state = claimFailure.getSQLState();
      return learn(READ_ONLY_TRANSACTION.equals(state) || SERIALIZATION_FAILURE.equals(state));
    }

    private void learnNoClientCheck() {
      if (checksClients.getAndSet(false)) {
        LOG.warn(
            "pgonce: the server's platform has no client_connection_check_interval: if a listener is"
                + " killed while a statement of its handler runs, the row stays locked until that"
                + " statement ends. To bound it, set statement_timeout for the role or the pool");
      }
    }

    private boolean learn(boolean unfit) {
      // Unfit although set: a standby, for one. Trying again would not end.
      if (!unfit || set) {
        return false;
      }
      setEachTime = true;
      return true;
    }

    /**
     * Gives the connection back as it came. To be called outside a transaction: autocommit on would
     * commit it.
     */
    public void restore() throws SQLException {
      if (autosave != null) {
        connection.unwrap(PGConnection.class).setAutosave(autosave);
      }
      bound.restore(connection);
      if (autoCommit) {
        connection.setAutoCommit(true);
      }
    }
  }
}
