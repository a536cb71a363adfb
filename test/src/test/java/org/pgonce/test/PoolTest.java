package org.pgonce.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.time.Instant;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;
import org.pgonce.PublishOptions;
import org.postgresql.ds.PGSimpleDataSource;

/** Over a small pool without autocommit, with a login that is no superuser. */
@PgOnceTest
class PoolTest {

  private static final Channel<Integer> ONE = Channel.of("one", Integer.class);

  private final String role = "tester_" + UUID.randomUUID().toString().replace("-", "");

  @BeforeEach
  void login(PgOnceTester pgonce) {
    pgonce.install(ONE);
    pgonce.execute("create table seen (one int)");
    pgonce.execute("create role " + role + " login");
    pgonce.execute("grant all on table seen to " + role);
    pgonce.execute("grant pgonce_publisher, pgonce_listener to " + role);
  }

  @AfterEach
  void noLogin(PgOnceTester pgonce) {
    pgonce.execute("drop owned by " + role);
    pgonce.execute("drop role " + role);
  }

  private HikariDataSource pool(PgOnceTester pgonce) {
    var config = new HikariConfig();
    config.setJdbcUrl(((PGSimpleDataSource) pgonce.dataSource()).getURL());
    config.setUsername(role);
    config.setMaximumPoolSize(2); // the handler's, and one for what the kit does meanwhile
    config.setAutoCommit(false);
    return new HikariDataSource(config);
  }

  @Test
  void api_allOfItWorks(PgOnceTester pgonce) {
    pgonce.execute("grant pgonce_owner to " + role);
    try (var pool = pool(pgonce)) {
      var tester = PgOnceTester.on(pool);
      for (var i = 1; i <= 5; i++) {
        tester.publish(ONE, i, PublishOptions.DEFAULT.withDelay(Duration.ofHours(1)));
      }
      assertThat(tester).hasPublished(ONE).withDelay(Duration.ofHours(1)).times(5);
      tester.advance(Duration.ofHours(1));
      tester
          .chaos(ONE, (one, tx) -> tx.update("insert into seen values (?)", one.payload()))
          .assertEffectsOnce("select count(*) from seen");
      assertThat(tester).isEmpty();
      // By a date that means never.
      var never = PublishOptions.DEFAULT.withDueAt(Instant.parse("9999-12-31T00:00:00Z"));
      tester.publish(ONE, 6, never);
      assertThat(tester).hasPublished(ONE).times(1);
    }
  }

  @Test
  void api_saysWhichLoginItNeeds(PgOnceTester pgonce) {
    try (var pool = pool(pgonce)) {
      var tester = PgOnceTester.on(pool);
      assertThatThrownBy(() -> assertThat(tester).isEmpty())
          .isInstanceOf(PgOnceException.class)
          .hasMessageStartingWith("PgOnceTester cannot look into pgonce's tables: ")
          .hasMessageEndingWith(
              ". It acts as pgonce_owner: its login must be a superuser, or the one that installed pgonce");
    }
  }
}
