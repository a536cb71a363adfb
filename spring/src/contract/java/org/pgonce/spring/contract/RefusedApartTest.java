package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import jakarta.persistence.EntityManagerFactory;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.assertj.core.api.ThrowableAssert;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.internal.PgOnceConfiguration;
import org.postgresql.ds.PGSimpleDataSource;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.context.annotation.Scope;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.env.MapPropertySource;
import org.springframework.orm.jpa.EntityManagerFactoryInfo;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;

/** What would silently be apart from the notification is refused when the context starts. */
@Tag("second")
class RefusedApartTest {

  record SignedUp(long userId) {}

  @Import(PgOnceConfiguration.class)
  static class Base {

    @Bean
    Channel<SignedUp> signedUp() {
      return Channel.of("signed_up", SignedUp.class);
    }
  }

  static class OneDataSource {

    @Bean
    DataSource ours() {
      return new PGSimpleDataSource(); // nothing connects
    }
  }

  private static void start(Map<String, Object> properties, Class<?>... beans) {
    try (var context = new AnnotationConfigApplicationContext()) {
      context
          .getEnvironment()
          .getPropertySources()
          .addFirst(new MapPropertySource("t", properties));
      // Those of the user are first, as with auto-configuration.
      context.register(
          Stream.concat(Stream.of(beans), Stream.of(Base.class)).toArray(Class[]::new));
      context.getDefaultListableBeanFactory().setAllowBeanDefinitionOverriding(false);
      context.refresh();
    }
  }

  private static void assertRefused(Class<?> beans, String... parts) {
    assertThat(refusal(() -> start(NO_START, OneDataSource.class, beans)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContainingAll(parts);
  }

  /** Out of what Spring puts around it. */
  private static Throwable refusal(ThrowableAssert.ThrowingCallable start) {
    return NestedExceptionUtils.getMostSpecificCause(catchThrowable(start));
  }

  private static final Map<String, Object> NO_START =
      Map.of("pgonce.auto-startup", "false", "pgonce.install", "never");

  @Test
  void ownPgOnceIsRefused() {
    assertRefused(Own.class, "bean mine is a PgOnce beside", "PgOnceCustomizer");
    assertRefused(OwnOfTheSameName.class, "bean pgOnce is a PgOnce beside");
    start(NO_START, OneDataSource.class, OfAnotherDatabase.class);
  }

  static class Own {
    @Bean
    PgOnce mine(DataSource ours) {
      return PgOnce.using(ours);
    }
  }

  static class OwnOfTheSameName {
    @Bean
    PgOnce pgOnce(DataSource ours) {
      return PgOnce.using(ours);
    }
  }

  static class OfAnotherDatabase {
    @Bean(defaultCandidate = false)
    PgOnce theirs() {
      return PgOnce.using(new PGSimpleDataSource());
    }
  }

  @Test
  void entityManagerFactoryThatCannotJoinIsRefused() {
    assertRefused(Bare.class, "does not say what data source", "defaultCandidate = false");
    assertRefused(WithoutDataSource.class, "persistence unit unit has no DataSource");
    assertRefused(OfAnotherProvider.class, "with Hibernate or EclipseLink", "$Proxy");
    start(NO_START, OneDataSource.class, OnAnotherDataSource.class);
  }

  static class Bare {
    @Bean
    EntityManagerFactory factory() {
      return factory(false, null);
    }

    static EntityManagerFactory factory(boolean isInfo, @Nullable DataSource dataSource) {
      var nativeFactory = proxy(isInfo, (name) -> null);
      return proxy(
          isInfo,
          name ->
              switch (name) {
                case "getDataSource" -> dataSource;
                case "getNativeEntityManagerFactory" -> nativeFactory;
                case "getPersistenceUnitName" -> "unit";
                default -> null;
              });
    }

    private static EntityManagerFactory proxy(boolean isInfo, Function<String, Object> results) {
      var types =
          isInfo
              ? new Class<?>[] {EntityManagerFactory.class, EntityManagerFactoryInfo.class}
              : new Class<?>[] {EntityManagerFactory.class};
      return (EntityManagerFactory)
          Proxy.newProxyInstance(
              Bare.class.getClassLoader(),
              types,
              (self, method, arguments) ->
                  switch (method.getName()) {
                    case "equals" -> self == arguments[0];
                    case "hashCode" -> 1;
                    case "toString" -> "a factory";
                    default -> results.apply(method.getName());
                  });
    }
  }

  static class WithoutDataSource {
    @Bean
    EntityManagerFactory factory() {
      return Bare.factory(true, null);
    }
  }

  static class OfAnotherProvider {
    @Bean
    EntityManagerFactory factory(DataSource ours) {
      return Bare.factory(true, ours);
    }
  }

  static class OnAnotherDataSource {
    @Bean
    EntityManagerFactory factory() {
      return Bare.factory(true, new PGSimpleDataSource());
    }
  }

  @Test
  void transactionManagerThatDoesNotSayWhatItWorksOnIsRefused() {
    assertRefused(Global.class, "Global$Manager does not say", "JpaTransactionManager");
    start(NO_START, OneDataSource.class, GlobalElsewhere.class);
  }

  static class Global {
    @Bean
    PlatformTransactionManager manager() {
      return new Manager();
    }

    @SuppressWarnings("serial")
    static class Manager extends AbstractPlatformTransactionManager {
      @Override
      protected Object doGetTransaction() {
        return this;
      }

      @Override
      protected void doBegin(Object transaction, TransactionDefinition definition) {}

      @Override
      protected void doCommit(DefaultTransactionStatus status) {}

      @Override
      protected void doRollback(DefaultTransactionStatus status) {}
    }
  }

  static class GlobalElsewhere {
    @Bean(defaultCandidate = false)
    PlatformTransactionManager manager() {
      return new Global.Manager();
    }
  }

  @Test
  void severalDataSourcesNeedAWord() {
    assertThat(refusal(() -> start(NO_START, Several.class)))
        .hasMessageContainingAll("several: one, other", "pgonce.data-source", "@Primary");
    start(NO_START, Several.class, ThirdIsPrimary.class);
    start(with("pgonce.data-source", "other"), Several.class);
    assertThat(refusal(() -> start(with("pgonce.data-source", "otter"), Several.class)))
        .hasMessageContainingAll("otter is no DataSource bean", "one, other");
    assertThat(refusal(() -> start(NO_START)))
        .hasMessageContainingAll("there is none", "pgonce.enabled=false");
  }

  private static Map<String, Object> with(String name, Object value) {
    return Stream.concat(NO_START.entrySet().stream(), Stream.of(Map.entry(name, value)))
        .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
  }

  static class Several {
    @Bean
    DataSource one() {
      return new PGSimpleDataSource();
    }

    @Bean
    DataSource other() {
      return new PGSimpleDataSource();
    }
  }

  static class ThirdIsPrimary {
    @Bean
    @Primary
    DataSource third() {
      return new PGSimpleDataSource();
    }
  }

  @Test
  void listenersOfWhichThereIsNoOneInstanceAreRefused() {
    assertRefused(Prototype.class, "Prototype.handle", "in scope prototype", "singleton");
  }

  @Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
  static class Prototype {
    @PgOnceListener(channel = "signed_up")
    void handle(SignedUp signedUp) {}
  }

  @Test
  void neverIsRefusedInEachMode() {
    assertRefused(Never.class, "Never.handle", "propagation = NEVER", "in each mode");
  }

  static class Never {
    @Bean
    static Channel<SignedUp> leased() {
      return Channel.of("leased", SignedUp.class, Mode.AT_LEAST_ONCE);
    }

    @PgOnceListener(channel = "leased")
    @Transactional(propagation = Propagation.NEVER)
    void handle(SignedUp signedUp) {}
  }
}
