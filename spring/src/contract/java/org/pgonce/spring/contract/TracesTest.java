package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Message;
import org.pgonce.Notification;
import org.pgonce.PublishOptions;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.PgOnceTemplate;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.TriggerChannel;
import org.springframework.context.annotation.Bean;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.support.TransactionTemplate;

/** From the writer's span to the handler's, by Boot's own tracing and pgonce-micrometer alone. */
@PgTest
@Tag("second")
class TracesTest {

  private static final Channel<Job> JOB = Channel.of("job", Job.class);

  private static Service start(TestDatabase database) {
    return Service.start(database, Traced.class, "management.tracing.sampling.probability=1.0");
  }

  /** In one transaction, as a part of a request's trace. */
  private static void request(Service service, Runnable write) {
    service
        .bean(TransactionTemplate.class)
        .executeWithoutResult(
            status ->
                Observation.createNotStarted("request", service.bean(ObservationRegistry.class))
                    .observe(write));
  }

  private static List<SpanData> spans(Service service, String name) {
    return service.bean(InMemorySpanExporter.class).getFinishedSpanItems().stream()
        .filter(span -> span.getName().equals(name))
        .toList();
  }

  private static List<SpanData> awaited(Service service, String name, int count) {
    await()
        .atMost(Service.BOUND)
        .untilAsserted(() -> assertThat(spans(service, name)).hasSize(count));
    return spans(service, name);
  }

  private static List<String> linked(SpanData span) {
    return span.getLinks().stream()
        .map(LinkData::getSpanContext)
        .map(writer -> writer.getTraceId() + " " + writer.getSpanId())
        .toList();
  }

  private static String identity(SpanData span) {
    return span.getTraceId() + " " + span.getSpanId();
  }

  @Test
  void theHandlersSpanLinksToThatOfTheTemplate(TestDatabase database) throws Exception {
    try (var service = start(database)) {
      var pgonce = service.bean(PgOnceTemplate.class);
      request(service, () -> pgonce.publish(JOB, new Job(1)));
      var process = awaited(service, "process job", 1).get(0);
      var send = spans(service, "send job").get(0);
      assertThat(send.getParentSpanId()).isEqualTo(spans(service, "request").get(0).getSpanId());
      assertThat(linked(process)).containsExactly(identity(send));
    }
  }

  @Test
  void eachWayToPublishCarriesTheTraceBesideTheCallersContext(TestDatabase database)
      throws Exception {
    try (var service = start(database)) {
      var pgonce = service.bean(PgOnceTemplate.class);
      var acme = PublishOptions.DEFAULT.withContext(Map.of("tenant", "acme"));
      request(
          service,
          () -> {
            pgonce.publish(JOB, new Job(1), acme);
            assertThat(pgonce.publishAll(JOB, List.of(new Job(2), new Job(3)))).hasSize(2);
            pgonce.publishEach(JOB, List.of(new Message<>(new Job(4), acme)));
          });
      var sends = awaited(service, "send job", 3).stream().map(TracesTest::identity).toList();
      assertThat(awaited(service, "process job", 4).stream().flatMap(one -> linked(one).stream()))
          .containsExactlyInAnyOrder(sends.get(0), sends.get(1), sends.get(1), sends.get(2));
      assertThat(service.bean(Traced.class).contexts)
          .allSatisfy(context -> assertThat(context).containsKey("traceparent"))
          .filteredOn(context -> "acme".equals(context.get("tenant")))
          .hasSize(2);
    }
  }

  @Test
  void aTriggersNotificationCarriesTheTraceOnceItIsPropagated(TestDatabase database)
      throws Exception {
    try (var service = start(database)) {
      var pgonce = service.bean(PgOnceTemplate.class);
      request(
          service,
          () -> {
            pgonce.propagate();
            service.bean(Effects.class).save(new Effect(1, "written"));
          });
      var process = awaited(service, "process effect_inserted", 1).get(0);
      assertThat(linked(process)).containsExactly(identity(spans(service, "send").get(0)));
      assertThatThrownBy(pgonce::propagate)
          .isInstanceOf(IllegalTransactionStateException.class)
          .hasMessageContainingAll("propagate", "outside of a transaction");
    }
  }

  static class Traced {

    record EffectRow(long number) {}

    final List<Map<String, String>> contexts = new CopyOnWriteArrayList<>();

    @Bean
    static InMemorySpanExporter exporter() {
      return InMemorySpanExporter.create();
    }

    @Bean
    static SpanProcessor processor(InMemorySpanExporter exporter) {
      return SimpleSpanProcessor.create(exporter);
    }

    @Bean
    static TriggerChannel<EffectRow> effectAdded() {
      return TriggerChannel.on("effect", EffectRow.class).afterInsert().build();
    }

    @PgOnceListener(channel = "job")
    void handle(Notification<Job> job) {
      contexts.add(job.context());
    }

    @PgOnceListener(channel = "effect_inserted")
    void added(EffectRow effect) {}
  }
}
