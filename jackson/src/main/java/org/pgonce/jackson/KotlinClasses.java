package org.pgonce.jackson;

import com.fasterxml.jackson.annotation.JsonCreator;
import java.lang.reflect.Executable;
import java.util.Arrays;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What Kotlin's compiler leaves in its classes, read without a library of Kotlin. */
final class KotlinClasses {

  // Behind the number the compiler tells apart what is internal, or of an inline class.
  private static final Pattern COMPONENT = Pattern.compile("component[1-9][0-9]*([$-].*)?");

  private KotlinClasses() {}

  static boolean isKotlin(Class<?> type) {
    return Arrays.stream(type.getDeclaredAnnotations())
        .anyMatch(one -> one.annotationType().getName().equals("kotlin.Metadata"));
  }

  /**
   * How many values the constructor of a data class takes. 0 of any other class, and of one that
   * says by {@link JsonCreator} what Jackson is to call.
   */
  static int components(Class<?> type) {
    return isKotlin(type) && creators(type).findAny().isEmpty()
        ? (int) Arrays.stream(type.getDeclaredMethods()).filter(KotlinClasses::isComponent).count()
        : 0;
  }

  private static boolean isComponent(Executable one) {
    return one.getParameterCount() == 0 && COMPONENT.matcher(one.getName()).matches();
  }

  private static Stream<Executable> creators(Class<?> type) {
    return Stream.<Executable>concat(
            Arrays.stream(type.getDeclaredConstructors()), Arrays.stream(type.getDeclaredMethods()))
        .filter(one -> one.isAnnotationPresent(JsonCreator.class));
  }
}
