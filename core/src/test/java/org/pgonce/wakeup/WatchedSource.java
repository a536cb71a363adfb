package org.pgonce.wakeup;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;

/**
 * Remembers of each connection that a handler has marked whether it was closed already when it was
 * given back, as it must be for a pool to see that nobody else may have it.
 */
public final class WatchedSource {

  private final List<String> givenBack = new CopyOnWriteArrayList<>();
  private final Map<Thread, Watch> taken = new ConcurrentHashMap<>();
  private final DataSource inner;

  /**
   * @param inner without a pool: what a pool hands out does not say whether its session is open
   */
  public WatchedSource(DataSource inner) {
    this.inner = inner;
  }

  public DataSource dataSource() {
    return proxy(
        DataSource.class,
        (proxy, method, arguments) -> {
          var result = invoke(inner, method, arguments);
          if (!(result instanceof Connection connection)) {
            return result;
          }
          var watch = new Watch(connection);
          taken.put(Thread.currentThread(), watch);
          return proxy(Connection.class, watch);
        });
  }

  /** Marks the connection that this thread took last. */
  public void mark() {
    taken.get(Thread.currentThread()).marked = true;
  }

  /** {@code open} or {@code closed}, once per marked connection. */
  public List<String> givenBack() {
    return givenBack;
  }

  private final class Watch implements InvocationHandler {

    private final Connection real;
    private volatile boolean marked;

    Watch(Connection real) {
      this.real = real;
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
      if (marked && method.getName().equals("close")) {
        givenBack.add(real.isClosed() ? "closed" : "open");
        marked = false;
      }
      return WatchedSource.invoke(real, method, arguments);
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
