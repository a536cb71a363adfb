package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.zaxxer.hikari.HikariDataSource;
import java.util.Map;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.Notification;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.PgOnceTemplate;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.slf4j.LoggerFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** What stands around the pool is seen through; another pool is not taken for it. */
@PgTest
@Tag("second")
class WrappedDataSourcesTest {

  @ParameterizedTest
  @ValueSource(
      classes = {
        Lazy.class,
        Aware.class,
        OnlyJdbcIsLazy.class,
        ReadsElsewhere.class,
        Routed.class,
        BesideTenants.class
      })
  void s1_repositoriesAndJdbcJoinAroundThePool(Class<?> wrapper, TestDatabase database)
      throws Exception {
    try (var service = around(wrapper, database, Listener.class)) {
      service.publish(1, 5);
      service.awaitQuiet();
      assertThat(service.effects("repository")).isEqualTo(5);
      assertThat(service.effects("JDBC")).isEqualTo(5);
      service
          .bean(TransactionTemplate.class)
          .execute(
              status ->
                  service
                      .bean(PgOnceTemplate.class)
                      .publish(Channel.of("job", Job.class), new Job(6)));
      service.awaitQuiet();
      assertThat(service.effects("repository")).isEqualTo(6);
    }
  }

  /** A service whose pool has something around it. */
  static Service around(Class<?> wrapper, TestDatabase database, Class<?> listeners) {
    return Service.start(
        database,
        listeners,
        "spring.main.sources=" + wrapper.getName(),
        "pool.url=" + database.jdbcUrl(),
        "pool.user=" + database.user(),
        "pool.password=" + database.password());
  }

  static class Pool {

    @Bean
    static HikariDataSource pool(Environment environment) {
      var pool = new HikariDataSource();
      pool.setJdbcUrl(environment.getRequiredProperty("pool.url"));
      pool.setUsername(environment.getRequiredProperty("pool.user"));
      pool.setPassword(environment.getRequiredProperty("pool.password"));
      return pool;
    }
  }

  static class Listener {

    @Autowired Effects effects;
    @Autowired JdbcTemplate template;

    @PgOnceListener(channel = "job")
    void handle(Job job, Notification<Job> notification) {
      assertThat(effects.count()).isNotNegative(); // @Transactional(readOnly = true)
      effects.save(new Effect(job.number(), "repository"));
      template.update("INSERT INTO effect (number, how) VALUES (?, 'JDBC')", job.number());
      if (notification.attempt() == 1) {
        throw new IllegalStateException("at first");
      }
    }
  }

  static class Lazy extends Pool {
    @Bean
    @Primary
    static DataSource lazy(HikariDataSource pool) {
      return new LazyConnectionDataSourceProxy(pool);
    }
  }

  static class Aware extends Pool {
    @Bean
    @Primary
    static DataSource aware(HikariDataSource pool) {
      return new TransactionAwareDataSourceProxy(pool);
    }
  }

  /** A replica for what is readOnly, which no listener may reach. */
  private static final DataSource NOWHERE =
      new DriverManagerDataSource("jdbc:postgresql://127.0.0.1:1/replica", "nobody", "");

  static class ReadsElsewhere extends Pool {
    @Bean
    @Primary
    static DataSource reads(HikariDataSource pool) {
      var lazy = new LazyConnectionDataSourceProxy(pool);
      lazy.setReadOnlyDataSource(NOWHERE);
      return lazy;
    }
  }

  static class Routed extends Pool {
    @Bean
    @Primary
    static DataSource routed(HikariDataSource pool) {
      var routing =
          new AbstractRoutingDataSource() {
            @Override
            protected Object determineCurrentLookupKey() {
              return TransactionSynchronizationManager.isCurrentTransactionReadOnly();
            }
          };
      routing.setTargetDataSources(Map.of(false, pool, true, NOWHERE));
      routing.afterPropertiesSet();
      return new LazyConnectionDataSourceProxy(routing);
    }
  }

  /** A data source of tenants has no target where there is none, as at the start. */
  static class BesideTenants extends Lazy {
    @Bean(defaultCandidate = false)
    static DataSource tenants() {
      var routing =
          new AbstractRoutingDataSource() {
            @Override
            protected Object determineCurrentLookupKey() {
              throw new IllegalStateException("no tenant is set");
            }
          };
      routing.setTargetDataSources(Map.of("one", NOWHERE));
      routing.afterPropertiesSet();
      return routing;
    }
  }

  /** Transactions go by the pool, pgonce by what is around it. */
  static class OnlyJdbcIsLazy extends Lazy {
    @Bean
    static LocalContainerEntityManagerFactoryBean entityManagerFactory(HikariDataSource pool) {
      var factory = new LocalContainerEntityManagerFactoryBean();
      factory.setDataSource(pool);
      factory.setPackagesToScan("org.pgonce.spring.contract");
      factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
      factory.getJpaPropertyMap().put("hibernate.generate_statistics", "true");
      return factory;
    }
  }

  /** Also where a connection of the pool looks as if it had a transaction. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h1_publishWithinATransactionOfAnotherDataSourceIsRefused(
      boolean autoCommit, TestDatabase database) throws Exception {
    try (var service =
        Service.start(
            database, Elsewhere.class, "spring.datasource.hikari.auto-commit=" + autoCommit)) {
      var foreign = new TransactionTemplate(service.bean(DataSourceTransactionManager.class));
      assertThatThrownBy(
              () ->
                  foreign.execute(
                      status -> {
                        // Spring keeps this connection until the foreign transaction ends.
                        service.bean(JdbcTemplate.class).queryForObject("SELECT 1", Long.class);
                        return service
                            .bean(PgOnceTemplate.class)
                            .publish(Channel.of("job", Job.class), new Job(1));
                      }))
          .isInstanceOf(IllegalTransactionStateException.class)
          .hasMessageContainingAll("job", "outside of a transaction on pgonce's data source");
      assertThat(
              database.queryLong(
                  "SELECT count(*) FROM pgonce.notification WHERE subscription_id <> 0"))
          .isZero();
    }
  }

  static class Elsewhere {
    @Bean(defaultCandidate = false)
    static DataSourceTransactionManager elsewhere(Environment environment) {
      return new DataSourceTransactionManager(
          new DriverManagerDataSource(
              environment.getRequiredProperty("spring.datasource.url"),
              environment.getRequiredProperty("spring.datasource.username"),
              environment.getRequiredProperty("spring.datasource.password")));
    }
  }

  static class Nothing {}

  /** The bean that the pool is asked for by stays of its class. */
  @Test
  void poolIsWatchedIfAskedForAndElseNoProxy(TestDatabase database) throws Exception {
    // Stays open, or Boot would set up logging anew and lose the appender.
    try (var service = Service.start(database, Nothing.class)) {
      assertThat(AopUtils.isAopProxy(service.bean(DataSource.class))).isFalse();
      var logger =
          (ch.qos.logback.classic.Logger)
              LoggerFactory.getLogger("org.pgonce.pools.WatchedDataSource");
      var lines = new ListAppender<ILoggingEvent>();
      lines.start();
      logger.addAppender(lines);
      try (var apart =
          Service.start(
              database, PropagationTest.Apart.class, "pgonce.warn-second-connection=true")) {
        apart.publish(1, 1);
        apart.awaitQuiet();
      } finally {
        logger.detachAppender(lines);
      }
      assertThat(lines.list)
          .anySatisfy(
              line -> assertThat(line.getFormattedMessage()).contains("takes a second connection"));
    }
  }
}
