package org.pgonce.spring.slice;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.Status;
import org.pgonce.spring.internal.PgOnceEndpoint;
import org.pgonce.spring.slice.Channels.Left;
import org.pgonce.spring.slice.Channels.SignedUp;
import org.pgonce.spring.test.PgOnceListenerTest;
import org.pgonce.test.PgOnceTester;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.test.context.ActiveProfiles;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.web.context.WebApplicationContext;

/** The application's files name a database that is not there. */
@PgOnceListenerTest
@ActiveProfiles("developer")
class ListenerSliceTest {

  @Autowired PgOnceTester pgonce;
  @Autowired Channel<SignedUp> signedUp;
  @Autowired Channel<Left> left;
  @Autowired ApplicationContext context;

  @BeforeEach
  void empty() {
    pgonce.execute("truncate author cascade");
  }

  @Test
  void publishesDrainsAndAsserts() {
    pgonce.publish(signedUp, new SignedUp("Ada"));
    pgonce.drain(signedUp); // runs Greetings.greet, on this thread, in Spring's transaction
    assertThat(pgonce.count("select count(*) from author where name = 'Ada'")).isEqualTo(1);
    assertThat(pgonce).hasPublished(left).withDelay(Duration.ofDays(30)).once();
    assertThat(pgonce.drain(left)).isZero(); // it is not due
    pgonce.advance(Duration.ofDays(30));
    pgonce.drain(left);
    assertThat(pgonce.count("select count(*) from author")).isZero();
    assertThat(pgonce).isEmpty();
  }

  @Test
  void triesWhetherAListenersEffectsAreOnce() {
    for (var user = 1; user <= 5; user++) {
      pgonce.publish(left, new Left("Ada" + user));
      pgonce.execute("insert into author (name) values ('Ada%d')".formatted(user));
    }
    pgonce.chaos(left).assertEffectsOnce("select 5 - count(*) from author");
  }

  @Test
  void hasItsListenersAndTheDatabaseAndNothingElse() {
    assertThat(context.getBeanNamesForType(Greetings.class)).hasSize(1);
    assertThat(context.getBeanNamesForType(Farewells.class)).hasSize(1);
    assertThat(context.getBeanNamesForType(JdbcTemplate.class)).hasSize(1);
    assertThat(context.getBeanNamesForType(PlatformTransactionManager.class)).hasSize(1);
    assertThat(context.getBeanNamesForType(Pages.class)).isEmpty();
    assertThat(context.getBeanNamesForType(Clock.class)).isEmpty();
    assertThat(context.getBeanNamesForType(Others.class)).isEmpty();
    assertThat(context.getBeanNamesForType(PgOnceEndpoint.class)).isEmpty();
    assertThat(context).isNotInstanceOf(WebApplicationContext.class);
    assertThat(context.getBeanDefinitionNames())
        .as("of Boot's web, security, metrics, JSON")
        .noneMatch(
            name ->
                name.matches(
                    "(?i).*(servlet|mvc|security|meterregistry|objectmapper|jsonmapper).*"));
  }

  @Test
  void listensToNothing() {
    assertThat(context.getBean(PgOnce.class).status().state()).isEqualTo(Status.State.NEW);
  }

  @Test
  void hasAFreshDatabaseThroughTheServicesOwnPool() {
    var pool = context.getBean(HikariDataSource.class);
    assertThat(pool.getJdbcUrl()).contains("/pgonce_test_");
    assertThat(pool.getPoolName()).isEqualTo("developers");
    assertThat(pgonce.count("select count(*) from flyway_schema_history")).isPositive();
  }
}
