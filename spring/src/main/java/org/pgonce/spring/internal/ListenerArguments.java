package org.pgonce.spring.internal;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.Notification;
import org.pgonce.Tx;
import org.pgonce.spring.PgOnceHeader;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedMethod;
import org.springframework.util.ClassUtils;

/**
 * What the parameters of a listener's method are given.
 *
 * @param ofBatch whether it takes all notifications of a batch
 */
record ListenerArguments(List<Argument> all, boolean ofBatch) {

  private static final DefaultParameterNameDiscoverer NAMES = new DefaultParameterNameDiscoverer();

  /**
   * One of them.
   *
   * @param kind a type or a header, which a method takes once
   * @param words for the kind, in an error
   */
  private record Argument(Object kind, String words, Source source) {}

  @FunctionalInterface
  private interface Source {
    @Nullable Object of(Notification<?> first, List<?> batch, Tx tx);
  }

  /**
   * Annotations count on the parameters of an interface's method too.
   *
   * @param method of the bean's own class, whose proxy may have no annotations
   * @throws IllegalStateException if there is nothing that a parameter could take
   */
  static ListenerArguments of(Method method, Class<?> type, Channel<?> channel, String where) {
    var all = new ArrayList<Argument>();
    var taken = new HashMap<Object, String>();
    for (var declared : new AnnotatedMethod(method).getMethodParameters()) {
      var argument = argument(declared.withContainingClass(type), channel, where);
      if (taken.put(argument.kind, argument.words) != null) {
        throw ListenerFit.refused(
            where, "takes %s twice. Once is enough".formatted(argument.words));
      }
      all.add(argument);
    }
    return new ListenerArguments(all, isOfBatch(taken, where));
  }

  private static Argument argument(MethodParameter parameter, Channel<?> channel, String where) {
    parameter.initParameterNameDiscovery(NAMES);
    var annotation = parameter.getParameterAnnotation(PgOnceHeader.class);
    if (annotation == null) {
      return new Argument(
          parameter.getParameterType(),
          declared(parameter).toString(),
          source(parameter, channel, where));
    }
    var header = ListenerHeader.of(parameter, annotation, channel, where);
    return new Argument(header, "header " + header.name(), (first, batch, tx) -> header.of(first));
  }

  private static boolean isOfBatch(Map<Object, String> taken, String where) {
    if (!taken.containsKey(List.class)) {
      return false;
    }
    taken.keySet().removeAll(Set.of(List.class, Tx.class));
    if (!taken.isEmpty()) {
      throw ListenerFit.refused(
          where,
          "takes a List beside one of its elements: %s. Leave one of the two out: each notification of the List has its payload and its headers"
              .formatted(String.join(", ", taken.values())));
    }
    return true;
  }

  private static Source source(MethodParameter parameter, Channel<?> channel, String where) {
    var type = parameter.getParameterType();
    if (type == Tx.class) {
      return (first, batch, tx) -> tx;
    }
    if (type == List.class && isOf(declared(parameter).getGeneric(), channel)) {
      return (first, batch, tx) -> batch;
    }
    if (type == Notification.class && isOf(declared(parameter), channel)) {
      return (first, batch, tx) -> first;
    }
    if (type != List.class && takes(type, channel)) {
      return (first, batch, tx) -> first.payload();
    }
    throw ListenerFit.refused(
        where,
        "takes %s, but channel %s has payloads of type %s. It may take the payload and its Notification, or a List<Notification<%s>> in place of both; what a Notification has beside the payload (@PgOnceHeader); and the Tx"
            .formatted(
                declared(parameter),
                channel.name(),
                channel.payloadType().getName(),
                channel.payloadType().getSimpleName()));
  }

  private static ResolvableType declared(MethodParameter parameter) {
    return ResolvableType.forMethodParameter(parameter);
  }

  private static boolean isOf(ResolvableType notification, Channel<?> channel) {
    var payload = notification.getGeneric().resolve();
    return notification.resolve() == Notification.class
        && (payload == null || takes(payload, channel));
  }

  private static boolean takes(Class<?> type, Channel<?> channel) {
    return ClassUtils.isAssignable(type, channel.payloadType());
  }

  Object[] of(Notification<?> first, List<?> batch, Tx tx) {
    return all.stream().map(argument -> argument.source.of(first, batch, tx)).toArray();
  }
}
