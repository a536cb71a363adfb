package org.pgonce.internal.jdbc;

import java.lang.reflect.Method;
import java.util.Properties;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads another library's object by its getters, without a dependency on that library. */
public record Getters(Object bean) {

  /**
   * Calls a getter.
   *
   * @throws IllegalStateException if there is none, or it fails
   */
  public @Nullable Object get(String getter) {
    var method =
        Stream.<Class<?>>iterate(bean.getClass(), type -> type != null, Class::getSuperclass)
            .flatMap(type -> Stream.concat(Stream.of(type), Stream.of(type.getInterfaces())))
            .flatMap(type -> Stream.of(type.getDeclaredMethods()))
            .filter(declared -> isGetter(declared, getter) && declared.trySetAccessible())
            .findFirst()
            .orElseThrow(
                () -> new IllegalStateException("it has no " + getter + "() that can be called"));
    try {
      return method.invoke(bean);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(getter + "() failed", e);
    }
  }

  private static boolean isGetter(Method method, String name) {
    return method.getParameterCount() == 0 && method.getName().equals(name);
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
