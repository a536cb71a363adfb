package org.pgonce.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import io.opentelemetry.sdk.trace.samplers.SamplingResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.WriterContext;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.TriggerChannel;

/** A trace from the writer to the handler. */
@PgTest(PgOnceInstalled.class)
class TracingTest {

  record Author(long id, String name) {}

  private static final Channel<String> SIGNED_UP = Channel.of("signed_up", String.class);
  private static final Channel<String> GREETED = Channel.of("greeted", String.class);
  private static final Channel<String> NEWS = Channel.of("news", String.class, Mode.BROADCAST);
  private static final TriggerChannel<Author> AUTHOR_ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  private final Queue<Map<String, String>> contexts = new ConcurrentLinkedQueue<>();
  private Stage stage;
  private Traces traces;
  private PgOnce pgonce;
  private ObservedPublisher publisher;

  @BeforeEach
  void setUp(TestDatabase database) {
    stage = new Stage(database);
    trace(Traces.linked());
  }

  private void trace(Traces traced) {
    traces = stage.open(traced);
    pgonce =
        stage.open(
            stage.builder().interceptors(new HandlerObservation(traces.observations)).build());
    publisher = new ObservedPublisher(pgonce.publisher(), traces.observations);
    pgonce.install(SIGNED_UP, GREETED, NEWS);
  }

  @AfterEach
  void tearDown() throws Exception {
    stage.close();
  }

  @FunctionalInterface
  private interface Write {
    void on(java.sql.Connection transaction) throws SQLException;
  }

  /** In one transaction, as a part of a request's trace. */
  private void request(Write write) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      connection.setAutoCommit(false);
      Observation.createNotStarted("request", traces.observations)
          .observeChecked(() -> write.on(connection));
      connection.commit();
    }
  }

  private void keepContexts(Channel<?> channel) {
    pgonce.listen(channel, (notification, tx) -> contexts.add(notification.context()));
  }

  private void await(int count, String span) {
    stage.awaitSoon(() -> traces.spans(span).size() == count);
  }

  private static String attribute(SpanData span, String key) {
    return span.getAttributes().get(AttributeKey.stringKey(key));
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
  void example_theHandlersSpanLinksToTheWriters() throws Exception {
    pgonce.listen(SIGNED_UP, (signedUp, tx) -> {}).start();
    request(connection -> publisher.publish(connection, SIGNED_UP, "Ada"));
    await(1, "process signed_up");

    var request = traces.span("request");
    var send = traces.span("send signed_up");
    var process = traces.span("process signed_up");
    assertThat(send.getParentSpanId()).isEqualTo(request.getSpanId());
    assertThat(send.getKind()).isEqualTo(SpanKind.PRODUCER);
    assertThat(process.getKind()).isEqualTo(SpanKind.CONSUMER);
    assertThat(linked(process)).containsExactly(identity(send));
    assertThat(process.getTraceId()).isNotEqualTo(send.getTraceId());
  }

  @Test
  void attributesAreThoseOfTheConventions() throws Exception {
    pgonce.listen(SIGNED_UP, (signedUp, tx) -> {}).start();
    request(
        connection ->
            publisher.publish(
                connection, SIGNED_UP, "Ada", PublishOptions.DEFAULT.withDeliveryKey("ada")));
    await(1, "process signed_up");

    var id = stage.database.queryString("select last_value from pgonce.notification_id");
    assertThat(text(traces.span("send signed_up")))
        .containsExactlyInAnyOrderEntriesOf(
            Map.of(
                "messaging.system", "pgonce",
                "messaging.operation.name", "send",
                "messaging.operation.type", "send",
                "messaging.destination.name", "signed_up",
                "messaging.message.id", id));
    assertThat(text(traces.span("process signed_up")))
        .containsExactlyInAnyOrderEntriesOf(
            Map.of(
                "messaging.system", "pgonce",
                "messaging.operation.name", "process",
                "messaging.operation.type", "process",
                "messaging.destination.name", "signed_up",
                "messaging.destination.subscription.name", "default",
                "messaging.message.id", id,
                "pgonce.mode", "EXACTLY_ONCE",
                "pgonce.attempt", "1",
                "pgonce.delivery_key", "ada"));
  }

  private static Map<String, String> text(SpanData span) {
    var attributes = new java.util.HashMap<String, String>();
    span.getAttributes().forEach((key, value) -> attributes.put(key.getKey(), value.toString()));
    return attributes;
  }

  @Test
  void withoutWriterLinksTheHandlersSpanIsAChildOfTheWriters() throws Exception {
    trace(Traces.asChildren());
    pgonce.listen(SIGNED_UP, (signedUp, tx) -> {}).start();
    request(connection -> publisher.publish(connection, SIGNED_UP, "Ada"));
    await(1, "process signed_up");

    var process = traces.span("process signed_up");
    assertThat(process.getParentSpanContext().getSpanId())
        .isEqualTo(traces.span("send signed_up").getSpanId());
    assertThat(process.getTraceId()).isEqualTo(traces.span("request").getTraceId());
  }

  @Test
  void example_aTriggersNotificationCarriesTheWritersTrace() throws Exception {
    stage.database.execute(
        "create table author (id bigint primary key generated always as identity, name text)");
    pgonce.install(AUTHOR_ADDED);
    pgonce.listen(AUTHOR_ADDED, (author, tx) -> contexts.add(author.context())).start();
    request(
        connection -> {
          WriterContext.set(connection, Map.of("tenant", "acme"));
          publisher.propagate(connection);
          connection.createStatement().execute("insert into author (name) values ('Ada')");
        });
    await(1, "process author_inserted");

    assertThat(linked(traces.span("process author_inserted")))
        .containsExactly(identity(traces.span("send")));
    assertThat(contexts.remove()).containsEntry("tenant", "acme").containsKey("traceparent");
  }

  @Test
  void aBatchLinksToEachOfItsWriters() throws Exception {
    for (var name : List.of("Ada", "Grace", "Edith")) {
      request(connection -> publisher.publish(connection, SIGNED_UP, name));
    }
    pgonce.listen(SIGNED_UP, Stage.QUICK.withBatch(10), Handler.batch((list, tx) -> {})).start();
    await(1, "process signed_up");

    var process = traces.span("process signed_up");
    assertThat(linked(process))
        .containsExactlyInAnyOrderElementsOf(
            traces.spans("send signed_up").stream().map(TracingTest::identity).toList());
    assertThat(attribute(process, "messaging.batch.message_count")).isEqualTo("3");
    assertThat(attribute(process, "messaging.message.id")).isNull();
  }

  @Test
  void eachMessageOfAListCarriesTheTrace() throws Exception {
    keepContexts(SIGNED_UP);
    pgonce.start();
    request(
        connection ->
            publisher.publishEach(
                connection,
                SIGNED_UP,
                List.of(
                    new Message<>("Ada", PublishOptions.DEFAULT),
                    new Message<>("Grace", PublishOptions.DEFAULT))));
    await(2, "process signed_up");

    var send = traces.span("send signed_up");
    assertThat(traces.spans("process signed_up"))
        .allSatisfy(process -> assertThat(linked(process)).containsExactly(identity(send)));
    assertThat(attribute(send, "messaging.batch.message_count")).isEqualTo("2");
  }

  @Test
  void eachPayloadOfAListCarriesTheTrace() throws Exception {
    keepContexts(SIGNED_UP);
    pgonce.start();
    request(
        connection ->
            assertThat(publisher.publishAll(connection, SIGNED_UP, List.of("Ada", "Grace")))
                .hasSize(2));
    await(2, "process signed_up");

    var send = traces.span("send signed_up");
    assertThat(traces.spans("process signed_up"))
        .allSatisfy(process -> assertThat(linked(process)).containsExactly(identity(send)));
    assertThat(attribute(send, "messaging.batch.message_count")).isEqualTo("2");
  }

  @Test
  void aPublishersOwnContextStaysBesideTheTrace() throws Exception {
    keepContexts(SIGNED_UP);
    pgonce.start();
    try (var autocommit = stage.dataSource.getConnection()) {
      publisher.publish(
          autocommit,
          SIGNED_UP,
          "Ada",
          PublishOptions.DEFAULT.withContext(Map.of("tenant", "acme")));
      pgonce.publisher().publish(autocommit, SIGNED_UP, "Grace"); // has none of it
    }
    stage.awaitSoon(() -> contexts.size() == 2);
    assertThat(contexts)
        .extracting(Map::keySet)
        .containsExactlyInAnyOrder(Set.of("tenant", "traceparent"), Set.of());
  }

  @Test
  void aFailureIsOnItsSpanAndTheNextAttemptHasItsOwn() throws Exception {
    pgonce.listen(
        SIGNED_UP,
        Stage.QUICK,
        (signedUp, tx) -> {
          if (signedUp.attempt() == 1) {
            throw new IllegalStateException("not yet");
          }
        });
    pgonce.start();
    request(connection -> publisher.publish(connection, SIGNED_UP, "Ada"));
    await(2, "process signed_up");

    var failed = traces.spans("process signed_up").get(0);
    assertThat(failed.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
    assertThat(attribute(failed, "error.type")).isEqualTo("java.lang.IllegalStateException");
    var handled = traces.spans("process signed_up").get(1);
    assertThat(handled.getStatus().getStatusCode()).isNotEqualTo(StatusCode.ERROR);
    assertThat(attribute(handled, "pgonce.attempt")).isEqualTo("2");
    assertThat(linked(handled)).isEqualTo(linked(failed)).hasSize(1);
  }

  @Test
  void whatAHandlerPublishesLinksToTheHandlerWhereItIsObserved() throws Exception {
    pgonce.listen(
        SIGNED_UP,
        (signedUp, tx) -> publisher.publish(tx.connection(), GREETED, signedUp.payload()));
    pgonce.listen(GREETED, (greeted, tx) -> {});
    pgonce.start();
    request(connection -> publisher.publish(connection, SIGNED_UP, "Ada"));
    await(1, "process greeted");

    var send = traces.span("send greeted");
    assertThat(send.getParentSpanId()).isEqualTo(traces.span("process signed_up").getSpanId());
    assertThat(linked(traces.span("process greeted"))).containsExactly(identity(send));
  }

  @Test
  void aBroadcastIsObservedAndCarriesNoTrace() throws Exception {
    keepContexts(NEWS);
    pgonce.start();
    request(connection -> publisher.publish(connection, NEWS, "today"));
    await(1, "process news");
    assertThat(contexts.remove()).isEmpty();
    assertThat(linked(traces.span("process news"))).isEmpty();
  }

  @Test
  void aTraceparentThatIsNoneIsPassedOver() throws Exception {
    pgonce.listen(SIGNED_UP, (signedUp, tx) -> {}).start();
    for (var wrong :
        List.of("", "00-1-2-01", "ff-" + "1".repeat(32) + "-" + "2".repeat(16) + "-01")) {
      request(
          connection -> {
            WriterContext.set(connection, Map.of("traceparent", wrong));
            pgonce.publisher().publish(connection, SIGNED_UP, "Ada");
          });
    }
    await(3, "process signed_up");
    assertThat(traces.spans("process signed_up"))
        .allSatisfy(process -> assertThat(linked(process)).isEmpty());
  }

  @Test
  void withoutATracerNothingIsPropagated() throws Exception {
    keepContexts(SIGNED_UP);
    pgonce.start();
    var untraced = new ObservedPublisher(pgonce.publisher(), ObservationRegistry.NOOP);
    request(
        connection -> {
          untraced.propagate(connection);
          untraced.publish(connection, SIGNED_UP, "Ada");
          untraced.publishAll(connection, SIGNED_UP, List.of("Grace"));
        });
    stage.awaitSoon(() -> contexts.size() == 2);
    assertThat(contexts).containsOnly(Map.of());
  }

  @Test
  void whatIsNotSampledIsPropagatedAsSuch() throws Exception {
    trace(Traces.unsampled());
    keepContexts(SIGNED_UP);
    pgonce.start();
    request(connection -> publisher.publish(connection, SIGNED_UP, "Ada"));
    stage.awaitSoon(() -> contexts.size() == 1);
    // The last bit of the flags; a newer OpenTelemetry sets others.
    assertThat(contexts.remove().get("traceparent")).matches(".*-[0-9a-f][02468ace]");
    assertThat(traces.spans()).isEmpty();
  }

  /** Keeps every other trace that it is asked about, beginning with the first. */
  private static Sampler everyOther(AtomicInteger asked) {
    return new Sampler() {
      @Override
      public SamplingResult shouldSample(
          Context parent,
          String traceId,
          String name,
          SpanKind kind,
          Attributes attributes,
          List<LinkData> links) {
        return asked.getAndIncrement() % 2 == 0
            ? SamplingResult.recordAndSample()
            : SamplingResult.drop();
      }

      @Override
      public String getDescription() {
        return "every other";
      }
    };
  }

  private void publishAdaAndGrace() throws SQLException {
    request(connection -> publisher.publish(connection, SIGNED_UP, "Ada"));
    request(connection -> publisher.publish(connection, SIGNED_UP, "Grace"));
    assertThat(traces.spans("request")).hasSize(1); // Ada's
  }

  @Test
  void aHandlersTraceIsSampledByItself() throws Exception {
    var asked = new AtomicInteger();
    trace(Traces.sampled(everyOther(asked)));
    publishAdaAndGrace();
    asked.set(1);
    keepContexts(SIGNED_UP);
    pgonce.start();
    stage.awaitSoon(() -> contexts.size() == 2);
    assertThat(asked).hasValue(3); // of both handlers, though one writer is kept and one is not
  }

  @Test
  void aSamplerThatReadsLinksKeepsAHandlersTraceWithItsWriters() throws Exception {
    var asked = new AtomicInteger();
    trace(Traces.sampled(new WithTheWriter(everyOther(asked))));
    publishAdaAndGrace();
    keepContexts(SIGNED_UP);
    pgonce.start();
    stage.awaitSoon(() -> contexts.size() == 2);
    await(1, "process signed_up");
    assertThat(linked(traces.span("process signed_up")))
        .containsExactly(identity(traces.span("send signed_up")));
    assertThat(asked).hasValue(2);
  }

  @Test
  void thePageShowsTheSampler() throws Exception {
    var source =
        Files.readString(Path.of("src/test/java/org/pgonce/micrometer/WithTheWriter.java"));
    assertThat(Files.readString(Path.of("../docs/metrics.md")))
        .contains(source.substring(source.indexOf("record WithTheWriter")));
  }

  @Test
  void whatThePublisherThrowsIsThrownAndOnTheSpan() throws Exception {
    var wrong = new AtomicReference<Exception>();
    assertThatThrownBy(
            () ->
                request(
                    connection ->
                        publisher.publish(connection, Channel.of("nowhere", String.class), "Ada")))
        .isInstanceOf(SQLException.class)
        .satisfies(e -> wrong.set((Exception) e));
    assertThat(traces.span("send nowhere").getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
  }
}
