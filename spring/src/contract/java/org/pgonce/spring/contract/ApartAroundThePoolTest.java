package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.PgOnceTemplate;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * A transaction that a listener has beside its own is one for JPA, JDBC and what is published,
 * whatever stands around the pool, and whatever Spring looks each of them up by.
 */
@PgTest
@Tag("second")
class ApartAroundThePoolTest {

  private static final int LAST = 4;

  private static final String EFFECTS =
      """
      SELECT string_agg(how || ' ' || number, ', ' ORDER BY how)
        FROM (SELECT how, count(*) AS number FROM effect GROUP BY how) AS each
      """;

  @ParameterizedTest
  @ValueSource(
      classes = {
        WrappedDataSourcesTest.Lazy.class,
        WrappedDataSourcesTest.Aware.class,
        WrappedDataSourcesTest.ReadsElsewhere.class
      })
  void s1_whatRunsApartIsOneTransaction(Class<?> dataSources, TestDatabase database)
      throws Exception {
    try (var service = WrappedDataSourcesTest.around(dataSources, database, Listener.class)) {
      service.publish(1, LAST);
      service.awaitQuiet();
      assertThat(service.deadLetters()).as("all but the last").isEqualTo(LAST - 1);
      assertThat(database.queryString(EFFECTS))
          .isEqualTo(
              "apart JDBC 4, apart JPA 4, apart published 4, within JDBC 1, within JPA 1, within elsewhere JDBC 1, without JDBC 4");
    }
  }

  static class Listener {

    @Autowired PgOnceTemplate pgonce;
    @Autowired PlatformTransactionManager manager;
    @Autowired Effects effects;
    @Autowired JdbcTemplate jdbc;

    @Value("${pool.url}")
    String url;

    @Value("${pool.user}")
    String user;

    @Value("${pool.password}")
    String password;

    @Bean
    static Channel<Job> followUp() {
      return Channel.of("follow_up", Job.class);
    }

    @PgOnceListener(channel = "job", maxAttempts = "1")
    void handle(Job job) {
      work(job, "within");
      elsewhere().executeWithoutResult(status -> insert(job, "within elsewhere JDBC"));
      var apart = new TransactionTemplate(manager);
      apart.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
      apart.executeWithoutResult(
          status -> {
            work(job, "apart");
            pgonce.publish(followUp(), job);
          });
      apart.executeWithoutResult(
          status -> {
            work(job, "undone");
            pgonce.publish(followUp(), job);
            status.setRollbackOnly();
          });
      var without = new TransactionTemplate(manager);
      without.setPropagationBehavior(TransactionDefinition.PROPAGATION_NOT_SUPPORTED);
      without.executeWithoutResult(status -> insert(job, "without JDBC"));
      if (job.number() < LAST) {
        throw new IllegalStateException("fails");
      }
    }

    /** A transaction of another data source has nothing to do with the pool. */
    private TransactionTemplate elsewhere() {
      var other = new DriverManagerDataSource(url, user, password);
      return new TransactionTemplate(new DataSourceTransactionManager(other));
    }

    private void work(Job job, String how) {
      effects.save(new Effect(job.number(), how + " JPA"));
      insert(job, how + " JDBC");
    }

    private void insert(Job job, String how) {
      jdbc.update("INSERT INTO effect (number, how) VALUES (?, ?)", job.number(), how);
    }

    @PgOnceListener(channel = "follow_up")
    void follow(Job job) {
      effects.save(new Effect(job.number(), "apart published"));
    }
  }
}
