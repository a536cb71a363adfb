package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Notification;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Bean;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

/** What {@code @Transactional} does below a listener. */
@PgTest
@Tag("second")
class PropagationTest {

  static class Parts {

    @Autowired Effects effects;

    @Transactional
    public void joined(Job job) {
      effects.save(new Effect(job.number(), "joined"));
    }

    @Transactional
    public void failing(Job job) {
      effects.save(new Effect(job.number(), "failing"));
      throw new IllegalArgumentException("marks the transaction for rollback");
    }

    @Transactional(propagation = Propagation.REQUIRES_NEW)
    public void apart(Job job) {
      effects.save(new Effect(job.number(), "apart"));
    }

    @Transactional(propagation = Propagation.REQUIRES_NEW)
    public void failingApart(Job job) {
      effects.save(new Effect(job.number(), "failing apart"));
      throw new IllegalArgumentException("is its own");
    }
  }

  abstract static class Listener {

    @Autowired Parts parts;

    @Bean
    static Parts parts() {
      return new Parts();
    }
  }

  @Test
  void h43_swallowedInnerRollbackIsAFailure(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Swallows.class)) {
      service.publish(1, 1);
      service.awaitQuiet();
      assertThat(service.deadLetters()).isEqualTo(1);
      assertThat(database.queryLong("SELECT count(*) FROM effect")).isZero();
      assertThat(database.queryString("SELECT error FROM pgonce.dead_letter_status"))
          .contains("marked the transaction for rollback");
    }
  }

  static class Swallows extends Listener {

    @PgOnceListener(channel = "job", maxAttempts = "1")
    void handle(Job job) {
      parts.joined(job);
      try {
        parts.failing(job);
      } catch (IllegalArgumentException e) {
        // as if nothing had happened
      }
    }
  }

  @Test
  void requiresNewIsItsOwn(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Apart.class)) {
      service.publish(1, 1);
      service.awaitQuiet();
      assertThat(service.effects("apart")).as("one for each attempt").isEqualTo(2);
      assertThat(service.effects("failing apart")).isZero();
      assertThat(service.effects("joined")).isEqualTo(1);
      assertThat(service.deadLetters()).isZero();
    }
  }

  static class Apart extends Listener {

    @PgOnceListener(channel = "job")
    void handle(Job job, Notification<Job> notification) {
      parts.joined(job);
      parts.apart(job);
      try {
        parts.failingApart(job);
      } catch (IllegalArgumentException e) {
        // no failure of this listener's
      }
      if (notification.attempt() == 1) {
        throw new IllegalStateException("at first");
      }
    }
  }

  @Test
  void ownConnectionAndOtherThreadsStayIfTheAttemptFails(TestDatabase database) throws Exception {
    try (var service = Service.start(database, WorksApart.class)) {
      service.publish(1, 1);
      service.awaitQuiet();
      assertThat(service.deadLetters()).isEqualTo(1);
      assertThat(service.effects("own connection")).isEqualTo(1);
      assertThat(service.effects("other thread")).isEqualTo(1);
      assertThat(service.effects("listener")).isZero();
    }
  }

  static class WorksApart {

    @Autowired Effects effects;
    @Autowired DataSource pool;

    @PgOnceListener(channel = "job", maxAttempts = "1")
    void handle(Job job) throws SQLException {
      effects.save(new Effect(job.number(), "listener"));
      try (var connection = pool.getConnection();
          var statement = connection.createStatement()) {
        statement.execute("INSERT INTO effect (number, how) VALUES (1, 'own connection')");
      }
      CompletableFuture.runAsync(() -> effects.save(new Effect(job.number(), "other thread")))
          .join();
      throw new IllegalStateException("the attempt fails");
    }
  }
}
