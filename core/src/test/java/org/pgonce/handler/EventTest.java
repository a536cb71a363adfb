package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.KeyOrder;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.RejectedException;
import org.pgonce.spi.Event;
import org.pgonce.spi.Event.WaitCause;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.stage.Events;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What an observer hears of notifications, publishers, waits and the LISTEN connection. */
@PgTest(PgOnceInstalled.class)
class EventTest {

  private final Events events = new Events();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private PgOnce observed() {
    return stage.pgonce(PgOnce.builder(stage.dataSource).observer(events));
  }

  @Test
  void example_countersForAMetricsLibrary() throws Exception {
    var counters = new ConcurrentHashMap<String, LongAdder>();
    stage
        .pgonce(
            PgOnce.builder(stage.dataSource)
                .observer(
                    event -> {
                      if (event instanceof Event.OfNotification one) {
                        var name = event.getClass().getSimpleName() + " " + one.about().channel();
                        counters.computeIfAbsent(name, unused -> new LongAdder()).increment();
                      }
                    }))
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              if (order.payload().id() == 2) {
                throw new RejectedException("sold out");
              }
            })
        .start();
    stage.publish(3);
    stage.awaitSoon(() -> stage.waiting() == 0 && stage.deadLetters() == 1);
    stage.awaitSoon(() -> counters.containsKey("Dead orders") && counters.size() == 3);
    stage.awaitSoon(() -> counters.get("Handled orders").sum() == 2);
    assertThat(counters.get("Claimed orders").sum()).isEqualTo(3);
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void eachNotificationIsPublishedClaimedAndHandled(Mode mode) throws Exception {
    var options = ChannelOptions.DEFAULT;
    var channel =
        Channel.of(
            "observed",
            Order.class,
            mode,
            mode == Mode.BROADCAST ? options : options.withSubscriptions("mail"));
    var subscription = mode == Mode.BROADCAST ? "default" : "mail";
    var pgonce = observed().install(channel);
    pgonce
        .listen(
            channel,
            subscription,
            QUICK,
            (order, tx) -> tx.query("select pg_sleep(0.01)::text", row -> row.getString(1)))
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, channel, new Order(1, "item"));
    }
    stage.awaitSoon(() -> events.of(Event.Handled.class).size() == 1);
    var published = events.of(Event.Published.class).get(0);
    assertThat(published.channel()).isEqualTo("observed");
    assertThat(published.isNew()).isTrue();
    var claimed = events.of(Event.Claimed.class).get(0);
    var handled = events.of(Event.Handled.class).get(0);
    assertThat(events.of(Event.OfNotification.class))
        .hasSize(2)
        .extracting(Event.OfNotification::about)
        .containsOnly(new Event.Attempt("observed", subscription, mode, published.id(), 1));
    assertThat(handled.lag()).isEqualTo(claimed.lag()).isGreaterThanOrEqualTo(Duration.ZERO);
    assertThat(handled.inHandler()).isGreaterThanOrEqualTo(Duration.ofMillis(10));
  }

  /** However long ago it was stored: what was delayed on purpose is no lag. */
  @ParameterizedTest
  @CsvSource({
    "EXACTLY_ONCE, NONE",
    "EXACTLY_ONCE, KEEPS_ORDER",
    "AT_LEAST_ONCE, NONE",
    "AT_LEAST_ONCE, KEEPS_ORDER",
    "AT_MOST_ONCE, NONE"
  })
  void theLagIsSinceItWasDue(Mode mode, String order) throws Exception {
    var options = ChannelOptions.DEFAULT;
    var ordered = options.withOrder(KeyOrder.DEAD_LETTER_PASSES);
    var channel = Channel.of("late", Order.class, mode, order.equals("NONE") ? options : ordered);
    var pgonce = observed().install(channel);
    try (var connection = stage.dataSource.getConnection()) {
      for (var delayed : List.of(PublishOptions.DEFAULT, delayed())) {
        var keyed = order.equals("NONE") ? delayed : delayed.withOrderKey("key " + delayed.delay());
        pgonce.publisher().publish(connection, channel, new Order(1, "item"), keyed);
      }
    }
    stage.database.execute(
        """
        update pgonce.notification set created_at = created_at - interval '3 hours' where subscription_id > 0;
        update pgonce.scheduled set created_at = created_at - interval '3 hours', due_at = clock_timestamp() - interval '5 minutes'
         where subscription_id > 0
        """);
    pgonce.listen(channel, QUICK, (late, tx) -> {}).start();
    stage.awaitSoon(() -> events.of(Event.Handled.class).size() == 2);
    assertThat(events.of(Event.Claimed.class).stream().map(Event.Claimed::lag).sorted().toList())
        .satisfiesExactly(
            due -> assertThat(due).isBetween(Duration.ofMinutes(5), Duration.ofMinutes(10)),
            stored -> assertThat(stored).isBetween(Duration.ofHours(3), Duration.ofHours(4)));
  }

  private static PublishOptions delayed() {
    return PublishOptions.DEFAULT.withDelay(Duration.ofHours(1));
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void aFailureSaysWhatWasThrownAndWhenItRunsAgain(Mode mode) throws Exception {
    var channel = Channel.of("failing", Order.class, mode);
    var pgonce = observed().install(channel);
    pgonce
        .listen(
            channel,
            QUICK.withMaxAttempts(2),
            (order, tx) -> {
              tx.query("select pg_sleep(0.01)::text", row -> row.getString(1));
              throw new UnsupportedOperationException("not yet");
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, channel, new Order(1, "item"));
    }
    stage.awaitSoon(() -> events.of(Event.Dead.class).size() == 1);
    var failed = events.of(Event.Failed.class);
    assertThat(failed).hasSize(1);
    assertThat(failed.get(0).about().attempt()).isEqualTo(1);
    assertThat(failed.get(0).about().mode()).isEqualTo(mode);
    assertThat(failed.get(0).errorClass()).isEqualTo("java.lang.UnsupportedOperationException");
    assertThat(failed.get(0).reason()).contains("not yet");
    assertThat(failed.get(0).inHandler()).isGreaterThanOrEqualTo(Duration.ofMillis(10));
    assertThat(failed.get(0).retryIn()).isBetween(Duration.ofMillis(1), Duration.ofMillis(50));
    var dead = events.of(Event.Dead.class).get(0);
    assertThat(dead.about().attempt()).isEqualTo(2);
    assertThat(dead.about().mode()).isEqualTo(mode);
    assertThat(dead.errorClass()).isEqualTo("java.lang.UnsupportedOperationException");
    assertThat(dead.reason()).contains("not yet");
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void aDeadLetterOfAProcessThatDiedHasNoErrorClass(Mode mode) throws Exception {
    var channel = Channel.of("deadly", Order.class, mode);
    var pgonce = observed().install(channel);
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, channel, new Order(1, "item"), delayed());
    }
    stage.database.execute(
        "update pgonce.scheduled set token = gen_random_uuid(), attempts = 3, due_at = clock_timestamp() where subscription_id > 0");
    pgonce.listen(channel, QUICK, Stage::effect).start();
    stage.awaitSoon(() -> events.of(Event.Dead.class).size() == 1);
    assertThat(events.of(Event.Dead.class).get(0).errorClass()).isEmpty();
    assertThat(events.of(Event.Claimed.class)).isEmpty();
  }

  @Test
  void ofABatchEachIsClaimedAndSkippedOrHandled() throws Exception {
    stage.publish(4);
    observed()
        .listen(
            ORDERS,
            QUICK.withConcurrency(1).withBatch(4),
            Handler.onlyIf((order, tx) -> order.payload().id() % 2 == 0, Stage::effect))
        .start();
    stage.awaitSoon(() -> events.of(Event.Skipped.class).size() == 2);
    stage.awaitSoon(() -> events.of(Event.Handled.class).size() == 2);
    assertThat(events.of(Event.OfNotification.class))
        .extracting(one -> one.getClass().getSimpleName())
        .containsExactly(
            "Claimed", "Claimed", "Claimed", "Claimed", "Skipped", "Handled", "Skipped", "Handled");
    assertThat(events.of(Event.Skipped.class).get(0).about().mode()).isEqualTo(Mode.EXACTLY_ONCE);
  }

  @Test
  void publishingIsReportedByPgonceAndItsHandlersAndByNoOtherPublisher() throws Exception {
    var copies = Channel.of("copies", Order.class);
    var pgonce = observed().install(copies);
    pgonce
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              tx.publish(copies, order.payload());
              tx.publish(copies, order.payload(), PublishOptions.DEFAULT.withDeliveryKey("k"));
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      var publisher = pgonce.publisher();
      publisher.publishAll(connection, copies, List.of(new Order(1, "a"), new Order(2, "b")));
      publisher.publishEach(
          connection,
          copies,
          List.of(
              new Message<>(new Order(3, "c"), PublishOptions.DEFAULT.withDeliveryKey("k")),
              new Message<>(new Order(4, "d"))));
      Publisher.with(PayloadCodec.standard()).publish(connection, ORDERS, new Order(5, "e"));
    }
    stage.awaitSoon(() -> events.of(Event.Handled.class).size() == 1);
    var published = events.of(Event.Published.class);
    assertThat(published).hasSize(6).allMatch(one -> one.channel().equals("copies"));
    assertThat(published)
        .extracting(Event.Published::isNew)
        .containsExactly(true, true, true, true, true, false);
    // The one with the key that was there.
    assertThat(published.get(5).id()).isEqualTo(published.get(2).id());
  }

  @Test
  void aBroadcastThatFailsIsDropped() throws Exception {
    var news = Channel.of("news", Order.class, Mode.BROADCAST);
    var pgonce = observed().install(news);
    pgonce
        .listen(
            news,
            QUICK,
            (one, tx) -> {
              throw new IllegalStateException("no news");
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, news, new Order(1, "item"));
    }
    stage.awaitSoon(() -> events.of(Event.BroadcastDropped.class).size() == 1);
    var dropped = events.of(Event.BroadcastDropped.class).get(0);
    assertThat(dropped.channel()).isEqualTo("news");
    assertThat(dropped.subscription()).isEqualTo("default");
    assertThat(dropped.reason()).contains("no news");
    assertThat(events.of(Event.Claimed.class)).hasSize(1);
  }

  @Tag("all")
  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void aWaitForAConnectionIsReported(Mode mode) throws Exception {
    var channel = Channel.of("crowded", Order.class, mode);
    PgOnce.using(stage.dataSource).install(channel);
    try (var pool = stage.database.pooled(1)) {
      stage
          .pgonce(PgOnce.builder(pool).observer(events))
          .listen(channel, QUICK, (order, tx) -> {})
          .start();
      // Until it is a worker that waits, and not the poll alone.
      stage.awaitSoon(
          () -> {
            try (var held = pool.getConnection()) {
              Publisher.standard().publish(held, channel, new Order(1, "item"));
              held.createStatement().execute("select pg_sleep(0.1)");
            }
            stage.awaitNothingWaits();
            return !events.of(Event.Waited.class).isEmpty();
          });
      assertThat(events.of(Event.Waited.class))
          .allSatisfy(
              waited -> {
                assertThat(waited.cause()).isEqualTo(WaitCause.CONNECTION);
                assertThat(waited.channel()).isEqualTo("crowded");
                assertThat(waited.subscription()).isEqualTo("default");
                assertThat(waited.time()).isGreaterThanOrEqualTo(Duration.ofMillis(1));
              });
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void aWaitForTheRateIsReported(Mode mode) throws Exception {
    var calls = Channel.of("calls", Order.class, mode, ChannelOptions.DEFAULT.withMaxRate(5));
    var pgonce = observed().install(calls);
    pgonce.listen(calls, QUICK, Stage::effect).start();
    try (var connection = stage.dataSource.getConnection()) {
      pgonce
          .publisher()
          .publishAll(
              connection, calls, List.of(new Order(1, "a"), new Order(2, "b"), new Order(3, "c")));
    }
    stage.awaitSoon(() -> events.of(Event.Handled.class).size() == 3);
    assertThat(events.of(Event.Waited.class))
        .filteredOn(waited -> waited.cause() == WaitCause.RATE)
        .isNotEmpty()
        .allSatisfy(
            waited ->
                assertThat(waited.time()).isBetween(Duration.ofMillis(1), Duration.ofSeconds(1)));
  }

  @Test
  void theListenConnectionIsReportedWhenItEndsAndIsBack() throws Exception {
    var database = stage.database;
    try (var proxy = FaultProxy.to(database)) {
      var through =
          new ListenAddress(
              proxy.host(), proxy.port(), database.name(), database.user(), null, Map.of());
      stage
          .pgonce(PgOnce.builder(stage.dataSource).observer(events).listenAddress(through))
          .listen(ORDERS, QUICK, Stage::effect)
          .start();
      stage.awaitSoon(() -> events.of(Event.Listening.class).size() == 1);
      proxy.endAll();
      stage.awaitSoon(() -> events.of(Event.Listening.class).size() == 2);
    }
    assertThat(events.of(Event.Listening.class).get(0).source()).isEqualTo("pgjdbc");
    assertThat(events.of(Event.Disconnected.class))
        .first()
        .satisfies(disconnected -> assertThat(disconnected.reason()).isNotBlank());
  }

  @Test
  void anObserverThatThrowsChangesNothingAndTheOthersHearAllTheSame() throws Exception {
    var pgonce =
        stage.pgonce(
            PgOnce.builder(stage.dataSource)
                .observer(
                    event -> {
                      throw new AssertionError("an observer that breaks");
                    })
                .observer(events)
                .observer(Observer.NONE));
    pgonce.listen(ORDERS, QUICK, Stage::effect).start();
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, ORDERS, new Order(1, "item"));
    }
    stage.awaitSoon(() -> events.of(Event.Handled.class).size() == 1);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(1)).isTrue();
    assertThat(stage.database.queryString("select note from effect")).isEqualTo("attempt 1");
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void h45_anObserverThatThrowsWhatHasNoWordsCostsNoWorker(Mode mode) throws Exception {
    var channel = Channel.of("mute", Order.class, mode);
    var pgonce =
        stage.pgonce(
            PgOnce.builder(stage.dataSource)
                .observer(
                    event -> {
                      throw new Mute();
                    })
                .observer(events));
    pgonce.install(channel).listen(channel, QUICK.withConcurrency(1), Stage::effect).start();
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, channel, new Order(1, "item"));
    }
    stage.awaitSoon(() -> events.of(Event.Handled.class).size() == 1);
    stage.awaitNothingWaits();
    assertThat(stage.database.queryString("select note from effect")).isEqualTo("attempt 1");
    stage.awaitSoon(() -> pgonce.status().channels().get(0).working() == 0);
  }
}
