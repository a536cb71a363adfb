package org.pgonce.spring.internal;

import java.lang.reflect.Modifier;
import javax.sql.DataSource;
import org.aopalliance.intercept.MethodInterceptor;
import org.pgonce.PgOnce;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/**
 * Puts {@link PgOnce#watching} around each pool that is a bean. The bean stays of its class, which
 * others ask for.
 */
final class WatchedPools implements BeanPostProcessor {

  @Override
  public Object postProcessAfterInitialization(Object bean, String name) {
    return bean instanceof DataSource pool && isPool(pool) ? watched(pool) : bean;
  }

  /** What is put around a pool is none, and neither is what opens a connection for each call. */
  private static boolean isPool(DataSource dataSource) {
    return !(dataSource instanceof DelegatingDataSource)
        && !(dataSource instanceof AbstractDataSource)
        && !AopUtils.isAopProxy(dataSource)
        && !Modifier.isFinal(dataSource.getClass().getModifiers());
  }

  private static Object watched(DataSource pool) {
    var watching = PgOnce.watching(pool);
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
    return proxy.getProxy(pool.getClass().getClassLoader());
  }
}
