package org.pgonce.testkit;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.ReflectionSupport;

/**
 * Resolves the parameters of {@link PgTest} classes. JUnit closes the database with the test or
 * class that it was made for.
 */
final class FreshDatabase implements ParameterResolver {

  private static final Namespace NAMESPACE = Namespace.create(FreshDatabase.class);

  // Gone with their server.
  private static final Map<Class<? extends DatabaseContents>, TestDatabase> TEMPLATES =
      new ConcurrentHashMap<>();

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
            TestDatabase.class,
            type -> create(contents(context.getRequiredTestClass())),
            TestDatabase.class);
  }

  /** Of a class, or of the one that it is nested in. */
  private static Class<? extends DatabaseContents> contents(Class<?> test) {
    var annotation = AnnotationSupport.findAnnotation(test, PgTest.class);
    var outer = test.getEnclosingClass();
    return annotation.isPresent() || outer == null
        ? annotation.orElseThrow().value()
        : contents(outer);
  }

  private static TestDatabase create(Class<? extends DatabaseContents> type) {
    var server = TestServer.shared();
    var contents = ReflectionSupport.newInstance(type);
    try {
      if (type != DatabaseContents.Nothing.class && server.endsWithTheTests()) {
        var copy = server.createDatabase(TEMPLATES.computeIfAbsent(type, FreshDatabase::made));
        contents.copied(copy);
        return copy;
      }
      var database = server.createDatabase();
      contents.make(database);
      return database;
    } catch (SQLException e) {
      throw new IllegalStateException("%s could not be made".formatted(type), e);
    }
  }

  private static TestDatabase made(Class<? extends DatabaseContents> type) {
    var template = TestServer.shared().createDatabase();
    try {
      ReflectionSupport.newInstance(type).make(template);
    } catch (SQLException e) {
      throw new IllegalStateException("%s could not be made".formatted(type), e);
    }
    return template;
  }
}
