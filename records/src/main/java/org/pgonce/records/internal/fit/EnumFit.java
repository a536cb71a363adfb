package org.pgonce.records.internal.fit;

import com.fasterxml.jackson.annotation.JsonAlias;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonValue;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Whether a Java enum has a constant for every label. */
final class EnumFit {

  private EnumFit() {}

  static @Nullable String misfit(Class<?> type, List<String> labels) {
    if (writesItself(type)) {
      return null;
    }
    var known = names(type);
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
    return Arrays.stream(type.getDeclaredFields())
        .filter(Field::isEnumConstant)
        .filter(constant -> Collections.disjoint(names(constant), labels))
        .map(Field::getName)
        .toList();
  }

  private static Set<String> names(Class<?> type) {
    var names = new HashSet<String>();
    for (var field : type.getDeclaredFields()) {
      if (field.isEnumConstant()) {
        names.addAll(names(field));
      }
    }
    return names;
  }

  private static Set<String> names(Field constant) {
    var names = new HashSet<String>();
    var property = constant.getAnnotation(JsonProperty.class);
    names.add(
        property == null || property.value().isEmpty() ? constant.getName() : property.value());
    var alias = constant.getAnnotation(JsonAlias.class);
    names.addAll(alias == null ? List.of() : List.of(alias.value()));
    return names;
  }

  private static boolean writesItself(Class<?> type) {
    return Arrays.stream(type.getDeclaredMethods())
            .anyMatch(method -> method.isAnnotationPresent(JsonValue.class))
        || Arrays.stream(type.getDeclaredFields())
            .anyMatch(field -> field.isAnnotationPresent(JsonValue.class));
  }
}
