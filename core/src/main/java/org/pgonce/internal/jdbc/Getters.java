package org.pgonce.internal.jdbc;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/** Reads another library's object by its getters, without a dependency on that library. */
public record Getters(Object bean) {

  /**
   * Calls a getter.
   *
   * @throws IllegalStateException if there is none, or it fails
   */
  public @Nullable Object get(String getter) {
    for (Class<?> type = bean.getClass(); type != null; type = type.getSuperclass()) {
      List<Class<?>> declaring = new ArrayList<>(List.of(type.getInterfaces()));
      declaring.add(0, type);
      for (var each : declaring) {
        var method = accessible(each, getter);
        if (method != null) {
          return call(method);
        }
      }
    }
    throw new IllegalStateException("it has no " + getter + "() that can be called");
  }

  private static @Nullable Method accessible(Class<?> type, String getter) {
    try {
      var method = type.getDeclaredMethod(getter);
      return method.trySetAccessible() ? method : null;
    } catch (NoSuchMethodException e) {
      return null; // declared further up
    }
  }

  private @Nullable Object call(Method method) {
    try {
      return method.invoke(bean);
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException(method.getName() + "() failed", e);
    }
  }

  /** The getters of what a getter returns, which is not null. */
  public Getters of(String getter) {
    var value = get(getter);
    if (value == null) {
      throw new IllegalStateException("its " + getter + "() is null");
    }
    return new Getters(value);
  }

  /** Null also where it is blank. */
  public @Nullable String text(String getter) {
    return get(getter) instanceof String text && !text.isBlank() ? text : null;
  }

  /** A copy with user and password, as a driver expects them beside a URL. */
  public Properties properties(
      @Nullable String getter, @Nullable String user, @Nullable String password) {
    var copy = new Properties();
    if (getter != null && get(getter) instanceof Properties properties) {
      properties
          .stringPropertyNames()
          .forEach(name -> copy.setProperty(name, properties.getProperty(name)));
    }
    if (user != null) {
      copy.setProperty("user", user);
    }
    if (password != null) {
      copy.setProperty("password", password);
    }
    return copy;
  }
}
