package org.pgonce.spring.internal;

import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.spring.PgOnceHeader;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.util.ReflectionUtils;

/** A component of {@link Notification} that a parameter takes by {@link PgOnceHeader}. */
record ListenerHeader(RecordComponent component) {

  private static final Map<String, RecordComponent> HEADERS =
      Arrays.stream(Notification.class.getRecordComponents())
          .filter(component -> !component.getName().equals("payload"))
          .collect(
              Collectors.toMap(
                  RecordComponent::getName, Function.identity(), (a, b) -> a, TreeMap::new));

  /**
   * @throws IllegalStateException if the parameter cannot take it
   */
  static ListenerHeader of(
      MethodParameter parameter, PgOnceHeader header, Channel<?> channel, String where) {
    var name = header.value().isEmpty() ? parameter.getParameterName() : header.value();
    if (name == null) {
      throw ListenerFit.refused(
          where,
          "has @PgOnceHeader on parameter %d, whose name the compiler did not keep. Compile with -parameters, or name the header: @PgOnceHeader(\"attempt\")"
              .formatted(parameter.getParameterIndex() + 1));
    }
    var component = HEADERS.get(name);
    if (component == null) {
      throw ListenerFit.refused(
          where,
          "takes header %s, which no notification has. There are: %s. What its writer said of itself is in the map context"
              .formatted(name, String.join(", ", HEADERS.keySet())));
    }
    var given = ResolvableType.forMethodReturnType(component.getAccessor());
    var declared = ResolvableType.forMethodParameter(parameter);
    if (!declared.isAssignableFrom(given)) {
      throw ListenerFit.refused(
          where, "takes header %s as %s. Take it as %s".formatted(name, declared, given));
    }
    if (channel.mode() == Mode.BROADCAST && name.equals("storedAt")) {
      throw ListenerFit.refused(
          where,
          "takes header storedAt of channel %s, whose mode BROADCAST stores nothing. Leave the parameter out"
              .formatted(channel.name()));
    }
    return new ListenerHeader(component);
  }

  String name() {
    return component.getName();
  }

  @Nullable Object of(Notification<?> notification) {
    return ReflectionUtils.invokeMethod(component.getAccessor(), notification);
  }
}
