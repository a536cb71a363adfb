package org.pgonce.spring.internal;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.Tx;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.util.ClassUtils;

/** Refuses methods that could not do what a listener does. */
final class ListenerFit {

  private static final AnnotationTransactionAttributeSource TRANSACTIONS =
      new AnnotationTransactionAttributeSource(false);

  private static final Set<Integer> OUTSIDE =
      Set.of(
          TransactionDefinition.PROPAGATION_REQUIRES_NEW,
          TransactionDefinition.PROPAGATION_NOT_SUPPORTED);

  private ListenerFit() {}

  /**
   * @throws IllegalStateException saying what is wrong and what to do
   */
  static void require(Method method, Class<?> type, Channel<?> channel, String where) {
    if (KotlinDetector.isSuspendingFunction(method)) {
      throw refused(
          where,
          "is a suspend function: it may return before its work is done, and resume on another"
              + " thread, without the transaction. Leave suspend out, and call what suspends within"
              + " runBlocking");
    }
    if (method.getReturnType() != void.class) {
      throw refused(
          where,
          "returns %s, which nobody would wait for or use. Let it return nothing, when its work is done"
              .formatted(method.getReturnType().getSimpleName()));
    }
    if (AnnotatedElementUtils.hasAnnotation(method, Async.class)
        || AnnotatedElementUtils.hasAnnotation(type, Async.class)) {
      throw refused(
          where,
          "is @Async: it would return before its work is done, and its notification would be"
              + " settled. Leave @Async out: listeners run on threads of their own");
    }
    requirePropagation(method, type, channel, where);
    requireParameters(method, type, channel, where);
  }

  /**
   * @param callable the method to be called on the bean
   * @throws IllegalStateException if the bean is a proxy that does not see the call
   */
  static void requireReached(Object bean, Method callable, String where) {
    if (AopUtils.isCglibProxy(bean) && Modifier.isFinal(callable.getModifiers())) {
      throw refused(
          where,
          "is final, and its bean is behind a proxy (of @Transactional, for example): it would run"
              + " on the proxy itself, whose fields are empty. Leave final out; in Kotlin say open,"
              + " or use the compiler's plugin for Spring");
    }
  }

  private static void requirePropagation(
      Method method, Class<?> type, Channel<?> channel, String where) {
    var transaction = TRANSACTIONS.getTransactionAttribute(method, type);
    if (transaction == null) {
      return;
    }
    var propagation = transaction.getPropagationBehavior();
    if (propagation == TransactionDefinition.PROPAGATION_NEVER) {
      throw refused(
          where,
          "has a transaction in each mode, and it or its class is @Transactional(propagation ="
              + " NEVER): no call of it could begin. Leave that out");
    }
    if (channel.mode() == Mode.EXACTLY_ONCE && OUTSIDE.contains(propagation)) {
      throw refused(
          where,
          "runs outside of the transaction of its notification, as it or its class is @Transactional(propagation = %s): its work could be done twice. Leave that out, and put it on a method of another bean for what is to be committed apart"
              .formatted(propagation(propagation)));
    }
  }

  private static Propagation propagation(int behaviour) {
    for (var one : Propagation.values()) {
      if (one.value() == behaviour) {
        return one;
      }
    }
    throw new IllegalArgumentException("propagation " + behaviour);
  }

  private static void requireParameters(
      Method method, Class<?> type, Channel<?> channel, String where) {
    var taken = new HashSet<Class<?>>();
    for (var i = 0; i < method.getParameterCount(); i++) {
      var parameter = new MethodParameter(method, i).withContainingClass(type);
      var declared = ResolvableType.forMethodParameter(parameter);
      if (!fits(parameter.getParameterType(), declared, channel)) {
        throw refused(
            where,
            "takes %s, but channel %s has payloads of type %s. It may take the payload, its Notification (or a List of these in place of both), and the Tx"
                .formatted(declared, channel.name(), channel.payloadType().getName()));
      }
      if (!taken.add(parameter.getParameterType())) {
        throw refused(where, "takes %s twice. Once is enough".formatted(declared));
      }
    }
    taken.remove(Tx.class);
    if (taken.contains(List.class) && taken.size() > 1) {
      throw refused(
          where, "takes a List beside one of its elements. Leave one of the two parameters out");
    }
  }

  private static boolean fits(Class<?> parameter, ResolvableType declared, Channel<?> channel) {
    if (parameter == Tx.class) {
      return true;
    }
    if (parameter == List.class) {
      return declared.getGeneric().resolve() == Notification.class
          && isOf(declared.getGeneric(), channel);
    }
    return parameter == Notification.class ? isOf(declared, channel) : takes(parameter, channel);
  }

  private static boolean isOf(ResolvableType notification, Channel<?> channel) {
    var payload = notification.getGeneric().resolve();
    return payload == null || takes(payload, channel);
  }

  private static boolean takes(Class<?> parameter, Channel<?> channel) {
    return ClassUtils.isAssignable(parameter, channel.payloadType());
  }

  private static IllegalStateException refused(String where, String what) {
    return new IllegalStateException(where + " " + what + ".");
  }
}
