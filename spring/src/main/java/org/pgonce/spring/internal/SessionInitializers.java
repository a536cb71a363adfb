package org.pgonce.spring.internal;

import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.orm.jpa.AbstractEntityManagerFactoryBean;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.util.ReflectionUtils;

/**
 * What Spring does to each entity manager it opens, such as to switch filters on. Spring has no
 * accessor for it.
 */
final class SessionInitializers {

  private static final Method OF_FACTORY =
      accessible(
          Objects.requireNonNull(
              ReflectionUtils.findMethod(
                  AbstractEntityManagerFactoryBean.class,
                  "postProcessEntityManager",
                  EntityManager.class)));
  private static final Field OF_MANAGER =
      accessible(
          Objects.requireNonNull(
              ReflectionUtils.findField(
                  JpaTransactionManager.class, "entityManagerInitializer", Consumer.class)));

  private SessionInitializers() {}

  /** In Spring's order: the factory's, then those of its transaction managers. */
  static List<Consumer<EntityManager>> of(
      EntityManagerFactory factory,
      ListableBeanFactory beans,
      List<PlatformTransactionManager> managers) {
    var found = new ArrayList<Consumer<EntityManager>>();
    for (var name : beans.getBeanNamesForType(AbstractEntityManagerFactoryBean.class)) {
      var bean = beans.getBean(factoryName(name), AbstractEntityManagerFactoryBean.class);
      if (bean.getObject() == factory) {
        found.add(entities -> ReflectionUtils.invokeMethod(OF_FACTORY, bean, entities));
      }
    }
    for (var manager : managers) {
      if (manager instanceof JpaTransactionManager jpa
          && jpa.getEntityManagerFactory() == factory) {
        found.add(entities -> jpa.getJpaPropertyMap().forEach(entities::setProperty));
        found.add(entities -> ofManager(jpa, entities));
      }
    }
    return List.copyOf(found);
  }

  private static String factoryName(String name) {
    return name.startsWith(BeanFactory.FACTORY_BEAN_PREFIX)
        ? name
        : BeanFactory.FACTORY_BEAN_PREFIX + name;
  }

  @SuppressWarnings("unchecked") // so declared there
  private static void ofManager(JpaTransactionManager manager, EntityManager entities) {
    var initializer = ReflectionUtils.getField(OF_MANAGER, manager);
    if (initializer != null) {
      ((Consumer<EntityManager>) initializer).accept(entities);
    }
  }

  private static Method accessible(Method method) {
    ReflectionUtils.makeAccessible(method);
    return method;
  }

  private static Field accessible(Field field) {
    ReflectionUtils.makeAccessible(field);
    return field;
  }
}
