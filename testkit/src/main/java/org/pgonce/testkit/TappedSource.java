package org.pgonce.testkit;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;

/**
 * A data source that shows, and lets a test alter, what pgonce asks of the driver. No switch for
 * that is in pgonce itself.
 */
public final class TappedSource {

  /** Sees each statement on its way, and the end. */
  @FunctionalInterface
  public interface Tap {
    /**
     * A statement is about to be prepared (pgonce does that anew for each run) or run.
     *
     * @param sql its text; {@code COMMIT} and {@code ROLLBACK} where the driver is asked by method
     * @return the text that takes its place
     */
    String passes(String sql, Connection real) throws SQLException;

    /** The connection is about to be closed, by this thread. */
    default void closes(Connection real) {}
  }

  private TappedSource() {}

  public static DataSource over(DataSource inner, Tap tap) {
    return proxy(
        DataSource.class,
        (proxy, method, arguments) -> {
          var result = invoke(inner, method, arguments);
          return result instanceof Connection connection
              ? proxy(Connection.class, new Tapped(connection, connection, tap))
              : result;
        });
  }

  /** A connection, or a plain statement of it. */
  private record Tapped(Object target, Connection real, Tap tap) implements InvocationHandler {

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
      var name = method.getName();
      if (name.equals("commit") || (name.equals("rollback") && arguments == null)) {
        tap.passes(name.equals("commit") ? "COMMIT" : "ROLLBACK", real);
      }
      if (name.equals("close") && target == real) {
        tap.closes(real);
      }
      var takesSql = name.startsWith("prepare") || name.startsWith("execute");
      if (takesSql && arguments != null && arguments[0] instanceof String sql) {
        arguments[0] = tap.passes(sql, real);
      }
      var result = TappedSource.invoke(target, method, arguments);
      return method.getReturnType() == Statement.class
          ? proxy(Statement.class, new Tapped(result, real, tap))
          : result;
    }
  }

  private static Object invoke(Object on, Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(on, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }
}
