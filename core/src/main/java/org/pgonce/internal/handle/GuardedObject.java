package org.pgonce.internal.handle;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLClientInfoException;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Wrapper;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The connection of a handler, and its statements and database metadata, which lead back to the
 * connection. Each call holds the turn on the connection, and none gets through after the handler
 * has ended. What else a driver hands out, such as result sets, is the driver's own.
 */
final class GuardedObject implements InvocationHandler {

  private static final Object[] NONE = {};

  /** Subtypes before their supertypes. */
  private static final List<Class<?>> GUARDED =
      List.of(
          CallableStatement.class,
          PreparedStatement.class,
          Statement.class,
          DatabaseMetaData.class);

  private final HandlerRun run;
  private final Wrapper real;

  private GuardedObject(HandlerRun run, Wrapper real) {
    this.run = run;
    this.real = real;
  }

  static Connection connection(HandlerRun run, Connection real) {
    return (Connection) proxy(Connection.class, run, real);
  }

  private static Object proxy(Class<?> type, HandlerRun run, Wrapper real) {
    return Proxy.newProxyInstance(
        GuardedObject.class.getClassLoader(), new Class<?>[] {type}, new GuardedObject(run, real));
  }

  @Override
  public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] given)
      throws Throwable {
    var args = given == null ? NONE : given;
    if (method.getDeclaringClass() == Object.class) {
      return ofObject(proxy, method, args);
    }
    try {
      // It is meant for the call that holds the turn.
      if (method.getName().equals("cancel") && !run.hasEnded()) {
        return forward(method, args);
      }
      if (!run.enter()) {
        return afterEnd(method);
      }
      try {
        return call(proxy, method, args);
      } catch (SQLException e) {
        throw run.noted(e);
      } catch (RuntimeException | Error e) {
        run.broken = true;
        throw e;
      } finally {
        run.leave();
      }
    } catch (SQLException e) {
      throw declared(method, e);
    }
  }

  /** Runs one call, with the turn held. */
  private @Nullable Object call(Object proxy, Method method, Object[] args) throws Throwable {
    return switch (method.getName()) {
      case "unwrap" -> unwrap(proxy, (Class<?>) args[0]);
      case "isWrapperFor" -> ((Class<?>) args[0]).isInstance(proxy);
      case "getConnection" -> run.guarded();
      default ->
          real instanceof Connection
              ? ofConnection(method, args)
              : real instanceof Statement ? ofStatement(method, args) : ofMetaData(method, args);
    };
  }

  /** What is not named here outlives the transaction. */
  private @Nullable Object ofConnection(Method method, Object[] args) throws Throwable {
    var name = method.getName();
    return switch (name) {
      case "createStatement", "getMetaData", "isClosed", "nativeSQL", "getTypeMap" ->
          forward(method, args);
      case "getWarnings", "clearWarnings", "getClientInfo", "getHoldability", "getNetworkTimeout" ->
          forward(method, args);
      case "isValid", "getCatalog", "getSchema", "createArrayOf", "createStruct" ->
          send(method, args);
      case "createBlob", "createClob", "createNClob", "createSQLXML" -> send(method, args);
      case "setSavepoint", "releaseSavepoint" -> send(method, args);
      // pgjdbc-ng parses here, on the server.
      case "prepareStatement", "prepareCall" -> sendSql(method, args);
      case "rollback" -> {
        if (args.length == 0) {
          throw run.refused("rollback()", Refusal.TRANSACTION_END);
        }
        yield send(method, args);
      }
      // Handlers close it by habit, in a try-with-resources.
      case "close", "beginRequest", "endRequest" -> null;
      // As the claim has set them. pgjdbc-ng would ask the server.
      case "getAutoCommit", "isReadOnly" -> false;
      case "getTransactionIsolation" -> Connection.TRANSACTION_READ_COMMITTED;
      case "setAutoCommit", "setReadOnly", "setTransactionIsolation" -> {
        requireUnchanged(name, args[0]);
        yield null;
      }
      case "commit", "abort" -> throw run.refused(name + "()", Refusal.TRANSACTION_END);
      default ->
          throw run.refused(
              name + "()",
              Refusal.outlives("use SET LOCAL, or set it on the statement or the data source"));
    };
  }

  private void requireUnchanged(String setter, Object value) throws SQLException {
    if (value.equals(false) || value.equals(Connection.TRANSACTION_READ_COMMITTED)) {
      return;
    }
    throw run.refused(
        setter + "(" + value + ")",
        setter.equals("setAutoCommit")
            ? Refusal.TRANSACTION_END
            : Refusal.outlives("leave it out; the transaction has begun already"));
  }

  private @Nullable Object ofStatement(Method method, Object[] args) throws Throwable {
    return switch (method.getName()) {
      case "execute", "executeQuery", "executeUpdate", "executeLargeUpdate", "addBatch" ->
          sendSql(method, args);
      case "executeBatch", "executeLargeBatch", "getMetaData", "getParameterMetaData" ->
          send(method, args);
      case "close" -> {
        run.closed(real);
        yield forward(method, args);
      }
      default -> forward(method, args);
    };
  }

  /** Rows come from the server. What else frameworks ask for each time, the drivers know. */
  private @Nullable Object ofMetaData(Method method, Object[] args) throws Throwable {
    var sends = method.getReturnType() == ResultSet.class;
    var result = sends ? send(method, args) : forward(method, args);
    if (result instanceof ResultSet rows) {
      run.opened(rows);
    }
    return result;
  }

  /** The SQL is the first argument, if there is one. */
  private @Nullable Object sendSql(Method method, Object[] args) throws Throwable {
    if (args.length > 0) {
      run.check(HandlerSql.read((String) args[0]));
    }
    return send(method, args);
  }

  /** For what may talk to the server. */
  private @Nullable Object send(Method method, Object[] args) throws Throwable {
    run.arm();
    return forward(method, args);
  }

  private @Nullable Object forward(Method method, Object[] args) throws Throwable {
    try {
      return guarded(method.invoke(real, args));
    } catch (InvocationTargetException e) {
      throw e.getCause() == null ? e : e.getCause();
    }
  }

  private @Nullable Object guarded(@Nullable Object result) {
    if (result instanceof Statement statement) {
      run.opened(statement);
    }
    for (var type : GUARDED) {
      if (type.isInstance(result)) {
        return proxy(type, run, (Wrapper) result);
      }
    }
    return result;
  }

  private Object unwrap(Object proxy, Class<?> type) throws SQLException {
    if (type.isInstance(proxy)) {
      return proxy;
    }
    throw run.refused("unwrap(" + type.getName() + ")", Refusal.UNWRAP);
  }

  private @Nullable Object afterEnd(Method method) throws SQLException {
    return switch (method.getName()) {
      case "close" -> null;
      case "isClosed" -> true;
      default -> throw run.usedAfterEnd();
    };
  }

  private Object ofObject(Object proxy, Method method, Object[] args) {
    return switch (method.getName()) {
      case "equals" -> proxy == args[0];
      case "hashCode" -> System.identityHashCode(proxy);
      default -> "guarded " + real;
    };
  }

  /** A proxy may throw only what its method declares; a few methods declare no SQLException. */
  private static Exception declared(Method method, SQLException error) {
    for (Class<?> type : method.getExceptionTypes()) {
      if (type.isInstance(error)) {
        return error;
      }
      if (type == SQLClientInfoException.class) {
        return new SQLClientInfoException(error.getMessage(), error.getSQLState(), Map.of(), error);
      }
    }
    return new IllegalStateException(error.getMessage(), error);
  }
}
