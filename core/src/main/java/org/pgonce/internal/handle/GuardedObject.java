package org.pgonce.internal.handle;

import static java.sql.Connection.TRANSACTION_READ_COMMITTED;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.io.StringReader;
import java.io.StringWriter;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Array;
import java.sql.Blob;
import java.sql.CallableStatement;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.NClob;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLClientInfoException;
import java.sql.SQLException;
import java.sql.SQLXML;
import java.sql.Statement;
import java.sql.Struct;
import java.sql.Wrapper;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.HandlerSavepoint;
import org.postgresql.PGStatement;

/**
 * A driver's object as a handler sees it. {@link CallRule} says what becomes of a call. Each call
 * takes the turn on the connection, none gets through after the handler has ended, and a result
 * that can still reach the connection is guarded in its turn. A stream is read whole.
 */
final class GuardedObject implements InvocationHandler {

  private static final Object[] NONE = {};

  /** Subtypes before their supertypes. */
  private static final List<Class<?>> GUARDED =
      List.of(
          CallableStatement.class,
          PreparedStatement.class,
          Statement.class,
          ResultSet.class,
          DatabaseMetaData.class,
          ResultSetMetaData.class,
          ParameterMetaData.class,
          Array.class,
          NClob.class,
          Clob.class,
          Blob.class,
          SQLXML.class,
          Struct.class);

  /** What a driver offers beyond JDBC, and a handler may have. */
  private static final Set<Class<?>> OFFERED = Set.of(PGStatement.class);

  /** What the claim has made sure of. */
  private static final Map<String, Object> KNOWN =
      Map.of(
          "getAutoCommit", false,
          "setAutoCommit", false,
          "isReadOnly", false,
          "setReadOnly", false,
          "getTransactionIsolation", TRANSACTION_READ_COMMITTED,
          "setTransactionIsolation", TRANSACTION_READ_COMMITTED);

  private final HandlerScope scope;
  private final Object real;
  // The proxy whose call has returned it; null for the connection itself.
  private final @Nullable Object source;

  private GuardedObject(HandlerScope scope, Object real, @Nullable Object source) {
    this.scope = scope;
    this.real = real;
    this.source = source;
  }

  static Connection connection(HandlerScope scope, Connection real) {
    return proxy(Connection.class, new GuardedObject(scope, real, null));
  }

  private static <T> T proxy(Class<T> type, InvocationHandler guard) {
    return type.cast(
        Proxy.newProxyInstance(GuardedObject.class.getClassLoader(), new Class<?>[] {type}, guard));
  }

  @Override
  public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] given)
      throws Throwable {
    var args = given == null ? NONE : given;
    if (method.getDeclaringClass() == Object.class) {
      return ofObject(proxy, method, args);
    }
    var rule = CallRule.of(method);
    try {
      if (rule == CallRule.OUT_OF_TURN && !scope.hasEnded()) {
        return forward(method, args);
      }
      if (!scope.enter()) {
        return afterEnd(method);
      }
      try {
        return call(rule, proxy, method, args);
      } catch (SQLException e) {
        throw scope.noted(e);
      } finally {
        scope.leave();
      }
    } catch (SQLException e) {
      throw declared(method, e);
    }
  }

  /** Runs one call, with the turn held. */
  private @Nullable Object call(CallRule rule, Object proxy, Method method, Object[] args)
      throws Throwable {
    var name = method.getName();
    return switch (rule) {
      case PASS, OUT_OF_TURN -> passed(proxy, method, args);
      case SEND -> {
        scope.arm();
        yield passed(proxy, method, args);
      }
      case SQL -> {
        var sql = args.length > 0 && args[0] instanceof String text ? text : "";
        scope.arm(HandlerSql.read(sql));
        yield passed(proxy, method, args);
      }
      case SAVEPOINT -> {
        if (args.length == 0 && name.equals("rollback")) {
          throw scope.refused(Refusal.ofTransactionEnd("rollback()"));
        }
        if (args.length > 0 && args[0] instanceof String own && HandlerSavepoint.isName(own)) {
          throw scope.refused(Refusal.ofOwnSavepoint(name + "()"));
        }
        scope.arm();
        yield forward(method, args);
      }
      case NOTHING -> null;
      case KNOWN -> {
        var now = KNOWN.get(name);
        if (args.length > 0 && !args[0].equals(now)) {
          throw scope.refused(refusedSetting(name, name + "(" + args[0] + ")"));
        }
        yield args.length > 0 ? null : now;
      }
      case CONNECTION -> scope.guarded;
      case STATEMENT -> source instanceof Statement ? source : passed(proxy, method, args);
      case UNWRAP -> unwrap(proxy, (Class<?>) args[0]);
      case IS_WRAPPER -> ((Class<?>) args[0]).isInstance(proxy) || isOffered((Class<?>) args[0]);
      case ENDS_TRANSACTION -> throw scope.refused(Refusal.ofTransactionEnd(name + "()"));
      case OUTLIVES_TRANSACTION ->
          throw scope.refused(
              Refusal.ofSessionChange(
                  name + "()",
                  "use SET LOCAL, or set it on the statement or the data source; large objects by"
                      + " lo_get and lo_put"));
    };
  }

  private static Refusal refusedSetting(String name, String call) {
    return name.equals("setAutoCommit")
        ? Refusal.ofTransactionEnd(call)
        : Refusal.ofSessionChange(call, "leave it out; the transaction has begun already");
  }

  private @Nullable Object passed(Object proxy, Method method, Object[] args) throws Throwable {
    return guarded(forward(method, args), proxy);
  }

  private @Nullable Object forward(Method method, Object[] args) throws Throwable {
    for (var i = 0; i < args.length; i++) {
      // setArray, updateBlob …: a driver may not know the proxy of its own class.
      if (args[i] instanceof Proxy
          && Proxy.getInvocationHandler(args[i]) instanceof GuardedObject guarded) {
        args[i] = guarded.real;
      }
    }
    try {
      return method.invoke(real, args);
    } catch (InvocationTargetException e) {
      throw e.getCause() == null ? e : e.getCause();
    }
  }

  private @Nullable Object guarded(@Nullable Object result, Object proxy) throws SQLException {
    if (result == null || result instanceof String || result instanceof Number) {
      return result;
    }
    if (result instanceof InputStream || result instanceof Reader) {
      return whole(result);
    }
    for (var type : GUARDED) {
      if (type.isInstance(result)) {
        return proxy(type, new GuardedObject(scope, result, proxy));
      }
    }
    return result;
  }

  /** Reads a stream to its end: that of a large object talks to the server. */
  private static Object whole(Object stream) throws SQLException {
    try {
      if (stream instanceof InputStream bytes) {
        return new ByteArrayInputStream(bytes.readAllBytes());
      }
      var text = new StringWriter();
      ((Reader) stream).transferTo(text);
      return new StringReader(text.toString());
    } catch (IOException e) {
      throw e.getCause() instanceof SQLException cause ? cause : new SQLException(e);
    }
  }

  /** What the proxy itself is, it unwraps to; what gives the raw connection away, it refuses. */
  private Object unwrap(Object proxy, Class<?> type) throws SQLException {
    if (type.isInstance(proxy)) {
      return proxy;
    }
    if (isOffered(type)) {
      return proxy(type, new GuardedObject(scope, ((Wrapper) real).unwrap(type), source));
    }
    throw scope.refused(
        new Refusal(
            "unwrap(" + type.getName() + ")",
            "it would hand out the connection without its guard",
            "use the JDBC interfaces; " + Refusal.IN_PLACE_OF_COPY,
            false));
  }

  private boolean isOffered(Class<?> type) throws SQLException {
    return OFFERED.contains(type) && ((Wrapper) real).isWrapperFor(type);
  }

  private @Nullable Object afterEnd(Method method) throws SQLException {
    return switch (method.getName()) {
      case "close", "free" -> null;
      case "isClosed" -> true;
      default -> throw scope.usedAfterEnd();
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
