package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import org.hibernate.SessionFactory;
import org.pgonce.testkit.TestDatabase;
import org.springframework.context.ConfigurableApplicationContext;

/** A started {@link ContractApplication}, and what a test asks about it. */
record Service(TestDatabase database, ConfigurableApplicationContext context)
    implements AutoCloseable {

  static final Duration BOUND = Duration.ofSeconds(30);

  static Service start(TestDatabase database, Class<?> listeners, String... settings) {
    return new Service(database, ContractApplication.start(database, listeners, settings));
  }

  <B> B bean(Class<B> type) {
    return context.getBean(type);
  }

  void publish(int first, int last) throws Exception {
    database.execute(ContractApplication.PUBLISH.formatted(first, last));
  }

  long effects(String how) throws Exception {
    return database.queryLong("SELECT count(*) FROM effect WHERE how = '%s'".formatted(how));
  }

  long deadLetters() throws Exception {
    return database.queryLong("SELECT count(*) FROM pgonce.dead_letter");
  }

  /** Nothing waits, and nothing is at work. */
  void awaitQuiet() {
    awaitQuiet(database);
  }

  static void awaitQuiet(TestDatabase database) {
    await().atMost(BOUND).untilAsserted(() -> assertThat(waiting(database)).isZero());
  }

  /** Of any subscription; 0 is the planner's. */
  static long waiting(TestDatabase database) throws Exception {
    return database.queryLong(
        """
        SELECT (SELECT count(*) FROM pgonce.notification WHERE subscription_id <> 0)
             + (SELECT count(*) FROM pgonce.scheduled WHERE subscription_id <> 0)
        """);
  }

  /** No connection is in use and no session open. */
  @Override
  public void close() {
    context.stop();
    var pool = context.getBean(HikariDataSource.class).getHikariPoolMXBean();
    var statistics =
        context.getBean(EntityManagerFactory.class).unwrap(SessionFactory.class).getStatistics();
    try {
      // The meters' look may be under way.
      await().atMost(BOUND).untilAsserted(() -> assertThat(pool.getActiveConnections()).isZero());
      assertThat(statistics.getSessionOpenCount()).isEqualTo(statistics.getSessionCloseCount());
    } finally {
      context.close();
    }
  }
}
