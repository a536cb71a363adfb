package org.pgonce.internal.context;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.Observer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs the exceptions of an observer instead of throwing them. */
public final class SafeObserver {

  private static final Logger LOG = LoggerFactory.getLogger(SafeObserver.class);

  private SafeObserver() {}

  public static Observer over(Observer observer) {
    return (Observer)
        Proxy.newProxyInstance(
            SafeObserver.class.getClassLoader(),
            new Class<?>[] {Observer.class},
            (proxy, method, arguments) -> call(observer, method, arguments));
  }

  private static @Nullable Object call(
      Observer observer, Method method, @Nullable Object @Nullable [] arguments)
      throws IllegalAccessException {
    try {
      return method.invoke(observer, arguments);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof Error error) {
        throw error;
      }
      LOG.warn(
          "pgonce: the observer threw; it is to be mended, nothing else is affected", e.getCause());
      return null;
    }
  }
}
