package org.pgonce.spring.internal;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.Tx;
import org.springframework.jdbc.datasource.AbstractDataSource;

/**
 * A handler's connection for JPA, which begins and ends a transaction on it: that does nothing
 * here, as pgonce does it. The connection is asked for by the first statement.
 */
final class HandlerConnection implements InvocationHandler {

  private final Tx tx;
  private boolean used;

  HandlerConnection(Tx tx) {
    this.tx = tx;
  }

  /** Whether a statement has been made. */
  boolean isUsed() {
    return used;
  }

  Connection proxy() {
    return (Connection)
        Proxy.newProxyInstance(
            Connection.class.getClassLoader(), new Class<?>[] {Connection.class}, this);
  }

  /** One that has this connection alone. */
  DataSource dataSource() {
    return new AbstractDataSource() {
      @Override
      public Connection getConnection() {
        return proxy();
      }

      @Override
      public Connection getConnection(String user, String password) {
        return proxy();
      }
    };
  }

  @Override
  public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments)
      throws Throwable {
    return switch (method.getName()) {
      case "getAutoCommit", "isClosed" -> false;
      case "commit", "close", "setAutoCommit", "getWarnings", "clearWarnings" -> null;
      case "rollback" -> arguments == null ? null : call(method, arguments); // to a savepoint
      case "hashCode" -> System.identityHashCode(proxy);
      case "equals" -> arguments != null && proxy == arguments[0];
      case "toString" -> "the connection of a pgonce handler";
      default -> call(method, arguments);
    };
  }

  private @Nullable Object call(Method method, Object @Nullable [] arguments) throws Throwable {
    used = true;
    try {
      return method.invoke(tx.connection(), arguments);
    } catch (InvocationTargetException e) {
      throw e.getTargetException();
    }
  }
}
