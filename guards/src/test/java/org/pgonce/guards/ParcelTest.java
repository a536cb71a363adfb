package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A guard in a listener: docs/guards.md quotes what is between the marks. */
@PgTest
class ParcelTest {

  private static final ListenOptions SOON =
      ListenOptions.DEFAULT
          .withMaxAttempts(3)
          .withBackoff(new Backoff(Duration.ofMillis(1), Duration.ofMillis(2)));

  /** Answers as it is told, 200 after that; a parcel is taken by 200 and 500. */
  private final Queue<Integer> answers = new ConcurrentLinkedQueue<>();

  private final AtomicInteger asked = new AtomicInteger();
  private final Map<String, String> taken = new ConcurrentHashMap<>();
  private HttpServer server;
  private TestDatabase database;

  // quoted: listener
  record Parcel(long id) {}

  record Label(String number) {}

  /** The carrier has answered with another status than 200. */
  static class CarrierException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    final int status;

    CarrierException(int status) {
      super("the carrier answered " + status);
      this.status = status;
    }
  }

  static final Channel<Parcel> PARCELS = Channel.of("parcels", Parcel.class, Mode.AT_LEAST_ONCE);

  static final Guard<Parcel, Label> SHIP =
      Guard.of("ship", Parcel.class, Label.class)
          .withOptions(GuardOptions.DEFAULT.withFailures(ParcelTest::meaning));

  /** As the carrier's manual says. */
  static FailureMeaning meaning(Exception failure) {
    if (!(failure instanceof CarrierException answer)) {
      return GuardOptions.cautious(failure);
    }
    return switch (answer.status) {
      case 429, 503 -> FailureMeaning.NO_EFFECT; // turned away: the next attempt calls again
      case 400, 404, 422 -> FailureMeaning.FINAL; // refused: no attempt calls again
      default -> FailureMeaning.UNKNOWN; // 500, 502, 504: it may have taken the parcel
    };
  }

  void listen(PgOnce pgonce, Guards guards, ListenOptions options) {
    pgonce.listen(
        PARCELS,
        options,
        (parcel, tx) -> {
          var shipped =
              guards.once(
                  SHIP,
                  parcel.deliveryKey(),
                  parcel.payload(),
                  () -> ship(parcel.deliveryKey(), parcel.payload()));
          var label = shipped.orElseThrow(); // fails the attempt, unless it was shipped
          tx.update("insert into label values (?, ?)", parcel.payload().id(), label.number());
        });
  }

  /** Run it now and then: it settles what is UNKNOWN. The next attempt goes on with the answer. */
  void probe(Guards guards) throws Exception {
    for (var open : guards.open("ship", 100)) {
      guards.probe(
          open.key(),
          Label.class,
          () ->
              find(open.key().key())
                  .map(GuardAnswer::happened)
                  .orElseGet(() -> GuardAnswer.mayBeRepeated("the carrier has no such parcel")));
    }
  }

  // end

  private Optional<Label> find(String key) {
    return Optional.ofNullable(taken.get(key)).map(Label::new);
  }

  private Label ship(String key, Parcel parcel) throws IOException, InterruptedException {
    var url = "http://127.0.0.1:" + server.getAddress().getPort() + "/" + parcel.id();
    var request =
        HttpRequest.newBuilder(URI.create(url))
            .header("Idempotency-Key", key)
            .POST(HttpRequest.BodyPublishers.noBody())
            .build();
    var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200) {
      throw new CarrierException(answer.statusCode());
    }
    return new Label(answer.body());
  }

  @BeforeEach
  void setUp(TestDatabase database) throws Exception {
    this.database = database;
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          try (exchange) {
            asked.incrementAndGet();
            var told = answers.poll();
            var status = told == null ? 200 : told;
            var number = "label of " + exchange.getRequestURI().getPath();
            if (status == 200 || status == 500) {
              taken.put(exchange.getRequestHeaders().getFirst("Idempotency-Key"), number);
            }
            var body = number.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
          }
        });
    server.start();
    PgOnce.using(database.dataSource()).install(PARCELS);
    var unused = Guards.using(database.dataSource()).install();
    database.execute("create table label (parcel bigint, number text)");
  }

  @AfterEach
  void tearDown() {
    server.stop(0);
  }

  private void publish(Long... ids) throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      Publisher.standard()
          .publishAll(connection, PARCELS, List.of(ids).stream().map(Parcel::new).toList());
    }
  }

  private long labels() throws Exception {
    return database.queryLong("select count(*) from label");
  }

  private void awaitLabels(long count) {
    await().atMost(Duration.ofSeconds(60)).until(() -> labels() == count);
  }

  private void awaitDead(long count) {
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> database.queryLong("select count(*) from pgonce.dead_letter") == count);
  }

  private String death() throws Exception {
    return database.queryString("select min(error) from pgonce.dead_letter");
  }

  private interface Play {
    void with(Guards guards) throws Exception;
  }

  private void play(Play play) throws Exception {
    DataSource pool = database.pooled(8);
    try (var pgonce = PgOnce.using(pool)) {
      var guards = Guards.using(pool);
      listen(pgonce, guards, SOON);
      pgonce.start();
      play.with(guards);
    }
  }

  @Test
  void s6_whoIsTurnedAwayCallsAgain() throws Exception {
    answers.addAll(List.of(503, 429));
    publish(1L);
    play(guards -> awaitLabels(1));
    assertThat(asked).hasValue(3);
    assertThat(taken).hasSize(1);
  }

  @Test
  void s6_whatMayHaveHappenedIsProbedAndRedriven() throws Exception {
    answers.add(500);
    publish(1L);
    play(
        guards -> {
          awaitDead(1);
          assertThat(death()).contains("the outcome of guard ship key ", " is unknown");
          probe(guards);
          database.execute("select pgonce.redrive('parcels', reason => 'the carrier is back')");
          awaitLabels(1);
        });
    assertThat(asked).hasValue(1);
    assertThat(database.queryString("select number from label")).isEqualTo("label of /1");
  }

  /** What a person sees and does where many have failed for good. */
  @Test
  void s6_whatHasFailedForGoodIsSeenReleasedAndRedriven() throws Exception {
    answers.addAll(List.of(422, 422, 422));
    publish(1L, 2L, 3L);
    play(
        guards -> {
          awaitDead(3);
          assertThat(asked).hasValue(3);
          assertThat(death())
              .contains("guard ship key ", "has failed (attempt 1)", "the carrier answered 422")
              .contains("it is not tried again, unless a person releases it");
          assertThat(
                  database.queryString(
                      """
                      select string_agg(distinct concat_ws(' ', scope, outcome, repeatable, error), '; ') from pgonce_guards.guard_status
                       where settled_at <= clock_timestamp() and keep_until > clock_timestamp()
                      """))
              .isEqualTo(
                  "ship FAILED f "
                      + CarrierException.class.getName()
                      + ": the carrier answered 422");
          assertThat(database.queryLong("select count(*) from pgonce_guards.guard_status"))
              .isEqualTo(3);
          assertThat(guards.open(10)).isEmpty(); // a probe has nothing to ask
          database.execute("select pgonce.redrive('parcels')");
          awaitDead(3);
          assertThat(asked).hasValue(3);
          database.execute(GuardsPageTest.block("release").code());
          awaitLabels(3);
        });
    assertThat(taken).hasSize(3);
    assertThat(database.queryLong("select count(*) from pgonce_guards.guard_status")).isZero();
    assertThat(database.queryLong("select count(*) from pgonce_guards.guard_history")).isEqualTo(3);
  }
}
