package org.pgonce.pause;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.QUICK;
import static org.pgonce.stage.Stage.SOON;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** All processes together begin as many as the channel's rate says. */
@PgTest(PgOnceInstalled.class)
class RateTest {

  private final Set<Long> tried = ConcurrentHashMap.newKeySet();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    database.execute(
        "create table began (at timestamptz default clock_timestamp(), id bigint, transaction text default txid_current()::text)");
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private Channel<Order> channel(Mode mode, int rate) {
    var channel = Channel.of("calls", Order.class, mode, ChannelOptions.DEFAULT.withMaxRate(rate));
    PgOnce.using(stage.dataSource).install(channel);
    return channel;
  }

  private void publish(Channel<Order> channel, int count) throws SQLException {
    var orders = new ArrayList<Order>();
    for (var id = 1; id <= count; id++) {
      orders.add(new Order(id, "item"));
    }
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publishAll(connection, channel, orders);
    }
  }

  /** Three listeners, and the service that they call allows 50 calls a second. */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void example_threeListenersShareARate(Mode mode) throws Exception {
    var calls = channel(mode, 50);
    publish(calls, 150);
    for (var listener = 0; listener < 3; listener++) {
      stage
          .pgonce()
          .listen(
              calls,
              QUICK,
              (call, tx) -> tx.update("insert into began (id) values (?)", call.payload().id()))
          .start();
    }
    stage.awaitNothingWaits();
    assertThat(stage.database.queryLong("select count(distinct id) from began")).isEqualTo(150);
    // 150 at 50 a second: 3 s, but for what was saved up, and in hand, at the beginning.
    var took =
        stage.database.queryLong(
            "select (1000 * extract(epoch from max(at) - min(at)))::bigint from began");
    assertThat(took).isBetween(2_500L, SOON.toMillis());
    // In no second much more than its 50: what the three had in hand comes on top.
    assertThat(
            stage.database.queryLong(
                """
                select max(n) from (
                  select count(*) over (order by at range between interval '1 second' preceding and current row) n from began) w
                """))
        .isLessThanOrEqualTo(50 + 5 + 3 * 2 + 1);
  }

  @Tag("all")
  @Test
  void aBatchTakesAsManyTurnsAsItHasNotifications() throws Exception {
    var calls = channel(Mode.EXACTLY_ONCE, 200);
    publish(calls, 400);
    for (var listener = 0; listener < 2; listener++) {
      stage
          .pgonce()
          .listen(
              calls,
              QUICK.withBatch(10),
              (call, tx) -> tx.update("insert into began (id) values (?)", call.payload().id()))
          .start();
    }
    stage.awaitNothingWaits();
    assertThat(stage.database.queryLong("select count(distinct id) from began")).isEqualTo(400);
    // How many share a transaction is the rate's to say: on an idle machine a turn or two is there
    // each time a worker looks; what was saved up at the beginning is taken at once.
    assertThat(
            stage.database.queryLong(
                "select max(n) from (select count(*) n from began group by transaction) t"))
        .isBetween(2L, 10L);
    var took =
        stage.database.queryLong(
            "select (1000 * extract(epoch from max(at) - min(at)))::bigint from began");
    // 2 s, but for the 20 that were saved up and 2 batches at each end.
    assertThat(took).isGreaterThan(1_600L);
  }

  /** What is undone and done again begins again, as the service sees that is called. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @Tag("all")
  void aRateCountsWhatABatchHasUndoneAndWhatIsHandledAgain(boolean asLists) throws Exception {
    var rate = 100;
    var calls = channel(Mode.EXACTLY_ONCE, rate);
    var begins = new ConcurrentLinkedQueue<Long>();
    Handler<Order> one =
        (call, tx) -> {
          var id = call.payload().id();
          begins.add(System.nanoTime());
          tx.update("insert into began (id) values (?)", id);
          if (id % 20 == 0 || (id % 3 == 0 && tried.add(id))) {
            throw new IllegalStateException("fails");
          }
        };
    Handler<Order> all =
        Handler.batch(
            (list, tx) -> {
              for (var call : list) {
                one.handle(call, tx);
              }
            });
    publish(calls, 200);
    for (var listener = 0; listener < 2; listener++) {
      stage
          .pgonce()
          .listen(calls, QUICK.withConcurrency(1).withBatch(10), asLists ? all : one)
          .start();
    }
    stage.awaitNothingWaits();
    assertThat(stage.deadLetters()).isEqualTo(10);
    assertThat(stage.database.queryLong("select count(*) from began")).isEqualTo(190);
    assertThat(stage.database.queryLong("select count(distinct id) from began")).isEqualTo(190);
    // 200, two more for each that is buried, and what was undone with those that failed.
    assertThat(begins.size()).isGreaterThan(200 + 20 + 50);
    var took = Duration.ofNanos(Collections.max(begins) - Collections.min(begins)).toMillis();
    // But for what was saved up, and what each listener had in hand, at the beginning.
    var inHand = rate / 10 + 2 * rate / 20;
    assertThat(took).isBetween(1_000L * (begins.size() - inHand) / rate, SOON.toMillis());
  }

  /** At one a second they would take a minute. */
  @Tag("all")
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void whatBeginsNoHandlerCostsNoTurn(Mode mode) throws Exception {
    var calls = channel(mode, 1);
    publish(calls, 60);
    // As if their processes had died in the last attempt that they may have.
    stage.database.execute(
        """
        select pgonce.schedule(n.subscription_id, n.id, 0, null, 3, gen_random_uuid(), -1, 'died')
          from pgonce.notification n where n.subscription_id > 0
        """);
    stage
        .pgonce()
        .listen(
            calls,
            QUICK.withMaxAttempts(3),
            (call, tx) -> tx.update("insert into began (id) values (?)", call.payload().id()))
        .start();
    await().atMost(Duration.ofSeconds(30)).until(() -> stage.deadLetters() == 60);
    assertThat(stage.database.queryLong("select count(*) from began")).isZero();
  }

  /** The next turn lies an hour ahead then, and can lie a turn ahead at most. */
  @Test
  void h80_aClockThatWasSetBackDoesNotStopAChannelWithARate() throws Exception {
    var calls = channel(Mode.EXACTLY_ONCE, 10);
    stage.database.execute(
        "insert into pgonce.rate_limit select s.id, clock_timestamp() + interval '1 hour' from pgonce.subscription s where s.of_channel = 'calls'");
    publish(calls, 2);
    stage.pgonce().listen(calls, QUICK, (call, tx) -> {}).start();
    stage.awaitNothingWaits();
  }

  @Test
  void aRateIsNoReasonToWaitWhereLittleComes() throws Exception {
    var calls = channel(Mode.EXACTLY_ONCE, 2);
    stage.somebodyListens();
    try (var pgonce =
        PgOnce.builder(stage.dataSource).pollInterval(Duration.ofMinutes(5)).build()) {
      pgonce
          .listen(
              calls,
              QUICK,
              (call, tx) -> tx.update("insert into began (id) values (?)", call.payload().id()))
          .start();
      publish(calls, 1);
      stage.awaitNothingWaits();
      // The second and third wait for their turn, and no scan is needed to remember them.
      publish(calls, 2);
      stage.awaitNothingWaits();
    }
    assertThat(stage.database.queryLong("select count(*) from began")).isEqualTo(3);
  }

  /**
   * A look that finds nothing gives its turn back, and the next notification has it. A process
   * keeps a turn for a second: where that was not enough, it is tried again.
   */
  @Test
  void aLookThatFindsNothingCostsNoTurn() throws Exception {
    var calls = channel(Mode.EXACTLY_ONCE, 1);
    stage.somebodyListens();
    try (var pgonce =
        PgOnce.builder(stage.dataSource).pollInterval(Duration.ofMinutes(5)).build()) {
      pgonce.listen(calls, QUICK, (call, tx) -> {}).start();
      var handledAtOnce = false;
      for (var attempt = 0; attempt < 10 && !handledAtOnce; attempt++) {
        stage.awaitNothingWaits();
        var before = pgonce.status().channels().get(0).emptyClaims();
        stage.database.execute("select pgonce.wake_up('calls')");
        stage.awaitSoon(() -> pgonce.status().channels().get(0).emptyClaims() > before);
        // No other turn is free for as long as this looks.
        stage.database.execute(
            "update pgonce.rate_limit set free_from = clock_timestamp() + interval '3 seconds'");
        publish(calls, 1);
        handledAtOnce = isHandledWithin(Duration.ofSeconds(1));
      }
      assertThat(handledAtOnce).isTrue();
    }
  }

  private boolean isHandledWithin(Duration bound) {
    try {
      await().atMost(bound).until(() -> stage.waiting() == 0);
      return true;
    } catch (ConditionTimeoutException e) {
      return false;
    }
  }
}
