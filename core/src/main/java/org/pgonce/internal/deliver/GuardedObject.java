package org.pgonce.internal.deliver;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.SQLClientInfoException;
import java.sql.SQLException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A driver's object as a handler sees it: each call has the turn on the connection, none gets
 * through after the handler has ended, and what a call returns is guarded in its turn.
 */
abstract class GuardedObject implements InvocationHandler {

  private static final Object[] NONE = {};

  final HandlerScope scope;
  final Guards guards;
  final Object real;

  GuardedObject(Guards guards, Object real) {
    this.guards = guards;
    this.scope = guards.scope();
    this.real = real;
  }

  /** Runs one call, with the turn held. */
  abstract @Nullable Object call(Object proxy, Method method, Object[] args) throws Throwable;

  /** Whether a call must not wait for its turn, since it is meant for the call that has it. */
  boolean isOutOfTurn(Method method) {
    return false;
  }

  @Override
  public final @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] given)
      throws Throwable {
    Object[] args = given == null ? NONE : given;
    if (method.getDeclaringClass() == Object.class) {
      return ofObject(proxy, method, args);
    }
    try {
      if (isOutOfTurn(method) && !scope.hasEnded()) {
        return forward(method, args);
      }
      if (!scope.enter()) {
        return afterEnd(method);
      }
      try {
        return call(proxy, method, args);
      } catch (SQLException e) {
        throw scope.noted(e);
      } finally {
        scope.leave();
      }
    } catch (SQLException e) {
      throw declared(method, e);
    }
  }

  final @Nullable Object forward(Method method, Object[] args) throws Throwable {
    try {
      return method.invoke(real, args);
    } catch (InvocationTargetException e) {
      throw e.getCause() == null ? e : e.getCause();
    }
  }

  /** What the proxy itself is, it unwraps to; what gives the raw connection away, it refuses. */
  final Object unwrap(Object proxy, Class<?> type) throws SQLException {
    if (type.isInstance(proxy)) {
      return proxy;
    }
    throw scope.refused(
        new Refusal(
            "unwrap(" + type.getName() + ")",
            "it would hand out the connection without its guard",
            "use the JDBC interfaces, or on the connection org.postgresql.PGConnection for COPY",
            false));
  }

  /** The driver's object behind a guarded one: a driver may not know the proxy of its own class. */
  static @Nullable Object bare(@Nullable Object argument) {
    return argument instanceof Proxy
            && Proxy.getInvocationHandler(argument) instanceof GuardedObject guarded
        ? guarded.real
        : argument;
  }

  private @Nullable Object afterEnd(Method method) throws SQLException {
    return switch (method.getName()) {
      case "close", "free" -> null;
      case "isClosed" -> true;
      case "isActive" -> false;
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
