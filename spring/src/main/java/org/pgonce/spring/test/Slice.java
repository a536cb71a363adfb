package org.pgonce.spring.test;

import java.util.Map;
import java.util.Set;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.MergedContextConfiguration;

/**
 * Makes a context that of {@link PgOnceListenerTest}. Contexts of equal ones are the same.
 *
 * @param listeners names of the only classes with listeners that are loaded; empty for all
 */
record Slice(Set<String> listeners) implements ContextCustomizer {

  // Over those of the application's files, and under those of the test.
  private static final Map<String, Object> PROPERTIES =
      Map.of(
          EnableAutoConfiguration.ENABLED_OVERRIDE_PROPERTY,
          "false",
          "pgonce.auto-startup",
          "false",
          "pgonce.console.enabled",
          "false",
          "pgonce.install",
          "always",
          "pgonce.start-failure",
          "fail");

  @Override
  public void customizeContext(
      ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
    context
        .getEnvironment()
        .getPropertySources()
        .addAfter(
            StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
            new MapPropertySource("pgonceListenerTest", PROPERTIES));
    context
        .getBeanFactory()
        .registerSingleton("pgOnceListenerTestFilter", new SliceFilter(listeners));
  }
}
