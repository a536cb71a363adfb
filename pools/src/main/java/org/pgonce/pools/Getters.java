package org.pgonce.pools;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads another library's object by its getters, without a dependency on that library. */
record Getters(Object bean) {

  /**
   * What the first of the getters returns that the object has and that does not return null; else
   * null.
   *
   * @throws IllegalStateException if one fails
   */
  @Nullable Object first(String... getters) {
    return Arrays.stream(getters)
        .flatMap(this::method)
        .map(this::call)
        .filter(Objects::nonNull)
        .findFirst()
        .orElse(null);
  }

  /** As {@link #first}; null also if it is no text, or blank. */
  @Nullable String text(String... getters) {
    return first(getters) instanceof String text && !text.isBlank() ? text : null;
  }

  private Stream<Method> method(String name) {
    return Stream.<Class<?>>iterate(bean.getClass(), Objects::nonNull, Class::getSuperclass)
        .flatMap(type -> Stream.concat(Stream.of(type), Arrays.stream(type.getInterfaces())))
        .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
        .filter(method -> method.getName().equals(name) && method.getParameterCount() == 0)
        .filter(Method::trySetAccessible)
        .limit(1);
  }

  private @Nullable Object call(Method getter) {
    try {
      return getter.invoke(bean);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(getter.getName() + "() failed", e);
    }
  }
}
