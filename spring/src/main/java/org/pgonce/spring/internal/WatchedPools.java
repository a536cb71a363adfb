package org.pgonce.spring.internal;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import javax.sql.DataSource;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.pgonce.pools.WatchedDataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.AopConfigException;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanClassLoaderAware;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/**
 * Puts a {@link WatchedDataSource} around each pool that is a bean. The bean stays of its class,
 * which others ask for.
 */
final class WatchedPools implements BeanPostProcessor, BeanClassLoaderAware {

  private static final Logger LOG = LoggerFactory.getLogger(WatchedPools.class);

  /** A pool's own may not see Spring: one of an application server, say. */
  private @Nullable ClassLoader ofBeans;

  @Override
  public void setBeanClassLoader(ClassLoader ofBeans) {
    this.ofBeans = ofBeans;
  }

  @Override
  public Object postProcessAfterInitialization(Object bean, String name) {
    return bean instanceof DataSource pool && isPool(pool) ? watchedIfItCan(pool, name) : bean;
  }

  /** What is put around a pool is none, and neither is what opens a connection for each call. */
  private static boolean isPool(DataSource dataSource) {
    return !(dataSource instanceof DelegatingDataSource)
        && !(dataSource instanceof AbstractDataSource)
        && !AopUtils.isAopProxy(dataSource);
  }

  private DataSource watchedIfItCan(DataSource pool, String name) {
    var type = pool.getClass();
    if (Arrays.stream(type.getMethods()).anyMatch(WatchedPools::isFinalGetConnection)) {
      return unwatched(pool, name, "getConnection() of %s is final".formatted(type.getName()));
    }
    try {
      return watched(pool);
    } catch (AopConfigException | LinkageError e) {
      return unwatched(pool, name, String.valueOf(e.getMessage()));
    }
  }

  /** A proxy's call of it would miss the pool. */
  private static boolean isFinalGetConnection(Method method) {
    return method.getName().equals("getConnection") && Modifier.isFinal(method.getModifiers());
  }

  private static DataSource unwatched(DataSource pool, String name, String why) {
    LOG.warn(
        "pgonce: DataSource bean {} cannot have a proxy of its class, so a handler's second connection of it is not warned of, though pgonce.warn-second-connection is true: {}",
        name,
        why);
    return pool;
  }

  private DataSource watched(DataSource pool) {
    var watching = new WatchedDataSource(pool);
    var proxy = new ProxyFactory();
    proxy.setTarget(pool);
    proxy.setProxyTargetClass(true);
    proxy.addAdvice(
        (MethodInterceptor)
            call -> {
              if (!call.getMethod().getName().equals("getConnection")) {
                return call.proceed();
              }
              var login = call.getArguments();
              return login.length == 0
                  ? watching.getConnection()
                  : watching.getConnection((String) login[0], (String) login[1]);
            });
    return (DataSource) proxy.getProxy(ofBeans);
  }
}
