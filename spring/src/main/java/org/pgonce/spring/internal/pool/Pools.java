package org.pgonce.spring.internal.pool;

import java.sql.SQLException;
import java.util.Objects;
import javax.sql.DataSource;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;

/** Looks through what is put around a pool. */
public final class Pools {

  private Pools() {}

  /**
   * Whether both give connections of one pool: through Spring's wrappers, its AOP proxies, and
   * whatever keeps to JDBC's {@link java.sql.Wrapper}.
   */
  public static boolean same(DataSource one, DataSource other) {
    var pool = innermost(one);
    var otherPool = innermost(other);
    return pool == otherPool || wraps(pool, otherPool) || wraps(otherPool, pool);
  }

  /** Without what would give a handler's own connection, or none until the first statement. */
  public static DataSource withoutLateBinding(DataSource dataSource) {
    return dataSource instanceof TransactionAwareDataSourceProxy
            || dataSource instanceof LazyConnectionDataSourceProxy
        ? withoutLateBinding(target((DelegatingDataSource) dataSource))
        : dataSource;
  }

  private static DataSource innermost(DataSource dataSource) {
    if (AopProxyUtils.getSingletonTarget(dataSource) instanceof DataSource target) {
      return innermost(target);
    }
    return dataSource instanceof DelegatingDataSource wrapper
        ? innermost(target(wrapper))
        : dataSource;
  }

  private static DataSource target(DelegatingDataSource wrapper) {
    return Objects.requireNonNull(wrapper.getTargetDataSource(), "its target");
  }

  private static boolean wraps(DataSource outer, DataSource inner) {
    try {
      return outer.isWrapperFor(inner.getClass()) && outer.unwrap(inner.getClass()) == inner;
    } catch (SQLException | RuntimeException e) {
      return false; // it does not say, as one that routes by a tenant while there is none
    }
  }
}
