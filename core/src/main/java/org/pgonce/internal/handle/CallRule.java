package org.pgonce.internal.handle;

import java.lang.reflect.Method;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.sql.Wrapper;
import java.util.HashMap;
import java.util.Map;
import org.pgonce.internal.jdbc.PgjdbcNg;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyOperation;

/**
 * What becomes of a handler's call on an object of the driver: of its connection and of all that
 * can still reach it. What the table does not name on a connection is refused; what it does not
 * name elsewhere is passed on.
 */
enum CallRule {
  /** Passed on as it is. */
  PASS,
  /** Passed on out of turn: it is meant for the call that has the turn. */
  OUT_OF_TURN,
  /** Passed on unless a COPY is open: it may fetch more rows. */
  FETCH,
  /** Talks to the server: passed on when the handler's savepoint is set. */
  SEND,
  /** The same; a first argument that is a String is SQL, and read before. */
  SQL,
  /**
   * The same, with a savepoint that must not be pgonce's own; rollback() without one is refused.
   */
  SAVEPOINT,
  /** Cancels a COPY. */
  CANCEL_COPY,
  /** Does nothing. */
  NOTHING,
  /** Says what the claim has made sure of; to set another value is refused. */
  KNOWN,
  /** Gives the guarded connection. */
  CONNECTION,
  /** Gives the statement that a result set came from. */
  STATEMENT,
  COPY_API,
  UNWRAP,
  IS_WRAPPER,
  /** Refused, and the handler has failed. */
  ENDS_TRANSACTION,
  /** Refused. */
  OUTLIVES_TRANSACTION;

  private static final class Table {

    private final CallRule otherwise;
    private final Map<String, CallRule> rules = new HashMap<>();

    Table(CallRule otherwise) {
      this.otherwise = otherwise;
    }

    Table with(CallRule rule, String... methods) {
      for (var method : methods) {
        rules.put(method, rule);
      }
      return this;
    }
  }

  private static final Table CONNECTION_TABLE =
      new Table(OUTLIVES_TRANSACTION)
          .with(PASS, "createStatement", "getMetaData", "isClosed", "nativeSQL", "getWarnings")
          .with(PASS, "clearWarnings", "getTypeMap", "getClientInfo", "getHoldability")
          .with(PASS, "getNetworkTimeout")
          .with(SEND, "isValid", "getCatalog", "getSchema", "createArrayOf", "createStruct")
          .with(SEND, "createBlob", "createClob", "createNClob", "createSQLXML")
          // pgjdbc-ng parses here, on the server.
          .with(SQL, "prepareStatement", "prepareCall")
          .with(SAVEPOINT, "setSavepoint", "releaseSavepoint", "rollback")
          // close() is a habit of try-with-resources; pgonce closes, the handler is not to know
          // when.
          .with(NOTHING, "close", "beginRequest", "endRequest")
          // pgjdbc-ng would ask the server.
          .with(KNOWN, "getAutoCommit", "isReadOnly", "getTransactionIsolation")
          .with(KNOWN, "setAutoCommit", "setReadOnly", "setTransactionIsolation")
          .with(ENDS_TRANSACTION, "commit", "abort");

  /** What the drivers offer beyond JDBC: COPY above all. */
  private static final Table VENDOR_TABLE =
      new Table(OUTLIVES_TRANSACTION)
          .with(PASS, "escapeIdentifier", "escapeLiteral", "getBackendPID", "getPreferQueryMode")
          .with(PASS, "getAutosave", "getAdaptiveFetch", "getDefaultFetchSize", "getQueryTimeout")
          .with(PASS, "getPrepareThreshold", "getParameterStatus", "getParameterStatuses")
          .with(PASS, "isStrictMode", "isServerMinimumVersion")
          .with(SEND, "createArrayOf", "resolveType")
          .with(SQL, "copyFrom", "copyTo")
          .with(COPY_API, "getCopyAPI");

  private static final Table STATEMENT_TABLE =
      new Table(PASS)
          .with(SQL, "execute", "executeQuery", "executeUpdate", "executeLargeUpdate", "addBatch")
          .with(SEND, "executeBatch", "executeLargeBatch", "getMetaData", "getParameterMetaData")
          .with(CONNECTION, "getConnection")
          // With no call under way the driver does nothing.
          .with(OUT_OF_TURN, "cancel");

  private static final Table META_DATA_TABLE =
      new Table(SEND)
          .with(CONNECTION, "getConnection")
          // Frameworks ask for these each time, and the drivers know them.
          .with(PASS, "getDatabaseProductName", "getDatabaseProductVersion", "getDriverName")
          .with(PASS, "getDatabaseMajorVersion", "getDatabaseMinorVersion", "getDriverVersion")
          .with(PASS, "getURL", "supportsSavepoints", "supportsBatchUpdates")
          .with(PASS, "supportsGetGeneratedKeys");

  private static final Map<Class<?>, Table> TABLES =
      Map.of(
          Connection.class, CONNECTION_TABLE,
          PGConnection.class, VENDOR_TABLE,
          PgjdbcNg.CONNECTION, VENDOR_TABLE,
          Statement.class, STATEMENT_TABLE,
          PreparedStatement.class, STATEMENT_TABLE,
          CallableStatement.class, STATEMENT_TABLE,
          DatabaseMetaData.class, META_DATA_TABLE,
          ResultSet.class, new Table(FETCH).with(STATEMENT, "getStatement"),
          CopyOperation.class, new Table(PASS).with(CANCEL_COPY, "cancelCopy"),
          Wrapper.class, new Table(PASS).with(UNWRAP, "unwrap").with(IS_WRAPPER, "isWrapperFor"));

  static CallRule of(Method method) {
    var table = TABLES.get(method.getDeclaringClass());
    return table == null ? PASS : table.rules.getOrDefault(method.getName(), table.otherwise);
  }
}
