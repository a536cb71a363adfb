package org.pgonce.spring.internal;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import org.pgonce.Handler;
import org.pgonce.Notification;
import org.pgonce.Tx;
import org.springframework.util.ReflectionUtils;

/**
 * A bean's method as a handler.
 *
 * @param method checked by {@link ListenerFit}, to be called on the bean, which may be a proxy
 */
record ListenerMethod(Object bean, Method method, ListenerArguments arguments) {

  ListenerMethod {
    ReflectionUtils.makeAccessible(method);
  }

  <T> Handler<T> handler() {
    return arguments.ofBatch()
        ? Handler.batch((notifications, tx) -> call(notifications.get(0), notifications, tx))
        : (notification, tx) -> call(notification, List.of(), tx);
  }

  private <T> void call(Notification<T> first, List<Notification<T>> all, Tx tx) throws Exception {
    try {
      method.invoke(bean, arguments.of(first, all, tx));
    } catch (InvocationTargetException e) {
      throwAsItIs(e.getTargetException());
    }
  }

  private static void throwAsItIs(Throwable thrown) throws Exception {
    if (thrown instanceof Error error) {
      throw error;
    }
    throw (Exception) thrown;
  }
}
