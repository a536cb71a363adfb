package org.pgonce.spring.internal;

import jakarta.persistence.EntityManagerFactory;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.hibernate.SessionFactory;
import org.pgonce.Tx;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.orm.jpa.EntityManagerFactoryInfo;

/** All of JPA that works on pgonce's data source. */
final class JoinedEntityManagers implements JoinedResource, SmartInitializingSingleton {

  private final DataSource dataSource;
  private final ObjectProvider<EntityManagerFactory> factories;
  private volatile List<JoinedJpa> joined = List.of();

  JoinedEntityManagers(DataSource dataSource, ObjectProvider<EntityManagerFactory> factories) {
    this.dataSource = dataSource;
    this.factories = factories;
  }

  /** Not before, as what listens may be needed to make an entity manager factory. */
  @Override
  public void afterSingletonsInstantiated() {
    var found = new ArrayList<JoinedJpa>();
    for (var factory : factories) {
      if (factory instanceof EntityManagerFactoryInfo info && isOurs(info.getDataSource())) {
        found.add(new JoinedJpa(factory, sessions(info.getNativeEntityManagerFactory())));
      }
    }
    joined = List.copyOf(found);
  }

  private boolean isOurs(DataSource other) {
    return other != null && JoinedJdbc.target(other) == dataSource;
  }

  private static SessionFactory sessions(EntityManagerFactory nativeFactory) {
    if (nativeFactory instanceof SessionFactory sessions) {
      return sessions;
    }
    throw new IllegalStateException(
        "pgonce can make repositories work in a listener's transaction with Hibernate only, and this entity manager factory is a "
            + nativeFactory.getClass().getName()
            + ": give it another data source, or use Hibernate");
  }

  @Override
  public List<Bound> bind(Tx tx) {
    return joined.stream().map(one -> one.bind(tx)).toList();
  }
}
