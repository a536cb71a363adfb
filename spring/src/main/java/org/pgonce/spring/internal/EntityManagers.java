package org.pgonce.spring.internal;

import jakarta.persistence.EntityManagerFactory;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.hibernate.SessionFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.orm.jpa.EntityManagerFactoryInfo;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.ResourceTransactionManager;
import org.springframework.util.ClassUtils;

/** All of JPA: what works on pgonce's data source joins, all else is kept apart. */
final class EntityManagers implements JoinedResources.Finder {

  private static final boolean HIBERNATE =
      ClassUtils.isPresent("org.hibernate.SessionFactory", EntityManagers.class.getClassLoader());

  private final ListableBeanFactory beans;
  private final OurDataSource ours;
  private final ObjectProvider<EntityManagerFactory> factories;

  EntityManagers(
      ListableBeanFactory beans,
      OurDataSource ours,
      ObjectProvider<EntityManagerFactory> factories) {
    this.beans = beans;
    this.ours = ours;
    this.factories = factories;
  }

  @Override
  public List<JoinedResource> find(
      List<PlatformTransactionManager> managers, JoinedJdbc.Keys keys) {
    var found = new ArrayList<JoinedResource>();
    var known = factories.stream().toList();
    for (var factory : known) {
      var info = info(factory);
      if (ours.isSameAs(dataSource(info))) {
        keys.add(dataSource(info));
        found.add(joined(factory, info, managers));
      } else {
        found.add(new ForeignJpa(factory, info));
      }
    }
    for (var manager : managers) {
      require(manager, known);
      if (manager instanceof JpaTransactionManager jpa && jpa.getDataSource() != null) {
        keys.addManaged(jpa.getDataSource());
      }
    }
    return found;
  }

  private JoinedResource joined(
      EntityManagerFactory factory,
      EntityManagerFactoryInfo info,
      List<PlatformTransactionManager> managers) {
    var nativeFactory = info.getNativeEntityManagerFactory();
    if (HIBERNATE && nativeFactory instanceof SessionFactory sessions) {
      return new JoinedHibernate(
          factory, sessions, SessionInitializers.of(factory, beans, managers));
    }
    if (JoinedEclipseLink.isOne(nativeFactory)) {
      return new JoinedEclipseLink(
          factory, nativeFactory, SessionInitializers.of(factory, beans, managers));
    }
    throw new Refusal(
        "pgonce can make repositories work in a listener's transaction with Hibernate or EclipseLink, and this entity manager factory is a %s: give it another data source, or use one of these"
            .formatted(nativeFactory.getClass().getName()));
  }

  private static EntityManagerFactoryInfo info(EntityManagerFactory factory) {
    if (factory instanceof EntityManagerFactoryInfo info) {
      return info;
    }
    throw new Refusal(
        "entity manager factory %s does not say what data source it works on, so what a listener does with it could be apart from the notification. Make it by Spring's LocalContainerEntityManagerFactoryBean. %s"
            .formatted(factory.getClass().getName(), JoinedResources.ELSEWHERE));
  }

  private static DataSource dataSource(EntityManagerFactoryInfo info) {
    var dataSource = info.getDataSource();
    if (dataSource == null) {
      throw new Refusal(
          "persistence unit %s has no DataSource of Spring's, so what a listener does with it could be apart from the notification. Give its factory bean the data source. %s"
              .formatted(info.getPersistenceUnitName(), JoinedResources.ELSEWHERE));
    }
    return dataSource;
  }

  /** One that begins transactions of a factory nobody knows would have them of its own. */
  private static void require(
      PlatformTransactionManager manager, List<EntityManagerFactory> known) {
    if (manager instanceof ResourceTransactionManager resources
        && resources.getResourceFactory() instanceof EntityManagerFactory factory
        && !known.contains(factory)) {
      throw new Refusal(
          "transaction manager %s begins transactions of an entity manager factory that is no bean, which pgonce cannot make join. Give it the factory bean. %s"
              .formatted(manager.getClass().getName(), JoinedResources.ELSEWHERE));
    }
  }
}
