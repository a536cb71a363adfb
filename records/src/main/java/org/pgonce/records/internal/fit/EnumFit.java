package org.pgonce.records.internal.fit;

import com.fasterxml.jackson.annotation.JsonAlias;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonValue;
import java.lang.annotation.Annotation;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Whether a Java enum has a constant for every label. */
final class EnumFit {

  private EnumFit() {}

  static @Nullable String misfit(Class<?> type, List<String> labels) {
    if (writesItself(type)) {
      return null;
    }
    var known =
        constants(type).flatMap(constant -> names(constant).stream()).collect(Collectors.toSet());
    var unknown = labels.stream().filter(label -> !known.contains(label)).toList();
    return unknown.isEmpty()
        ? null
        : "%s has no constant for %s: add one, or annotate a constant with @JsonProperty(\"%s\")"
            .formatted(type.getSimpleName(), String.join(", ", unknown), unknown.get(0));
  }

  /** Constants that no label is read as. */
  static List<String> idle(Class<?> type, List<String> labels) {
    if (writesItself(type)) {
      return List.of();
    }
    return constants(type)
        .filter(constant -> Collections.disjoint(names(constant), labels))
        .map(Enum::name)
        .toList();
  }

  private static Stream<Enum<?>> constants(Class<?> type) {
    return Arrays.stream(type.getEnumConstants()).map(constant -> (Enum<?>) constant);
  }

  /** What a constant is read from: what it says of itself, if no annotation says otherwise. */
  private static Set<String> names(Enum<?> constant) {
    var names = new HashSet<String>();
    var property = annotation(constant, JsonProperty.class);
    names.add(
        property == null || property.value().isEmpty() ? constant.toString() : property.value());
    var alias = annotation(constant, JsonAlias.class);
    names.addAll(alias == null ? List.of() : List.of(alias.value()));
    return names;
  }

  private static <A extends Annotation> @Nullable A annotation(Enum<?> constant, Class<A> type) {
    try {
      return constant.getDeclaringClass().getField(constant.name()).getAnnotation(type);
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException("every constant is a field of its enum", e);
    }
  }

  private static boolean writesItself(Class<?> type) {
    return Arrays.stream(type.getDeclaredMethods())
            .anyMatch(method -> method.isAnnotationPresent(JsonValue.class))
        || Arrays.stream(type.getDeclaredFields())
            .anyMatch(field -> field.isAnnotationPresent(JsonValue.class));
  }
}
