package org.pgonce.internal.handle;

import java.lang.reflect.Method;
import java.sql.Blob;
import java.sql.CallableStatement;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.sql.Wrapper;
import java.util.HashMap;
import java.util.Map;

/**
 * What becomes of a handler's call on its connection, and on all objects of the driver that can
 * reach it. Methods of a connection that the tables do not name are refused; methods of other
 * objects are passed on.
 */
enum CallRule {
  /** Passed on. */
  PASS,
  /** Passed on without the turn: it is meant for the call that has the turn. */
  OUT_OF_TURN,
  /** Talks to the server: passed on once the handler's savepoint is set. */
  SEND,
  /** As SEND; the first argument, if a String, is SQL that is read before. */
  SQL,
  /** As SEND; the savepoint must not be pgonce's own, and rollback() needs one. */
  SAVEPOINT,
  /** Does nothing. */
  NOTHING,
  /** Says what the claim has made sure of; another value is refused. */
  KNOWN,
  /** Gives the guarded connection. */
  CONNECTION,
  /** Gives the statement that a result set came from. */
  STATEMENT,
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
          // Handlers close it by habit, in a try-with-resources.
          .with(NOTHING, "close", "beginRequest", "endRequest")
          // pgjdbc-ng would ask the server.
          .with(KNOWN, "getAutoCommit", "isReadOnly", "getTransactionIsolation")
          .with(KNOWN, "setAutoCommit", "setReadOnly", "setTransactionIsolation")
          .with(ENDS_TRANSACTION, "commit", "abort");

  private static final Table STATEMENT_TABLE =
      new Table(PASS)
          .with(SQL, "execute", "executeQuery", "executeUpdate", "executeLargeUpdate", "addBatch")
          .with(SEND, "executeBatch", "executeLargeBatch", "getMetaData", "getParameterMetaData")
          .with(CONNECTION, "getConnection")
          .with(OUT_OF_TURN, "cancel");

  private static final Table META_DATA_TABLE =
      new Table(SEND)
          .with(CONNECTION, "getConnection")
          // Frameworks ask for these each time, and the drivers know them.
          .with(PASS, "getDatabaseProductName", "getDatabaseProductVersion", "getDriverName")
          .with(PASS, "getDatabaseMajorVersion", "getDatabaseMinorVersion", "getDriverVersion")
          .with(PASS, "getURL", "supportsSavepoints", "supportsBatchUpdates")
          .with(PASS, "supportsGetGeneratedKeys");

  /** A stream that writes a large object would have to be guarded as well. */
  private static final Table LARGE_OBJECT_TABLE =
      new Table(PASS)
          .with(OUTLIVES_TRANSACTION, "setBinaryStream", "setAsciiStream", "setCharacterStream");

  private static final Map<Class<?>, Table> TABLES =
      Map.ofEntries(
          Map.entry(Connection.class, CONNECTION_TABLE),
          Map.entry(Statement.class, STATEMENT_TABLE),
          Map.entry(PreparedStatement.class, STATEMENT_TABLE),
          Map.entry(CallableStatement.class, STATEMENT_TABLE),
          Map.entry(DatabaseMetaData.class, META_DATA_TABLE),
          Map.entry(ResultSet.class, new Table(PASS).with(STATEMENT, "getStatement")),
          Map.entry(Blob.class, LARGE_OBJECT_TABLE),
          Map.entry(Clob.class, LARGE_OBJECT_TABLE),
          Map.entry(
              Wrapper.class,
              new Table(PASS).with(UNWRAP, "unwrap").with(IS_WRAPPER, "isWrapperFor")));

  static CallRule of(Method method) {
    var table = TABLES.get(method.getDeclaringClass());
    return table == null ? PASS : table.rules.getOrDefault(method.getName(), table.otherwise);
  }
}
