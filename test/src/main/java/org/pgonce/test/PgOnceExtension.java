package org.pgonce.test;

import javax.sql.DataSource;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Resolves the parameters of {@link PgOnceTest} classes. It drops what it made itself: what a store
 * closes differs among JUnit's versions.
 */
final class PgOnceExtension implements ParameterResolver, AfterEachCallback, AfterAllCallback {

  private static final Namespace NAMESPACE = Namespace.create(PgOnceExtension.class);

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    var type = parameter.getParameter().getType();
    return type == PgOnceTester.class || type == DataSource.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    var database =
        context
            .getStore(NAMESPACE)
            .getOrComputeIfAbsent(
                FreshDatabase.class, type -> FreshDatabase.create(), FreshDatabase.class);
    return parameter.getParameter().getType() == DataSource.class
        ? database.dataSource()
        : PgOnceTester.on(database.dataSource());
  }

  @Override
  public void afterEach(ExtensionContext context) {
    drop(context);
  }

  @Override
  public void afterAll(ExtensionContext context) {
    drop(context);
  }

  /** Of this context only: a class's database outlives its tests. */
  private static void drop(ExtensionContext context) {
    var database = context.getStore(NAMESPACE).remove(FreshDatabase.class, FreshDatabase.class);
    if (database != null) {
      database.drop();
    }
  }
}
