package org.pgonce.spring.internal;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
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

  private static final Set<String> WEB_SCOPES = Set.of("request", "session");

  private final ConfigurableListableBeanFactory beans;
  private final Channels channels;

  ListenerMethods(ConfigurableListableBeanFactory beans, Channels channels) {
    this.beans = beans;
    this.channels = channels;
  }

  /**
   * A listener for each of them.
   *
   * @throws IllegalStateException if one of them cannot be a listener
   */
  List<FoundListener<?>> find() {
    var found = new ArrayList<FoundListener<?>>();
    for (var name : beans.getBeanNamesForType(Object.class, true, false)) {
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

  private FoundListener<?> of(
      String beanName, Class<?> type, Method method, PgOnceListener listener) {
    var where = "@PgOnceListener on " + type.getSimpleName() + "." + method.getName();
    var settings = new ListenerSettings(beans, where);
    var channel = channels.require(settings.text(listener.channel()), where);
    ListenerFit.require(method, type, channel, where);
    var arguments = ListenerArguments.of(method, type, channel, where);
    requireOneInstance(beanName, where);
    var bean = beans.getBean(beanName);
    var invocable = invocable(method, bean, where);
    ListenerFit.requireReached(bean, invocable, where);
    return new FoundListener<>(
        of(channel, new ListenerMethod(bean, invocable, arguments), settings, listener),
        where + " (bean " + beanName + ")");
  }

  /** Of an interface's proxy, or a private one of a class's, Spring says why there is none. */
  private static Method invocable(Method method, Object bean, String where) {
    try {
      return AopUtils.selectInvocableMethod(method, bean.getClass());
    } catch (IllegalStateException e) {
      throw new Refusal(where + ": " + e.getMessage(), e);
    }
  }

  /** A proxy finds the instance of other scopes when it is called: of a refresh scope, say. */
  private void requireOneInstance(String beanName, String where) {
    var target = ScopedProxyUtils.getTargetBeanName(beanName);
    var name = beans.containsBeanDefinition(target) ? target : beanName;
    var scope =
        beans.containsBeanDefinition(name) ? beans.getMergedBeanDefinition(name).getScope() : "";
    if (!beans.isSingleton(beanName) || WEB_SCOPES.contains(scope)) {
      throw new Refusal(
          "%s is of bean %s in scope %s: pgonce's threads have no one instance of it to call. Let it be a singleton"
              .formatted(where, beanName, scope));
    }
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
