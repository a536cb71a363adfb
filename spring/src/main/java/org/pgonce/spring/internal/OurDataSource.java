package org.pgonce.spring.internal;

import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.spring.internal.pool.Pools;
import org.springframework.beans.factory.ListableBeanFactory;

/**
 * The one that pgonce works on.
 *
 * @param bean as Spring's transactions have it
 */
record OurDataSource(DataSource bean) {

  /**
   * @param name of the bean; null for the only one, or the primary one
   * @throws IllegalStateException if that leaves none, or several
   */
  static OurDataSource choose(ListableBeanFactory beans, @Nullable String name) {
    var names = String.join(", ", beans.getBeanNamesForType(DataSource.class));
    if (name != null) {
      if (!beans.containsBean(name) || !beans.isTypeMatch(name, DataSource.class)) {
        throw new Refusal(
            "pgonce.data-source = %s is no DataSource bean. There are: %s".formatted(name, names));
      }
      return new OurDataSource(beans.getBean(name, DataSource.class));
    }
    var only = beans.getBeanProvider(DataSource.class).getIfUnique();
    if (only == null) {
      throw new Refusal(
          names.isEmpty()
              ? "pgonce needs a DataSource bean, and there is none: define one, or set pgonce.enabled=false"
              : "pgonce works on one DataSource, and there are several: %s. Name the one in pgonce.data-source, or make it @Primary"
                  .formatted(names));
    }
    return new OurDataSource(only);
  }

  /** What pgonce itself takes connections from. */
  DataSource pool() {
    return Pools.withoutLateBinding(bean);
  }

  boolean isSameAs(DataSource other) {
    return Pools.same(bean, other);
  }
}
