package org.pgonce.internal.deliver;

import static java.sql.Connection.TRANSACTION_READ_COMMITTED;

import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The connection that a handler is given. It passes on what works inside the transaction, refuses
 * what ends it or would outlive it, and everything that it does not know.
 */
final class ConnectionGuard extends GuardedObject {

  private final Connection connection;

  ConnectionGuard(Guards guards, Connection connection) {
    super(guards, connection);
    this.connection = connection;
  }

  @Override
  @Nullable Object call(Object proxy, Method method, Object[] args) throws Throwable {
    return switch (method.getName()) {
      case "createStatement" -> statement(method, args);
      case "prepareStatement", "prepareCall" -> {
        // pgjdbc-ng parses here, on the server.
        scope.arm((String) args[0]);
        yield statement(method, args);
      }
      case "getMetaData" ->
          guards.metaData((DatabaseMetaData) Objects.requireNonNull(forward(method, args)));
      case "isClosed",
          "nativeSQL",
          "getWarnings",
          "clearWarnings",
          "getTypeMap",
          "getClientInfo",
          "getHoldability",
          "getNetworkTimeout" ->
          forward(method, args);
      case "isValid",
          "getCatalog",
          "getSchema",
          "createArrayOf",
          "createStruct",
          "createBlob",
          "createClob",
          "createNClob",
          "createSQLXML" -> {
        scope.arm();
        yield guards.result(forward(method, args), null);
      }
      case "setSavepoint", "releaseSavepoint", "rollback" -> savepoint(method, args);
      // A habit of try-with-resources; pgonce closes, the handler is not to know when.
      case "close", "beginRequest", "endRequest" -> null;
      // What the claim has made sure of; pgjdbc-ng would ask the server.
      case "getAutoCommit", "isReadOnly" -> false;
      case "getTransactionIsolation" -> TRANSACTION_READ_COMMITTED;
      case "setAutoCommit", "setReadOnly", "setTransactionIsolation", "setHoldability" ->
          setting(method, args[0]);
      case "unwrap" -> unwrapped(proxy, (Class<?>) args[0]);
      case "isWrapperFor" ->
          ((Class<?>) args[0]).isInstance(proxy) || VendorConnection.isOffered(connection, args[0]);
      case "commit", "abort" -> throw scope.refused(Refusal.ofTransactionEnd(name(method)));
      default ->
          throw scope.refused(
              Refusal.ofSessionChange(
                  name(method), "use SET LOCAL, or set it on the statement or the data source"));
    };
  }

  private Statement statement(Method method, Object[] args) throws Throwable {
    return guards.statement((Statement) Objects.requireNonNull(forward(method, args)));
  }

  private @Nullable Object savepoint(Method method, Object[] args) throws Throwable {
    if (args.length == 0 && method.getName().equals("rollback")) {
      throw scope.refused(Refusal.ofTransactionEnd("rollback()"));
    }
    if (args.length == 1
        && (args[0] instanceof String name
            ? HandlerScope.isOwnSavepoint(name)
            : args[0] instanceof Savepoint savepoint && isOwn(savepoint))) {
      throw scope.refused(Refusal.ofOwnSavepoint(name(method)));
    }
    scope.arm();
    return forward(method, args);
  }

  private static boolean isOwn(Savepoint savepoint) {
    try {
      return HandlerScope.isOwnSavepoint(savepoint.getSavepointName());
    } catch (SQLException e) {
      return false; // an unnamed savepoint says so by this exception
    }
  }

  private @Nullable Object setting(Method method, Object value) throws SQLException {
    Object now =
        switch (method.getName()) {
          case "setTransactionIsolation" -> TRANSACTION_READ_COMMITTED;
          case "setHoldability" -> connection.getHoldability();
          default -> false;
        };
    if (value.equals(now)) {
      return null;
    }
    String what = method.getName() + "(" + value + ")";
    throw scope.refused(
        method.getName().equals("setAutoCommit")
            ? Refusal.ofTransactionEnd(what)
            : Refusal.ofSessionChange(what, "leave it out; the transaction has begun already"));
  }

  private Object unwrapped(Object proxy, Class<?> type) throws SQLException {
    return type.isInstance(proxy) || !VendorConnection.isOffered(connection, type)
        ? unwrap(proxy, type)
        : VendorConnection.guard(guards, type, connection.unwrap(type), this);
  }

  private static String name(Method method) {
    return method.getName() + "()";
  }
}
