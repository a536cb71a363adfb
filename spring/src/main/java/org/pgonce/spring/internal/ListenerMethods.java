package org.pgonce.spring.internal;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.Subscription;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;

/** Finds the methods with {@link PgOnceListener} of all beans. */
final class ListenerMethods {

  private final ConfigurableListableBeanFactory beans;
  private final Channels channels;

  ListenerMethods(ConfigurableListableBeanFactory beans, Channels channels) {
    this.beans = beans;
    this.channels = channels;
  }

  /**
   * A subscription for each of them.
   *
   * @throws IllegalStateException if one of them cannot be a listener
   */
  List<Subscription<?>> subscriptions() {
    var found = new ArrayList<Subscription<?>>();
    for (var name : beans.getBeanNamesForType(Object.class, false, false)) {
      var type = ScopedProxyUtils.isScopedTarget(name) ? null : typeOf(name);
      if (type != null) {
        methods(type).forEach((method, listener) -> found.add(of(name, type, method, listener)));
      }
    }
    return found;
  }

  private @Nullable Class<?> typeOf(String bean) {
    var type = AutoProxyUtils.determineTargetClass(beans, bean);
    return type != null && AnnotationUtils.isCandidateClass(type, PgOnceListener.class)
        ? ClassUtils.getUserClass(type)
        : null;
  }

  private static Map<Method, PgOnceListener> methods(Class<?> type) {
    return MethodIntrospector.selectMethods(
        type,
        (MethodIntrospector.MetadataLookup<PgOnceListener>)
            method -> AnnotatedElementUtils.findMergedAnnotation(method, PgOnceListener.class));
  }

  private Subscription<?> of(
      String beanName, Class<?> type, Method method, PgOnceListener listener) {
    var where = "@PgOnceListener on " + type.getSimpleName() + "." + method.getName();
    var settings = new ListenerSettings(beans, where);
    var channel = channels.require(settings.text(listener.channel()), where);
    ListenerFit.require(method, type, channel, where);
    var bean = beans.getBean(beanName);
    var invocable = AopUtils.selectInvocableMethod(method, bean.getClass());
    return of(channel, new ListenerMethod(bean, invocable), settings, listener);
  }

  private static <T> Subscription<T> of(
      Channel<T> channel, ListenerMethod method, ListenerSettings settings, PgOnceListener said) {
    var subscription = settings.text(said.subscription());
    return new Subscription<>(
        channel,
        subscription.isEmpty() ? null : subscription,
        settings.options(said),
        method.handler());
  }
}
