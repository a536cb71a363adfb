package org.pgonce.spring.internal;

import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.ResourceTransactionManager;

/** Finds all that works on pgonce's data source, and refuses what may and could not join. */
final class JoinedResources implements SmartInitializingSingleton {

  /** How to keep a bean that pgonce cannot judge. */
  static final String ELSEWHERE =
      "If it works on another database, define it with @Bean(defaultCandidate = false)";

  /** Finds more of them: JPA's. */
  @FunctionalInterface
  interface Finder {

    /**
     * Those of its kind.
     *
     * @param keys what Spring looks connections up by; added to
     * @throws IllegalStateException if something could not join
     */
    List<JoinedResource> find(List<PlatformTransactionManager> managers, JoinedJdbc.Keys keys);
  }

  private final ListableBeanFactory beans;
  private final OurDataSource ours;
  private final ObjectProvider<PlatformTransactionManager> managers;
  private final ObjectProvider<Finder> finders;
  private volatile List<JoinedResource> all = List.of();

  JoinedResources(
      ListableBeanFactory beans,
      OurDataSource ours,
      ObjectProvider<PlatformTransactionManager> managers,
      ObjectProvider<Finder> finders) {
    this.beans = beans;
    this.ours = ours;
    this.managers = managers;
    this.finders = finders;
  }

  /** In the order in which they are bound. */
  List<JoinedResource> all() {
    return all;
  }

  /** Not before, as what listens may be needed to make an entity manager factory. */
  @Override
  public void afterSingletonsInstantiated() {
    var keys = new JoinedJdbc.Keys(ours::isSameAs);
    keys.add(ours.bean());
    keys.add(ours.pool());
    beans.getBeansOfType(DataSource.class, false, false).values().forEach(keys::add);
    var candidates = managers.stream().toList();
    for (var manager : candidates) {
      if (resource(manager) instanceof DataSource dataSource) {
        keys.addManaged(dataSource);
      }
    }
    var found = new ArrayList<JoinedResource>();
    finders.forEach(finder -> found.addAll(finder.find(candidates, keys)));
    // JDBC first: what a session binds may ask for it.
    found.add(0, new JoinedJdbc(keys));
    all = List.copyOf(found);
  }

  private static Object resource(PlatformTransactionManager manager) {
    if (manager instanceof ResourceTransactionManager resources) {
      return resources.getResourceFactory();
    }
    throw new Refusal(
        "transaction manager %s does not say what it works on, so @Transactional in a listener could commit apart from the notification. Use JpaTransactionManager or JdbcTransactionManager on pgonce's data source. %s"
            .formatted(manager.getClass().getName(), ELSEWHERE));
  }
}
