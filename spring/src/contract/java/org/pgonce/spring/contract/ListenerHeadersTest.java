package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Notification;
import org.pgonce.PublishOptions;
import org.pgonce.spring.PgOnceHeader;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.PgOnceTemplate;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

/** What listeners take of a notification beside its payload. */
@PgTest
@Tag("second")
class ListenerHeadersTest {

  private static final Channel<Job> JOB = Channel.of("job", Job.class);

  private static void publish(Service service) {
    var options =
        PublishOptions.DEFAULT.withDeliveryKey("order-7").withContext(Map.of("tenant", "acme"));
    service
        .bean(TransactionTemplate.class)
        .executeWithoutResult(
            status -> service.bean(PgOnceTemplate.class).publish(JOB, new Job(7), options));
    service.awaitQuiet();
  }

  @Test
  void areTheComponentsOfTheNotification(TestDatabase database) throws Exception {
    try (var service = Service.start(database, TakesAll.class)) {
      publish(service);
      assertThat(service.bean(TakesAll.class).seen)
          .containsExactly("attempt 1 of order-7", "attempt 2 of order-7", "as all say");
    }
  }

  static class TakesAll {

    final List<String> seen = new CopyOnWriteArrayList<>();

    @PgOnceListener(channel = "job")
    void handle(
        @PgOnceHeader int attempt,
        Job job,
        @PgOnceHeader("deliveryKey") String idempotencyKey,
        @PgOnceHeader Map<String, String> context,
        @PgOnceHeader Long id,
        @PgOnceHeader Object channel,
        Notification<Job> whole) {
      seen.add("attempt " + attempt + " of " + idempotencyKey);
      if (attempt == 1) {
        throw new IllegalStateException("at first");
      }
      assertThat(context).isEqualTo(whole.context()).containsEntry("tenant", "acme");
      assertThat(id).isEqualTo(whole.id());
      assertThat(channel).isEqualTo("job");
      assertThat(job).isEqualTo(whole.payload());
      seen.add("as all say");
    }
  }

  /** The proxy that is called has the interface's methods; annotations stand on either. */
  @Test
  void reachListenersBehindAnInterface(TestDatabase database) throws Exception {
    try (var service =
        Service.start(database, Saves.class, "spring.aop.proxy-target-class=false")) {
      publish(service);
      assertThat(service.effects("tenant acme")).isEqualTo(1);
    }
  }

  interface SavesJobs {
    @PgOnceListener(channel = "job")
    void handle(Job job, @PgOnceHeader("context") Map<String, String> context);
  }

  static class Saves implements SavesJobs {

    private final Effects effects;

    Saves(Effects effects) {
      this.effects = effects;
    }

    @Override
    @Transactional
    public void handle(Job job, Map<String, String> all) {
      effects.save(new Effect(job.number(), "tenant " + all.get("tenant")));
    }
  }
}
