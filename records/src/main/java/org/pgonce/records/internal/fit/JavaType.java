package org.pgonce.records.internal.fit;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.util.Arrays;
import java.util.Collection;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What the declared type of a record component says. */
final class JavaType {

  private JavaType() {}

  /** The type without Optional around it. */
  static Type unwrapped(Type type) {
    if (type == OptionalInt.class) {
      return int.class;
    }
    if (type == OptionalLong.class) {
      return long.class;
    }
    if (type == OptionalDouble.class) {
      return double.class;
    }
    return type instanceof ParameterizedType generic && generic.getRawType() == Optional.class
        ? generic.getActualTypeArguments()[0]
        : type;
  }

  /** Object for what is known only where it is used. */
  static Class<?> raw(Type type) {
    if (type instanceof Class<?> plain) {
      return plain;
    }
    if (type instanceof ParameterizedType generic) {
      return raw(generic.getRawType());
    }
    if (type instanceof GenericArrayType array) {
      return raw(array.getGenericComponentType()).arrayType();
    }
    return type instanceof WildcardType wildcard ? raw(wildcard.getUpperBounds()[0]) : Object.class;
  }

  /** Of an array or collection; null of other types. A byte[] is none: it is bytes. */
  static @Nullable Type element(Type type) {
    var raw = raw(type);
    if (raw.isArray() && raw != byte[].class) {
      return type instanceof GenericArrayType array
          ? array.getGenericComponentType()
          : raw.componentType();
    }
    if (!Collection.class.isAssignableFrom(raw)) {
      return null;
    }
    return type instanceof ParameterizedType generic
        ? generic.getActualTypeArguments()[0]
        : Object.class;
  }

  /** Whether the component is declared to be there or not: Optional, or annotated as nullable. */
  static boolean isOptional(RecordComponent component) {
    var raw = component.getType();
    return raw == Optional.class
        || raw == OptionalInt.class
        || raw == OptionalLong.class
        || raw == OptionalDouble.class
        || hasAnnotation(component.getAnnotatedType(), "Nullable")
        || annotated(component).anyMatch(element -> hasAnnotation(element, "Nullable"));
  }

  /** Null if the component has none. */
  static <A extends Annotation> @Nullable A annotation(RecordComponent component, Class<A> type) {
    return annotated(component)
        .map(element -> element.getAnnotation(type))
        .filter(Objects::nonNull)
        .findFirst()
        .orElse(null);
  }

  /** What bears a component's annotations: an accessor that is written out has only its own. */
  private static Stream<AnnotatedElement> annotated(RecordComponent component) {
    try {
      return Stream.of(
          component.getAccessor(),
          component.getDeclaringRecord().getDeclaredField(component.getName()));
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException("every component of a record is a field", e);
    }
  }

  /** Whether Jackson reads the class as the class itself says. */
  static boolean readsItself(Class<?> type) {
    return hasAnnotation(type, "JsonDeserialize")
        || Stream.concat(
                Arrays.stream(type.getDeclaredConstructors()),
                Arrays.stream(type.getDeclaredMethods()))
            .anyMatch(member -> hasAnnotation(member, "JsonCreator"));
  }

  private static boolean hasAnnotation(AnnotatedElement element, String simpleName) {
    return Arrays.stream(element.getAnnotations())
        .anyMatch(annotation -> annotation.annotationType().getSimpleName().equals(simpleName));
  }
}
