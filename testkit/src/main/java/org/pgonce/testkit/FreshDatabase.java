package org.pgonce.testkit;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Resolves the parameters of {@link PgTest} classes. JUnit closes the database with the test or
 * class that it was made for.
 */
final class FreshDatabase implements ParameterResolver {

  private static final Namespace NAMESPACE = Namespace.create(FreshDatabase.class);

  static {
    // What is waited for mostly takes a few milliseconds.
    Awaitility.setDefaultPollDelay(Duration.ofMillis(10));
    Awaitility.setDefaultPollInterval(Duration.ofMillis(25));
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == TestDatabase.class;
  }

  @Override
  public TestDatabase resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return context
        .getStore(NAMESPACE)
        .getOrComputeIfAbsent(
            TestDatabase.class, type -> TestServer.shared().createDatabase(), TestDatabase.class);
  }
}
