package org.pgonce.jackson;

import java.lang.reflect.Modifier;
import java.util.Arrays;

/** What to do about a type that Jackson has no way to make. */
final class DecodableTypes {

  private DecodableTypes() {}

  static String advice(Class<?> type) {
    if (isKotlin(type)) {
      return "it is a class of Kotlin, whose constructor Jackson finds with the module jackson-module-kotlin: put it on the class path, in the version of Jackson";
    }
    if (type.isInterface() || Modifier.isAbstract(type.getModifiers())) {
      return "it is %s: say which class to make of it (@JsonTypeInfo, @JsonDeserialize(as = …)), or take a record"
          .formatted(type.isInterface() ? "an interface" : "an abstract class");
    }
    return "it has no constructor that Jackson can call: take a record, or mark a constructor or a factory method with @JsonCreator";
  }

  private static boolean isKotlin(Class<?> type) {
    return Arrays.stream(type.getDeclaredAnnotations())
        .anyMatch(one -> one.annotationType().getName().equals("kotlin.Metadata"));
  }
}
