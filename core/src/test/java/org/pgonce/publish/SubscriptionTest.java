package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
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
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.RejectedException;
import org.pgonce.Tx;
import org.pgonce.crash.CrashEffects;
import org.pgonce.stage.OnCall.DeadLetter;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Several named handlers of a channel, none of which depends on another. */
@PgTest
@Tag("drivers")
class SubscriptionTest {

  private static final Duration BOUND = Duration.ofSeconds(60);
  private static final String WAITING =
      """
      select count(*) from pgonce.subscription s
        join (select subscription_id from pgonce.notification union all select subscription_id from pgonce.scheduled) w
          on w.subscription_id = s.id
       where s.name = '%s'
      """;

  private static final String LOG =
      "select string_agg(concat_ws(' ', what, channel, subscription, operator, reason, concerned), e'\\n' order by id)"
          + " from pgonce.operation_log where what <> 'INSTALL'";

  private final List<String> calls = new CopyOnWriteArrayList<>();
  private TestDatabase database;
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    this.database = database;
    this.stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private static Channel<Order> placed(Mode mode) {
    return Channel.of(
        "order.placed",
        Order.class,
        mode,
        ChannelOptions.DEFAULT.withSubscriptions("billing", "stock"));
  }

  private Channel<Order> installed(Mode mode) {
    var placed = placed(mode);
    PgOnce.using(stage.dataSource).install(placed);
    return placed;
  }

  private void publish(Channel<Order> channel, int count) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      for (var id = 1; id <= count; id++) {
        Publisher.standard().publish(connection, channel, new Order(id, "item"));
      }
    }
  }

  /** Says that it was called, and has its effect. */
  private Handler<Order> handler(String subscription) {
    return (order, tx) -> {
      calls.add(subscription + " " + order.payload().id() + " " + order.attempt());
      effect(subscription, order, tx);
    };
  }

  private static void effect(String subscription, Notification<Order> order, Tx tx)
      throws SQLException {
    tx.update("insert into effect values (?, ?)", order.payload().id(), subscription);
  }

  private String effects(String subscription) throws SQLException {
    return database.queryString(
        "select coalesce(string_agg(id::text, ' ' order by id), '') from effect where note = '"
            + subscription
            + "'");
  }

  private long waitingFor(String subscription) throws SQLException {
    return database.queryLong(WAITING.formatted(subscription));
  }

  private void awaitNothingWaitsFor(String subscription) {
    stage.awaitSoon(() -> waitingFor(subscription) == 0);
  }

  private List<String> callsOf(String subscription) {
    return calls.stream().filter(call -> call.startsWith(subscription)).toList();
  }

  @Test
  void example_twoSubscriptionsOfAChannelEachHandleEachNotificationOnce() throws Exception {
    var placed =
        Channel.of(
            "order.placed",
            Order.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withSubscriptions("billing", "stock"));
    var pgonce = stage.pgonce();
    pgonce.install(placed);
    pgonce.listen(
        placed,
        "billing",
        ListenOptions.DEFAULT.withConcurrency(2),
        (order, tx) -> tx.update("insert into effect values (?, 'invoice')", order.payload().id()));
    pgonce.listen(
        placed,
        "stock",
        ListenOptions.DEFAULT,
        (order, tx) -> tx.update("insert into effect values (?, 'parcel')", order.payload().id()));
    pgonce.start();

    // Published once: whoever publishes does not know who listens.
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, placed, new Order(42, "book"));
    }

    stage.awaitNothingWaits();
    assertThat(
            database.queryString(
                "select string_agg(id || ' ' || note, ', ' order by note) from effect"))
        .isEqualTo("42 invoice, 42 parcel");
  }

  @ParameterizedTest
  @CsvSource({"EXACTLY_ONCE, 3", "AT_LEAST_ONCE, 3", "AT_MOST_ONCE, 1"})
  void h52_oneFailsTheOtherIsDoneOnceAndTheFailingOneRetriesDiesAndIsRedrivenAlone(
      Mode mode, int attempts) throws Exception {
    var placed = installed(mode);
    var broken = new CountDownLatch(1);
    var billing = handler("billing");
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            placed,
            "billing",
            QUICK.withMaxAttempts(3),
            (order, tx) -> {
              billing.handle(order, tx);
              if (order.payload().id() == 3 && broken.getCount() > 0) {
                throw new IllegalStateException("no such account");
              }
            })
        .listen(placed, "stock", QUICK, handler("stock"))
        .start();
    publish(placed, 5);
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    stage.awaitNothingWaits();

    assertThat(callsOf("stock"))
        .containsExactlyInAnyOrder("stock 1 1", "stock 2 1", "stock 3 1", "stock 4 1", "stock 5 1");
    assertThat(callsOf("billing")).hasSize(4 + attempts).contains("billing 3 " + attempts);
    assertThat(effects("stock")).isEqualTo("1 2 3 4 5");
    assertThat(effects("billing")).isEqualTo("1 2 4 5");
    assertThat(
            database.queryString(
                "select string_agg(concat_ws(' ', subscription, reason, attempts), ', ') from pgonce.dead_letter_status"))
        .isEqualTo("billing ATTEMPTS_USED_UP " + attempts);

    calls.clear();
    broken.countDown();
    assertThat(stage.onCall().redrive(placed)).isEqualTo(1);
    stage.awaitSoon(() -> effects("billing").equals("1 2 3 4 5"));
    stage.awaitNothingWaits();
    assertThat(calls).containsExactly("billing 3 1");
    assertThat(effects("stock")).isEqualTo("1 2 3 4 5");
    assertThat(stage.deadLetters()).isZero();
  }

  @Test
  void example_aSubscriptionsDeadLettersAreRedrivenWithoutThoseOfTheOther() throws Exception {
    var placed = installed(Mode.EXACTLY_ONCE);
    publish(placed, 1);
    giveUpForEach();
    var letters = stage.onCall().by("Anna");

    // The account is there by now, the article never will be.
    letters.because("account opened").redrive(placed, "billing");
    letters.because("out of print").discard(placed, "stock");

    assertThat(waitingFor("billing")).isEqualTo(1);
    assertThat(waitingFor("stock")).isZero();
    assertThat(letters.deadLetters(placed, 10)).isEmpty();
    assertThat(database.queryString(LOG))
        .isEqualTo(
            """
            REDRIVE order.placed billing Anna account opened 1
            DISCARD order.placed stock Anna out of print 1""");
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void h52_bothBuryTheSameAndOneIsRedrivenAndTheOtherDiscardedEachAlone(Mode mode)
      throws Exception {
    var placed = installed(mode);
    var broken = new CountDownLatch(1);
    var pgonce = stage.pgonce();
    for (var subscription : List.of("billing", "stock")) {
      var handler = handler(subscription);
      pgonce.listen(
          placed,
          subscription,
          QUICK,
          (order, tx) -> {
            handler.handle(order, tx);
            if (order.payload().id() == 2 && broken.getCount() > 0) {
              throw new RejectedException(subscription + " does not want it");
            }
          });
    }
    pgonce.start();
    publish(placed, 3);
    stage.awaitSoon(() -> stage.deadLetters() == 2);
    stage.awaitNothingWaits();

    var letters = stage.onCall();
    var both = letters.deadLetters(placed, 10);
    assertThat(both).extracting(DeadLetter::subscription).containsExactly("billing", "stock");
    assertThat(both)
        .extracting(DeadLetter::error)
        .satisfiesExactly(
            error -> assertThat(error).contains("billing does not want it"),
            error -> assertThat(error).contains("stock does not want it"));
    assertThat(both)
        .as("one notification")
        .extracting(DeadLetter::id)
        .containsOnly(both.get(0).id());

    calls.clear();
    broken.countDown();
    assertThat(letters.redrive(placed, "billing")).isEqualTo(1);
    stage.awaitSoon(() -> effects("billing").equals("1 2 3"));
    stage.awaitNothingWaits();
    assertThat(calls).containsExactly("billing 2 1");
    assertThat(letters.deadLetters(placed, 10)).containsExactly(both.get(1));

    var id = List.of(both.get(1).id());
    assertThat(letters.redrive(placed, "billing")).isZero();
    assertThat(letters.discard(placed, "billing")).isZero();
    assertThat(letters.discard(placed, "billing", id)).isZero();
    assertThat(letters.deadLetters(placed, 10)).containsExactly(both.get(1));
    assertThat(letters.discard(placed, "stock", id)).isEqualTo(1);
    assertThat(stage.deadLetters()).isZero();
    assertThat(stage.waiting()).isZero();
    assertThat(calls).containsExactly("billing 2 1");
    assertThat(effects("stock")).isEqualTo("1 3");
  }

  @Test
  void h52_ofTheSubscriptionsDeadLettersOnlyThoseWithTheIdsAreTaken() throws Exception {
    var placed = installed(Mode.EXACTLY_ONCE);
    publish(placed, 3);
    giveUpForEach();
    var letters = stage.onCall();
    var ids = letters.deadLetters(placed, 10).stream().map(DeadLetter::id).distinct().toList();
    assertThat(ids).hasSize(3);

    assertThat(letters.redrive(placed, "stock", List.of(ids.get(0), 999_999L))).isEqualTo(1);
    assertThat(letters.discard(placed, "stock", List.of(ids.get(1)))).isEqualTo(1);
    assertThat(letters.redrive(placed, "billing", List.of())).isZero();
    assertThat(letters.deadLetters(placed, 10))
        .extracting(letter -> letter.subscription() + " " + letter.id())
        .containsExactly(
            "billing " + ids.get(0),
            "billing " + ids.get(1),
            "billing " + ids.get(2),
            "stock " + ids.get(2));
    assertThat(waitingFor("stock")).isEqualTo(1);

    // The same in SQL; and without a subscription it is all of them, as they are found.
    assertThat(
            database.queryLong(
                "select pgonce.redrive('order.placed', array[%d], 'for a test', 'billing')"
                    .formatted(ids.get(0))))
        .isEqualTo(1);
    assertThat(
            database.queryLong(
                "select pgonce.discard('order.placed', subscription_name => 'stock')"))
        .isEqualTo(1);
    assertThat(letters.redrive(placed)).isEqualTo(2);
    assertThat(waitingFor("billing")).isEqualTo(3);
    assertThat(waitingFor("stock")).isEqualTo(1);
  }

  @Test
  void h52_aDeliveryKeyIsHeldUntilTheDeadLettersOfBothAreGone() throws Exception {
    var placed = installed(Mode.EXACTLY_ONCE);
    try (var connection = stage.dataSource.getConnection()) {
      var options = PublishOptions.DEFAULT.withDeliveryKey("order:1");
      Publisher.standard().publish(connection, placed, new Order(1, "item"), options);
    }
    giveUpForEach();
    var letters = stage.onCall();
    assertThat(letters.discard(placed, "stock")).isEqualTo(1);
    assertThat(database.queryLong("select waiting from pgonce.delivery_key")).isEqualTo(1);
    assertThat(letters.discard(placed, "billing")).isEqualTo(1);
    assertThat(database.queryLong("select waiting from pgonce.delivery_key")).isZero();
  }

  /** What waits becomes dead letters, as if the handlers had rejected it. */
  private void giveUpForEach() throws SQLException {
    database.execute(
        "select pgonce.bury(n.subscription_id, n.id, 0, null, 1, 'REJECTED', 'not wanted')"
            + " from pgonce.notification n where n.subscription_id > 0");
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h52_whereNobodyListensForOneItsNotificationsWaitAndThoseOfTheOtherDoNot(Mode mode)
      throws Exception {
    var placed = installed(mode);
    stage.pgonce().listen(placed, "billing", QUICK, handler("billing")).start();
    publish(placed, 5);
    awaitNothingWaitsFor("billing");
    assertThat(effects("billing")).isEqualTo("1 2 3 4 5");
    assertThat(waitingFor("stock")).isEqualTo(5);
    assertThat(effects("stock")).isEmpty();

    stage.pgonce().listen(placed, "stock", QUICK, handler("stock")).start();
    awaitNothingWaitsFor("stock");
    assertThat(effects("stock")).isEqualTo("1 2 3 4 5");
    assertThat(calls).hasSize(10).doesNotHaveDuplicates();
  }

  /** Handles the stock's notifications up to the one it dies in. */
  static final class StockProcess {
    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      var login =
          new Login(arguments[0], Integer.parseInt(arguments[1]), arguments[2], arguments[3], "");
      try (var pool = login.pooled(4);
          var pgonce = PgOnce.using(pool)) {
        pgonce
            .listen(
                placed(Mode.valueOf(arguments[4])),
                "stock",
                QUICK.withConcurrency(1).withLease(CrashEffects.LEASE),
                (order, tx) -> {
                  effect("stock", order, tx);
                  if (order.payload().id() == 2) {
                    System.out.println("in the handler");
                    new CountDownLatch(1).await();
                  }
                })
            .start();
        System.out.println("started");
        pgonce.awaitStopped();
      }
    }
  }

  @ParameterizedTest
  @Tag("all")
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h52_theListenerOfOneIsKilledInItsHandlerAndTheOtherGoesOn(Mode mode) throws Exception {
    var placed = installed(mode);
    stage.pgonce().listen(placed, "billing", QUICK, handler("billing")).start();
    var arguments =
        List.of(
            database.host(),
            String.valueOf(database.port()),
            database.name(),
            database.user(),
            mode.name());
    try (var stock =
        JvmProcess.of(StockProcess.class)
            .property("pgonce.test.driver", System.getProperty("pgonce.test.driver", "pgjdbc"))
            .arguments(arguments.toArray(String[]::new))
            .start()) {
      stock.awaitLine("started", BOUND);
      publish(placed, 3);
      stock.awaitLine("in the handler", BOUND);
      stock.kill9();
    }
    publish(placed, 1);
    awaitNothingWaitsFor("billing");
    assertThat(effects("billing")).isEqualTo("1 1 2 3");
    assertThat(effects("stock")).isEqualTo("1");
    assertThat(waitingFor("stock")).as("the one it died in and those behind").isEqualTo(3);

    stage.pgonce().listen(placed, "stock", QUICK, handler("stock")).start();
    awaitNothingWaitsFor("stock");
    assertThat(effects("stock")).isEqualTo("1 1 2 3");
    assertThat(callsOf("billing")).hasSize(4);
  }

  @Test
  void h52_oneIsOneRowOfOneTableAndTwoAreTwo() throws Exception {
    stage.assumeExactStatistics();
    var one = Stage.ORDERS;
    var two = installed(Mode.EXACTLY_ONCE);
    stage
        .pgonce()
        .listen(one, Stage::effect)
        .listen(two, "billing", QUICK, handler("billing"))
        .listen(two, "stock", QUICK, handler("stock"))
        .start();
    stage.publish(100);
    publish(two, 10);
    stage.awaitNothingWaits();
    // Sessions that end report what they have done.
    stage.close();
    stage.dataSource.close();
    // Beside the ballast of 512 rows, which no subscription has.
    stage.awaitSoon(
        () ->
            database
                .queryString(
                    """
                    select string_agg(concat_ws(' ', relname, n_tup_ins, n_tup_upd, n_tup_del), ', ' order by relname)
                      from pg_stat_user_tables
                     where relname in ('notification', 'scheduled', 'dead_letter', 'delivery_key', 'rate_limit', 'effect')
                       and n_tup_ins > 0
                    """)
                .equals("effect 120 0 0, notification 632 0 120, scheduled 512 0 0"));
  }
}
