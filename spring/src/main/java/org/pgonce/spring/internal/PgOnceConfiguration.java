package org.pgonce.spring.internal;

import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.operations.Operations;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spring.PgOnceCustomizer;
import org.pgonce.spring.PgOnceProperties;
import org.pgonce.spring.PgOnceTemplate;
import org.pgonce.spring.internal.transaction.TransactionEnd;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.orm.jpa.EntityManagerFactoryInfo;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

/** The beans that both starters bring. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(PgOnceProperties.class)
@Import({TestConfiguration.class, ConsoleConfiguration.class})
public class PgOnceConfiguration {

  /** Of MicrometerConfiguration, whose types may not be there. */
  static final String OBSERVED_PUBLISHER = "pgOnceObservedPublisher";

  /** What core needs at most behind its stop timeout, and one second. */
  private static final Duration TO_STOP_AFTERWARDS = Duration.ofSeconds(6);

  private static final Duration DEFAULT_PHASE_TIMEOUT = Duration.ofSeconds(30);
  private static final Duration DEFAULT_STOP_TIMEOUT = Duration.ofSeconds(20);

  @Bean
  Channels pgOnceChannels(ObjectProvider<Map<String, Channel<?>>> channels) {
    return new Channels(channels.getIfAvailable(Map::of));
  }

  @Bean
  static OnlyPgOnce pgOnceIsOne() {
    return new OnlyPgOnce();
  }

  @Bean
  @ConditionalOnProperty(name = "pgonce.warn-second-connection")
  static WatchedPools pgOnceWatchedPools() {
    return new WatchedPools();
  }

  @Bean
  OurDataSource pgOnceDataSource(ListableBeanFactory beans, PgOnceProperties properties) {
    return OurDataSource.choose(beans, properties.dataSource());
  }

  @Bean
  JoinedResources pgOnceResources(
      ListableBeanFactory beans,
      OurDataSource ours,
      ObjectProvider<PlatformTransactionManager> managers,
      ObjectProvider<JoinedResources.Finder> finders) {
    return new JoinedResources(beans, ours, managers, finders);
  }

  @Bean
  JoinedTransactions pgOnceTransactions(JoinedResources resources) {
    return new JoinedTransactions(resources);
  }

  /** So that PgOnceTemplate sees what is not in a transaction of its own, or behind its commit. */
  @Bean
  SmartInitializingSingleton pgOnceTransactionEnds(ListableBeanFactory beans) {
    // Of those for other databases too: within their transactions nothing is to be published.
    return () ->
        BeanFactoryUtils.beansOfTypeIncludingAncestors(
                beans, ConfigurableTransactionManager.class, false, false)
            .values()
            .forEach(manager -> manager.addListener(new TransactionEnd.Witness()));
  }

  @Bean(OnlyPgOnce.NAME)
  // Another is refused with what to do; that of a parent context starts and stops with the parent.
  @ConditionalOnMissingBean(name = OnlyPgOnce.NAME, search = SearchStrategy.CURRENT)
  PgOnce pgOnce(
      OurDataSource ours,
      PgOnceProperties properties,
      Environment environment,
      ObjectProvider<PayloadCodec> codec,
      ObjectProvider<Observer> observers,
      ObjectProvider<HandlerInterceptor> interceptors,
      ObjectProvider<PgOnceCustomizer> customizers) {
    var builder = PgOnce.builder(ours.pool());
    set("start-timeout", properties.startTimeout(), builder::startTimeout);
    set("stop-timeout", stopTimeout(properties, environment), builder::stopTimeout);
    set("poll-interval", properties.pollInterval(), builder::pollInterval);
    set("instance", properties.instance(), builder::instance);
    if (properties.listenAddress() != null) {
      builder.listenAddress(properties.listenAddress().toListenAddress());
    }
    codec.ifAvailable(builder::codec);
    observers.orderedStream().forEach(builder::observer);
    builder.interceptors(interceptors.orderedStream().toArray(HandlerInterceptor[]::new));
    customizers.orderedStream().forEach(customizer -> customizer.customize(builder));
    return builder.build();
  }

  @Bean
  Registrar pgOnceRegistrar(
      ConfigurableListableBeanFactory beans,
      PgOnce pgonce,
      Channels channels,
      PgOnceProperties properties,
      ObjectProvider<Registrar.Witness> witnesses,
      Environment environment) {
    return new Registrar(beans, pgonce, channels, properties, witnesses, environment);
  }

  @Bean
  @DependsOnDatabaseInitialization // also where beans are lazy: Flyway, Liquibase, schema.sql
  PgOnceInstallation pgOnceInstallation(
      PgOnce pgonce, Channels channels, PgOnceProperties properties) {
    return new PgOnceInstallation(pgonce, channels, properties);
  }

  @Bean
  PgOnceLifecycle pgOnceLifecycle(
      PgOnce pgonce,
      PgOnceInstallation installation,
      Registrar listeners,
      PgOnceProperties properties,
      Environment environment) {
    return new PgOnceLifecycle(
        pgonce, installation, listeners, properties, stopTimeout(properties, environment));
  }

  private static <T> void set(String property, @Nullable T value, Consumer<T> setter) {
    if (value == null) {
      return;
    }
    try {
      setter.accept(value);
    } catch (IllegalArgumentException e) {
      throw new Refusal("pgonce." + property + ": " + e.getMessage(), e);
    }
  }

  private static Duration stopTimeout(PgOnceProperties properties, Environment environment) {
    var set = properties.stopTimeout();
    var wanted = set == null ? DEFAULT_STOP_TIMEOUT : set;
    var phase =
        environment.getProperty(
            "spring.lifecycle.timeout-per-shutdown-phase", Duration.class, DEFAULT_PHASE_TIMEOUT);
    var most = phase.minus(TO_STOP_AFTERWARDS);
    return most.isNegative() ? Duration.ZERO : wanted.compareTo(most) > 0 ? most : wanted;
  }

  @Bean
  @ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
  PgOnceTemplate pgOnceTemplate(
      OurDataSource ours,
      PgOnce pgonce,
      @Qualifier(OBSERVED_PUBLISHER) ObjectProvider<Publisher> observed) {
    return new PgOnceTemplate(ours.bean(), observed.getIfAvailable(pgonce::publisher));
  }

  /** Where JPA is there. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({EntityManagerFactory.class, EntityManagerFactoryInfo.class})
  static class Jpa {

    @Bean
    JoinedResources.Finder pgOnceEntityManagers(
        ListableBeanFactory beans,
        OurDataSource ours,
        ObjectProvider<EntityManagerFactory> factories) {
      return new EntityManagers(beans, ours, factories);
    }
  }

  /** Where Actuator is there. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
  static class Actuator {

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnAvailableEndpoint
    PgOnceEndpoint pgOnceEndpoint(OurDataSource ours, PgOnce pgonce, Channels channels) {
      return new PgOnceEndpoint(pgonce, Operations.over(ours.pool()), channels);
    }
  }
}
