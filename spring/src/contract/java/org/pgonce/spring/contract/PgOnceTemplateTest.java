package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.Message;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.PgOnceTemplate;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.dao.DataAccessException;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.event.TransactionPhase;
import org.springframework.transaction.event.TransactionalEventListener;
import org.springframework.transaction.support.TransactionTemplate;

/** Publishing in Spring's transaction. */
@PgTest
@Tag("second")
class PgOnceTemplateTest {

  static final Channel<Job> FOLLOW_UP = Channel.of("follow_up", Job.class);

  @Test
  void h1_publishedIfAndOnlyIfTheTransactionCommits(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Relay.class)) {
      var pgonce = service.bean(PgOnceTemplate.class);
      var transactions = service.bean(TransactionTemplate.class);
      Channel<Job> channel = Channel.of("job", Job.class);
      transactions.executeWithoutResult(
          status -> {
            pgonce.publish(channel, new Job(1));
            status.setRollbackOnly();
          });
      var key = PublishOptions.DEFAULT.withDeliveryKey("4");
      transactions.executeWithoutResult(
          status -> {
            service.bean(Effects.class).save(new Effect(0, "beside"));
            pgonce.publish(channel, new Job(2));
            pgonce.publishAll(channel, List.of(new Job(3)));
            assertThat(pgonce.publish(channel, new Job(4), key).stored()).isTrue();
            pgonce.publishEach(channel, List.of(new Message<>(new Job(5))));
          });
      service.awaitQuiet();
      assertThat(
              database.queryString("SELECT string_agg(how, ' ' ORDER BY number, how) FROM effect"))
          .isEqualTo("beside handled 2 handled 3 handled 4 handled 5");
    }
  }

  @Test
  void outsideOfATransactionItSaysSo(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Relay.class)) {
      var pgonce = service.bean(PgOnceTemplate.class);
      assertThatThrownBy(() -> pgonce.publish(FOLLOW_UP, new Job(1)))
          .isInstanceOf(IllegalTransactionStateException.class)
          .hasMessageContainingAll("follow_up", "outside of a transaction", "@Transactional");
      Channel<Job> unknown = Channel.of("unknown", Job.class);
      assertThatThrownBy(
              () ->
                  service
                      .bean(TransactionTemplate.class)
                      .execute(status -> pgonce.publish(unknown, new Job(1))))
          .isInstanceOf(DataAccessException.class)
          .hasMessageContaining("unknown");
    }
  }

  /**
   * Spring still has its transaction's connection then, and a pool rolls back what is left on it.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h1_publishingBehindTheCommitIsRefused(boolean autoCommit, TestDatabase database)
      throws Exception {
    try (var service =
        Service.start(
            database,
            BehindTheCommit.class,
            "spring.datasource.hikari.auto-commit=" + autoCommit,
            "spring.jpa.properties.hibernate.connection.provider_disables_autocommit="
                + !autoCommit)) {
      var transactions = service.bean(TransactionTemplate.class);
      var published = service.bean(BehindTheCommit.class);
      transactions.executeWithoutResult(status -> published.event(1));
      transactions.executeWithoutResult(
          status -> {
            published.event(10);
            status.setRollbackOnly();
          });
      assertThat(published.refused)
          .hasSize(3)
          .allSatisfy(said -> assertThat(said).contains("publish to channel job: called "))
          .first(InstanceOfAssertFactories.STRING)
          .contains("behind", "BEFORE_COMMIT", "REQUIRES_NEW");
      service.awaitQuiet();
      assertThat(database.queryString("SELECT string_agg(how, ' ' ORDER BY how) FROM effect"))
          .isEqualTo("before of its own");
    }
  }

  static class BehindTheCommit {

    final List<String> refused = new CopyOnWriteArrayList<>();
    @Autowired PgOnceTemplate pgonce;
    @Autowired ApplicationEventPublisher events;
    @Autowired PlatformTransactionManager manager;
    @Autowired Effects effects;

    record Written(long number) {}

    void event(long number) {
      events.publishEvent(new Written(number));
    }

    @TransactionalEventListener(phase = TransactionPhase.BEFORE_COMMIT)
    void before(Written written) {
      pgonce.publish(Channel.of("job", Job.class), new Job(1));
    }

    @TransactionalEventListener
    void afterCommit(Written written) {
      publish(2);
      var own = new TransactionTemplate(manager);
      own.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
      own.executeWithoutResult(status -> pgonce.publish(Channel.of("job", Job.class), new Job(3)));
    }

    @TransactionalEventListener(phase = TransactionPhase.AFTER_COMPLETION)
    void afterCompletion(Written written) {
      publish(4);
    }

    private void publish(long number) {
      try {
        pgonce.publish(Channel.of("job", Job.class), new Job(number));
      } catch (IllegalTransactionStateException e) {
        refused.add(String.valueOf(e.getMessage()));
      }
    }

    @PgOnceListener(channel = "job")
    void handle(Job job) {
      effects.save(
          new Effect(
              job.number(),
              job.number() == 1 ? "before" : job.number() == 3 ? "of its own" : "lost or apart"));
    }
  }

  @Test
  void readOnlyTransactionIsNamed(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Relay.class)) {
      var transactions = new TransactionTemplate(service.bean(PlatformTransactionManager.class));
      transactions.setReadOnly(true);
      assertThatThrownBy(
              () ->
                  transactions.execute(
                      status -> service.bean(PgOnceTemplate.class).publish(FOLLOW_UP, new Job(1))))
          .isInstanceOf(DataAccessException.class)
          .hasMessageContainingAll("follow_up", "the transaction is read-only", "readOnly = true");
    }
  }

  /** As with a second codec, or in a service without the starter. */
  @Test
  void oneOfTheServicesOwnPublishesToo(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Own.class)) {
      var pgonce = service.bean(Own.class).template;
      service
          .bean(TransactionTemplate.class)
          .executeWithoutResult(
              status -> {
                pgonce.propagate(); // nothing traces here
                pgonce.publish(Channel.of("job", Job.class), new Job(1));
              });
      service.awaitQuiet();
      assertThat(service.effects("of its own")).isEqualTo(1);
    }
  }

  /**
   * Its publisher is the only one to be injected, by whatever name, though the starter has one that
   * observes.
   */
  static class Own {

    private final Effects effects;
    final PgOnceTemplate template;

    Own(DataSource dataSource, Publisher only, Effects effects) {
      this.template = new PgOnceTemplate(dataSource, only);
      this.effects = effects;
    }

    @Bean
    static Publisher publisher(PgOnce pgonce) {
      return pgonce.publisher();
    }

    @PgOnceListener(channel = "job")
    void handle(Job job) {
      effects.save(new Effect(job.number(), "of its own"));
    }
  }

  /** What a listener publishes is undone with its attempt. */
  static class Relay {

    @Autowired PgOnceTemplate pgonce;
    @Autowired Effects effects;

    @Bean
    static Channel<Job> followUp() {
      return FOLLOW_UP;
    }

    @PgOnceListener(channel = "job")
    void relay(Job job, Notification<Job> notification) {
      pgonce.publish(FOLLOW_UP, job);
      if (notification.attempt() == 1) {
        throw new IllegalStateException("at first");
      }
    }

    @PgOnceListener(channel = "follow_up")
    void handle(Job job) {
      effects.save(new Effect(job.number(), "handled " + job.number()));
    }
  }
}
