package org.pgonce.spring.internal;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Set;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.KotlinDetector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.annotation.Propagation;

/** Refuses methods that could not do what a listener does. */
final class ListenerFit {

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
              + " runBlocking, on this thread: what withContext hands to a dispatcher works apart,"
              + " and stays if the attempt fails");
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
    if (AopUtils.isCglibProxy(bean) && isHidden(callable, bean.getClass())) {
      throw refused(
          where,
          "is package-private in %s, whose package is another than that of the bean, and the bean is behind a proxy (of @Transactional, for example): it would run on the proxy itself, whose fields are empty. Make it protected or public"
              .formatted(callable.getDeclaringClass().getName()));
    }
  }

  /** A class of another package cannot override it. */
  private static boolean isHidden(Method method, Class<?> proxy) {
    var visible = Modifier.PUBLIC | Modifier.PROTECTED | Modifier.STATIC;
    return (method.getModifiers() & visible) == 0
        && !method.getDeclaringClass().getPackageName().equals(proxy.getPackageName());
  }

  private static void requirePropagation(
      Method method, Class<?> type, Channel<?> channel, String where) {
    // It keeps what it was asked: as a static field it would keep the classes that devtools
    // replace.
    var transactions = new AnnotationTransactionAttributeSource(false);
    var transaction = transactions.getTransactionAttribute(method, type);
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

  static Refusal refused(String where, String what) {
    return new Refusal(where + " " + what + ".");
  }
}
