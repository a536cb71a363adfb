package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Notification;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.event.TransactionPhase;
import org.springframework.transaction.event.TransactionalEventListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** {@code @TransactionalEventListener} around pgonce's commit. */
@PgTest
@Tag("second")
class TransactionEventsTest {

  @Test
  void eventsFollowTheCommitOrTheRollback(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Events.class)) {
      service.publish(1, 1);
      service.awaitQuiet();
      var heard = service.bean(Events.class).heard;
      await()
          .atMost(Service.BOUND)
          .untilAsserted(
              () ->
                  assertThat(heard)
                      .containsExactly(
                          "after rollback 1",
                          "before commit 2",
                          "after commit 2, with 2 rows and no transaction"));
      // Written before the commit, and so with it; of the first attempt nothing is left.
      assertThat(service.effects("before commit")).isEqualTo(1);
      assertThat(service.effects("handled")).isEqualTo(1);
      await()
          .atMost(Service.BOUND)
          .untilAsserted(() -> assertThat(service.effects("after commit")).isEqualTo(1));
    }
  }

  /** In Spring's order: before the completion, then the flush, then the commit. */
  @Test
  void h43_workBeforeTheCompletionIsOfTheTransaction(TestDatabase database) throws Exception {
    try (var service = Service.start(database, BeforeCompletion.class)) {
      service.publish(1, 2);
      service.awaitQuiet();
      assertThat(service.effects("completed")).isEqualTo(1);
      assertThat(database.queryLong("SELECT count(*) FROM effect")).isEqualTo(1);
      assertThat(service.deadLetters()).as("the one marked for rollback").isEqualTo(1);
    }
  }

  static class BeforeCompletion {

    @Autowired Effects effects;
    @Autowired TransactionTemplate transactions;

    @PgOnceListener(channel = "job", maxAttempts = "1")
    void handle(Job job) {
      var effect = effects.save(new Effect(job.number(), "handled"));
      TransactionSynchronizationManager.registerSynchronization(
          new TransactionSynchronization() {
            @Override
            public void beforeCompletion() {
              effect.becomes("completed");
              if (job.number() == 2) {
                transactions.executeWithoutResult(TransactionStatus::setRollbackOnly);
              }
            }
          });
    }
  }

  record Attempted(int attempt) {}

  static class Events {

    final List<String> heard = new CopyOnWriteArrayList<>();
    @Autowired Effects effects;
    @Autowired JdbcClient client;
    @Autowired ApplicationEventPublisher publisher;

    @PgOnceListener(channel = "job")
    void handle(Job job, Notification<Job> notification) {
      effects.save(new Effect(job.number(), "handled"));
      publisher.publishEvent(new Attempted(notification.attempt()));
      if (notification.attempt() == 1) {
        throw new IllegalStateException("at first");
      }
    }

    @TransactionalEventListener(phase = TransactionPhase.BEFORE_COMMIT)
    void beforeCommit(Attempted attempted) {
      heard.add("before commit " + attempted.attempt());
      effects.save(new Effect(1, "before commit"));
    }

    @TransactionalEventListener
    void afterCommit(Attempted attempted) {
      var rows = client.sql("SELECT count(*) FROM effect").query(Long.class).single();
      heard.add(
          "after commit %d, with %d rows and %s transaction"
              .formatted(
                  attempted.attempt(),
                  rows,
                  TransactionSynchronizationManager.isActualTransactionActive() ? "a" : "no"));
      effects.save(new Effect(1, "after commit"));
    }

    @TransactionalEventListener(phase = TransactionPhase.AFTER_ROLLBACK)
    void afterRollback(Attempted attempted) {
      heard.add("after rollback " + attempted.attempt());
    }
  }
}
