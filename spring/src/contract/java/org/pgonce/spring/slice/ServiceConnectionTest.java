package org.pgonce.spring.slice;

import static java.util.Objects.requireNonNullElse;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.jspecify.annotations.Nullable;
import org.pgonce.spring.slice.ServiceConnectionTest.Details;
import org.pgonce.spring.test.PgOnceListenerTest;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.test.context.ContextConfiguration;
import org.springframework.util.ClassUtils;

/**
 * By the bean that {@code @ServiceConnection} of Testcontainers makes: here without a container,
 * and of either Boot's type, as they have it in different packages.
 */
@PgOnceListenerTest
@ContextConfiguration(initializers = Details.class)
class ServiceConnectionTest extends NamedDatabase {

  static class Details
      implements ApplicationContextInitializer<ConfigurableApplicationContext>, InvocationHandler {

    private static final String OF_BOOT_3 =
        "org.springframework.boot.autoconfigure.jdbc.JdbcConnectionDetails";
    private static final String OF_BOOT_4 =
        "org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails";

    @Override
    public void initialize(ConfigurableApplicationContext context) {
      var type =
          ClassUtils.resolveClassName(
              ClassUtils.isPresent(OF_BOOT_4, null) ? OF_BOOT_4 : OF_BOOT_3, null);
      context
          .getBeanFactory()
          .registerSingleton(
              "jdbcConnectionDetailsForPostgres",
              Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, this));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments)
        throws Throwable {
      return switch (method.getName()) {
        case "getJdbcUrl" -> DATABASE.jdbcUrl();
        case "getUsername" -> DATABASE.user();
        case "getPassword" -> DATABASE.password();
        default ->
            method.isDefault()
                ? InvocationHandler.invokeDefault(proxy, method, arguments)
                : method.invoke(this, requireNonNullElse(arguments, new Object[0]));
      };
    }
  }
}
