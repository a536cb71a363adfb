package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.Status;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.PgOnceTemplate;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.spring.internal.PgOnceLifecycle;
import org.pgonce.test.PgOnceTester;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** pgonce-test within a service whose listeners do not start. */
@PgTest
@Tag("second")
@ExtendWith(OutputCaptureExtension.class)
class TesterTest {

  private static final Channel<Job> JOB = Channel.of("job", Job.class);

  @Test
  void listenerOfAServiceSurvivesChaos(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Saves.class, "pgonce.auto-startup=false")) {
      assertThat(service.bean(PgOnce.class).status().state()).isEqualTo(Status.State.NEW);
      assertThat(service.bean(PgOnceLifecycle.class).health().up()).isTrue();
      var pgonce = service.bean(PgOnceTester.class);
      var saves = service.bean(Saves.class);

      pgonce.publish(JOB, new Job(1));
      pgonce.drain(JOB, (job, tx) -> saves.handle(job.payload()));
      assertThat(service.effects("saved")).isEqualTo(1);
      assertThat(pgonce).isEmpty();

      pgonce.publishAll(JOB, List.of(new Job(2), new Job(3), new Job(4), new Job(5), new Job(6)));
      pgonce
          .chaos(JOB, (job, tx) -> saves.handle(job.payload()))
          .assertEffectsOnce("SELECT count(*) FROM effect");
      assertThat(service.effects("saved")).isEqualTo(6);

      service.bean(PgOnce.class).start();
      service.publish(7, 7);
      service.awaitQuiet();
      assertThat(service.effects("saved")).isEqualTo(7);
    }
  }

  @Test
  void drainInATransactionOfTheTestIsRefusedAlsoWhereItFindsNothing(TestDatabase database)
      throws Exception {
    try (var service = Service.start(database, Saves.class, "pgonce.auto-startup=false")) {
      var pgonce = service.bean(PgOnceTester.class);
      var transactions = new TransactionTemplate(service.bean(PlatformTransactionManager.class));
      assertThatThrownBy(
              () ->
                  transactions.executeWithoutResult(
                      status -> {
                        service.bean(PgOnceTemplate.class).publish(JOB, new Job(1));
                        pgonce.drain(JOB); // would find nothing, as that is not committed
                      }))
          .isInstanceOf(IllegalTransactionStateException.class)
          .hasMessageContaining("leave @Transactional out");
      assertThat(pgonce.drain(JOB)).isZero();
    }
  }

  /** They would take what the test published, and drain would find it or not. */
  @Test
  void drainBesideTheContextsOwnListenersIsRefused(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Saves.class)) {
      var pgonce = service.bean(PgOnceTester.class);
      assertThatThrownBy(() -> pgonce.drain(JOB))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("drain(job): the listeners of this context are at work")
          .hasMessageContaining("pgonce.auto-startup=false");
      var other = Channel.of("other", Job.class);
      pgonce.install(other);
      assertThat(pgonce.drain(other, (job, tx) -> {})).as("it has no listener here").isZero();
      service.bean(PgOnce.class).stop(Service.BOUND);
      assertThat(pgonce.drain(JOB)).isZero();
    }
  }

  /** As those of a cached context: the tester does not know them, and they are in its database. */
  @Test
  void drainBesideTheListenersOfAnotherContextWarns(TestDatabase database, CapturedOutput output)
      throws Exception {
    try (var service = Service.start(database, Saves.class, "pgonce.auto-startup=false")) {
      var pgonce = service.bean(PgOnceTester.class);
      pgonce.drain(JOB);
      assertThat(output).doesNotContain("may take what the test publishes");
      try (var cached = Service.start(database, Saves.class, "pgonce.instance=cached-7")) {
        assertThat(cached.bean(PgOnce.class).status().state()).isEqualTo(Status.State.RUNNING);
        // Its first poll enters it into the registry.
        await()
            .atMost(Service.BOUND)
            .until(() -> database.queryLong("SELECT count(*) FROM pgonce.listener") == 1);
        pgonce.drain(JOB);
      }
      assertThat(output)
          .contains(
              "drain(job): the listeners of cached-7 are at work",
              "may take what the test publishes",
              "@DirtiesContext");
    }
  }

  static class Saves {

    @Autowired Effects effects;

    @PgOnceListener(channel = "job")
    void handle(Job job) {
      effects.save(new Effect(job.number(), "saved"));
    }
  }
}
