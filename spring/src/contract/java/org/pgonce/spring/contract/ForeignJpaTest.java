package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceContext;
import jakarta.persistence.TransactionRequiredException;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Notification;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.annotation.Transactional;

/** Entity managers of another database, and what Spring does to those of pgonce's. */
@PgTest
@Tag("second")
class ForeignJpaTest {

  @Test
  void persistWithoutATransactionOfItsOwnIsRefusedAndNotLost(TestDatabase database)
      throws Exception {
    var context =
        ContractApplication.start(
            database,
            Both.class,
            "pool.url=" + database.jdbcUrl(),
            "pool.user=" + database.user(),
            "pool.password=" + database.password());
    try (var service = new Service(database, context)) {
      service.publish(1, 1);
      service.awaitQuiet();
      assertThat(service.effects("ours, in batches of 7")).isEqualTo(1);
      assertThat(service.effects("refused")).isEqualTo(1);
      assertThat(service.effects("theirs")).as("one for each attempt").isEqualTo(2);
      assertThat(service.deadLetters()).isZero();
    }
  }

  static class Theirs {

    @PersistenceContext(unitName = "theirs")
    private EntityManager entities;

    public EntityManager entities() { // this is behind a proxy
      return entities;
    }

    @Transactional("theirTransactions")
    public void write(Job job) {
      entities.persist(new Effect(job.number(), "theirs"));
    }
  }

  static class Both {

    @Autowired Effects effects;
    @Autowired Theirs theirs;

    @PersistenceContext(unitName = "ours")
    EntityManager entities;

    @PgOnceListener(channel = "job")
    void handle(Job job, Notification<Job> notification) {
      var batch = entities.unwrap(Session.class).getJdbcBatchSize();
      effects.save(new Effect(job.number(), "ours, in batches of " + batch));
      try {
        theirs.entities().persist(new Effect(job.number(), "lost"));
      } catch (TransactionRequiredException e) {
        effects.save(new Effect(job.number(), "refused"));
      }
      theirs.write(job);
      assertThat(theirs.entities().createQuery("SELECT count(e) FROM Effect e").getSingleResult())
          .isEqualTo((long) notification.attempt());
      if (notification.attempt() == 1) {
        throw new IllegalStateException("at first");
      }
    }

    @Bean
    static Theirs theirs() {
      return new Theirs();
    }

    @Bean
    @Primary
    static HikariDataSource pool(Environment environment) {
      var pool = new HikariDataSource();
      pool.setJdbcUrl(environment.getRequiredProperty("pool.url"));
      pool.setUsername(environment.getRequiredProperty("pool.user"));
      pool.setPassword(environment.getRequiredProperty("pool.password"));
      return pool;
    }

    @Bean
    static DataSource theirPool(Environment environment) {
      return new DriverManagerDataSource(
          environment.getRequiredProperty("pool.url"),
          environment.getRequiredProperty("pool.user"),
          environment.getRequiredProperty("pool.password"));
    }

    @Bean
    @Primary
    static LocalContainerEntityManagerFactoryBean entityManagerFactory(HikariDataSource pool) {
      var factory = factory("ours", pool);
      factory.setEntityManagerInitializer(
          entities -> entities.unwrap(Session.class).setJdbcBatchSize(7));
      return factory;
    }

    @Bean
    static LocalContainerEntityManagerFactoryBean theirFactory(
        @Qualifier("theirPool") DataSource theirPool) {
      return factory("theirs", theirPool);
    }

    private static LocalContainerEntityManagerFactoryBean factory(
        String unit, DataSource dataSource) {
      var factory = new LocalContainerEntityManagerFactoryBean();
      factory.setPersistenceUnitName(unit);
      factory.setDataSource(dataSource);
      factory.setPackagesToScan("org.pgonce.spring.contract");
      factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
      factory.getJpaPropertyMap().put("hibernate.generate_statistics", "true");
      return factory;
    }

    @Bean
    @Primary
    static JpaTransactionManager transactionManager(EntityManagerFactory entityManagerFactory) {
      return new JpaTransactionManager(entityManagerFactory);
    }

    @Bean
    static JpaTransactionManager theirTransactions(
        @Qualifier("theirFactory") EntityManagerFactory theirFactory) {
      return new JpaTransactionManager(theirFactory);
    }
  }
}
