package org.pgonce.spring.internal;

import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Where no property of the test's own, of the system or the environment says which database a test
 * has. The application's files do not count: the database in them is the developer's.
 *
 * <p>The FreshDatabaseAutoConfiguration that it is for stands in each starter, as the types that it
 * is built of ({@code JdbcConnectionDetails}, {@code DataSourceAutoConfiguration}) have other
 * packages in Boot 4 than in Boot 3.
 */
public final class NoDatabaseNamed implements Condition {

  @Override
  public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
    var environment = (ConfigurableEnvironment) context.getEnvironment();
    return !"none".equalsIgnoreCase(environment.getProperty("spring.test.database.replace"))
        && !isNamed(environment);
  }

  private static boolean isNamed(ConfigurableEnvironment environment) {
    for (var source : environment.getPropertySources()) {
      // The first is a view of all others.
      if (!ConfigurationPropertySources.isAttachedConfigurationPropertySource(source)
          && source.containsProperty("spring.datasource.url")) {
        return true;
      }
      if (source.getName().equals(StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME)) {
        return false; // behind it are the application's files
      }
    }
    return false;
  }
}
