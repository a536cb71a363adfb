package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.DeliveryKey;
import org.pgonce.KeyOrder;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** S12: what is published under a key is published once, for as long as the key is there. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class UniqueKeyTest {

  private static final Publisher PUBLISHER = Publisher.standard();
  private static final Channel<Order> FORGETFUL = channel("forgetful", Duration.ZERO);
  private static final Channel<Order> MINDFUL = channel("mindful", Duration.ofHours(1));

  private Stage stage;

  private static Channel<Order> channel(String name, Duration memory) {
    return Channel.of(
        name, Order.class, Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withKeyMemory(memory));
  }

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(FORGETFUL, MINDFUL);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  private static PublishOptions key(String key) {
    return PublishOptions.DEFAULT.withDeliveryKey(key);
  }

  private Published publish(Channel<Order> channel, String key) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      return PUBLISHER.publish(connection, channel, new Order(1, "x"), key(key));
    }
  }

  private long keys() throws SQLException {
    return stage.database.queryLong("select count(*) from pgonce.delivery_key");
  }

  private String waitingOf(String key) throws SQLException {
    return stage.database.queryString(
        "select concat(waiting, case when done_at is not null then ' done' end) from pgonce.delivery_key where key = '"
            + key
            + "'");
  }

  private static List<Message<Order>> campaign(List<Integer> recipients) {
    return recipients.stream()
        .map(
            one ->
                new Message<>(
                    new Order(one, "mail"),
                    key(DeliveryKey.of("campaign", "cmp_42", "sub_" + one))))
        .toList();
  }

  @Test
  void example_publishOncePerBusinessIdentity() throws Exception {
    var key = DeliveryKey.of("campaign", "cmp_42", "sub_7");
    assertThat(key).isEqualTo("campaign:cmp_42:sub_7");
    try (var connection = stage.dataSource.getConnection()) {
      var first = PUBLISHER.publish(connection, MINDFUL, new Order(7, "mail"), key(key));
      assertThat(first.stored()).isTrue();

      var again = PUBLISHER.publish(connection, MINDFUL, new Order(7, "mail"), key(key));
      assertThat(again).isEqualTo(new Published(first.id(), false)); // already there
    }
    var keys = new CopyOnWriteArrayList<String>();
    stage.pgonce().listen(MINDFUL, (mail, tx) -> keys.add(mail.deliveryKey())).start();
    stage.awaitNothingWaits();
    assertThat(keys).containsExactly("campaign:cmp_42:sub_7");
  }

  @Test
  void s12_buildingACampaignTwiceAddsNothing() throws Exception {
    var recipients = IntStream.range(0, 2_000).boxed().toList();
    var twice = new ArrayList<>(recipients);
    twice.addAll(recipients);
    try (var connection = stage.dataSource.getConnection()) {
      var first = PUBLISHER.publishEach(connection, MINDFUL, campaign(twice));
      assertThat(first.subList(0, 2_000)).allMatch(Published::stored);
      assertThat(first.subList(2_000, 4_000)).noneMatch(Published::stored);
      assertThat(first.subList(2_000, 4_000))
          .extracting(Published::id)
          .isEqualTo(first.subList(0, 2_000).stream().map(Published::id).toList());

      var second = PUBLISHER.publishEach(connection, MINDFUL, campaign(recipients));
      assertThat(second).isEqualTo(first.subList(2_000, 4_000));
    }
    assertThat(stage.waiting()).isEqualTo(2_000);
    assertThat(keys()).isEqualTo(2_000);
  }

  @Test
  void s12_manyThatPublishTheSameKeysAtOnceStoreEachOnceAndDoNotBlockEachOther() throws Exception {
    var threads = Executors.newFixedThreadPool(8);
    try {
      var tasks = new ArrayList<Callable<Long>>();
      var start = new CyclicBarrier(8);
      for (var thread = 0; thread < 8; thread++) {
        var random = new Random(thread);
        tasks.add(
            () -> {
              var recipients = new ArrayList<>(IntStream.range(0, 3_000).boxed().toList());
              Collections.shuffle(recipients, random);
              try (var connection = stage.dataSource.getConnection()) {
                start.await(15, TimeUnit.SECONDS);
                return PUBLISHER.publishEach(connection, MINDFUL, campaign(recipients)).stream()
                    .filter(Published::stored)
                    .count();
              }
            });
      }
      var stored = 0L;
      for (var one : threads.invokeAll(tasks)) {
        stored += one.get();
      }
      assertThat(stored).isEqualTo(3_000);
      assertThat(stage.waiting()).isEqualTo(3_000);
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void s12_whoeverPublishesAKeyThatIsNotYetCommittedWaitsForItsFate() throws Exception {
    for (var commits : List.of(true, false)) {
      var key = "fate " + commits;
      var thread = Executors.newSingleThreadExecutor();
      try (var connection = stage.dataSource.getConnection()) {
        connection.setAutoCommit(false);
        PUBLISHER.publish(connection, MINDFUL, new Order(1, "x"), key(key));
        var second = thread.submit(() -> publish(MINDFUL, key));
        awaitLockWait();
        assertThat(second).isNotDone();
        end(connection, commits);
        assertThat(get(second).stored()).isEqualTo(!commits);
      } finally {
        thread.shutdownNow();
      }
    }
    assertThat(stage.waiting()).isEqualTo(2);
  }

  /** As {@code pgonce.cancel} and publishers take them: none waits for another in a circle. */
  @Test
  void h48_theKeysOfABatchAreSettledInTheirOrder() throws Exception {
    var b = publish(MINDFUL, "b").id();
    var a = publish(MINDFUL, "a").id();
    var done =
        "select pgonce.keys_done(id, '{%d,%d}', '{b,a}') from pgonce.subscription where channel_id = (select id from pgonce.channel where name = 'mindful')"
            .formatted(b, a);
    var lock = "select from pgonce.delivery_key where key = '%s' for update nowait";
    var thread = Executors.newSingleThreadExecutor();
    try (var holder = stage.dataSource.getConnection();
        var statement = holder.createStatement()) {
      holder.setAutoCommit(false);
      statement.execute(lock.formatted("a"));
      var settling =
          thread.submit(
              () -> {
                stage.database.execute(done);
                return true;
              });
      awaitLockWait();
      statement.execute(lock.formatted("b")); // fails if it is taken
      holder.rollback();
      assertThat(get(settling)).isTrue();
    } finally {
      thread.shutdownNow();
    }
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.delivery_key where waiting = 0 and done_at is not null"))
        .isEqualTo(2);
  }

  private void awaitLockWait() {
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
                > 0);
  }

  private static void end(Connection connection, boolean commits) throws SQLException {
    if (commits) {
      connection.commit();
    } else {
      connection.rollback();
    }
  }

  private static <R> R get(Future<R> future) throws Exception {
    return future.get(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
  }

  @Test
  void s12_publishingAKeyThatIsThereDoesNotKeepItsNotificationFromBeingHandled() throws Exception {
    publish(FORGETFUL, "a");
    try (var connection = stage.dataSource.getConnection()) {
      connection.setAutoCommit(false);
      var again = PUBLISHER.publish(connection, FORGETFUL, new Order(1, "x"), key("a"));
      assertThat(again.stored()).isFalse();
      stage.pgonce().listen(FORGETFUL, (order, tx) -> {}).start();
      stage.awaitNothingWaits(); // though this transaction is still open
      connection.rollback();
    }
  }

  @Test
  void s12_theSameKeyWithAnotherPayloadIsAnErrorWhereAsked() throws Exception {
    publish(MINDFUL, "a");
    try (var connection = stage.dataSource.getConnection()) {
      var strict = key("a").withSamePayload(true);
      assertThat(PUBLISHER.publish(connection, MINDFUL, new Order(1, "x"), strict).stored())
          .isFalse();
      assertThat(PUBLISHER.publish(connection, MINDFUL, new Order(2, "y"), key("a")).stored())
          .isFalse();
      assertThatThrownBy(
              () -> PUBLISHER.publish(connection, MINDFUL, new Order(2, "secret"), strict))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining(
              "delivery key \"a\" of channel \"mindful\" was given to another payload before")
          .hasMessageNotContaining("secret")
          .extracting(e -> ((SQLException) e).getSQLState())
          .isEqualTo("PO004");
    }
  }

  @Test
  void s12_withoutMemoryACompletedKeyIsFreeAtOnce() throws Exception {
    assertThat(publish(FORGETFUL, "a").stored()).isTrue();
    stage.pgonce().listen(FORGETFUL, Stage::effect).start();
    stage.awaitNothingWaits();
    assertThat(keys()).isZero();
    assertThat(publish(FORGETFUL, "a").stored()).isTrue();
    stage.awaitSoon(() -> stage.effects() == 2);
  }

  @Test
  void s12_aCompletedKeyIsDoneInTheModesThatLeaseToo() throws Exception {
    for (var mode : List.of(Mode.AT_LEAST_ONCE, Mode.AT_MOST_ONCE)) {
      var leased =
          Channel.of(
              "leased." + mode.name().toLowerCase(Locale.ROOT),
              Order.class,
              mode,
              ChannelOptions.DEFAULT.withKeyMemory(Duration.ofHours(1)));
      var pgonce = stage.pgonce().install(leased);
      publish(leased, mode.name());
      pgonce.listen(leased, (order, tx) -> {}).start();
      stage.awaitSoon(() -> waitingOf(mode.name()).equals("0 done"));
    }
    stage.awaitNothingWaits();
  }

  @Test
  void s12_aKeyIsRememberedAsLongAsPromisedAndNotMuchLonger() throws Exception {
    var role = stage.database.loginRole("worker", "pgonce_listener");
    var first = publish(MINDFUL, "a");
    stage
        .pgonce(PgOnce.builder(role.pooled(4)), Duration.ofMillis(20))
        .listen(MINDFUL, (order, tx) -> {})
        .start();
    stage.awaitNothingWaits();
    assertThat(waitingOf("a")).isEqualTo("0 done");
    assertThat(publish(MINDFUL, "a")).isEqualTo(new Published(first.id(), false));

    // A second before its time is over nobody forgets it; after that the listener's housekeeping
    // does.
    stage.database.execute(
        "update pgonce.delivery_key set done_at = clock_timestamp() - interval '59 min 30 s'");
    assertThat(stage.database.queryLong("select pgonce.forget_keys()")).isZero();
    assertThat(publish(MINDFUL, "a").stored()).isFalse();
    stage.database.execute(
        "update pgonce.delivery_key set done_at = clock_timestamp() - interval '1 hour'");
    stage.awaitSoon(() -> keys() == 0);
  }

  @Test
  void s12_aKeyWhoseTimeIsOverIsTakenOverWhereNobodyHasForgottenItYet() throws Exception {
    var first = publish(MINDFUL, "a");
    stage.database.execute(
        "delete from pgonce.notification where subscription_id > 0; update pgonce.delivery_key set waiting = 0, done_at = clock_timestamp() - interval '2 hours'");
    var second = publish(MINDFUL, "a");
    assertThat(second.stored()).isTrue();
    assertThat(second.id()).isGreaterThan(first.id());
    assertThat(waitingOf("a")).isEqualTo("1");
    assertThat(publish(MINDFUL, "a")).isEqualTo(new Published(second.id(), false));
  }

  @Test
  void s12_aDeadLetterHoldsItsKeyUntilItIsDiscardedOrHandled() throws Exception {
    var broken = new CountDownLatch(1);
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            FORGETFUL,
            QUICK.withMaxAttempts(1),
            (order, tx) -> {
              if (broken.getCount() > 0) {
                throw new IllegalStateException("not yet");
              }
            })
        .start();
    publish(FORGETFUL, "handled later");
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(publish(FORGETFUL, "handled later").stored()).isFalse();
    broken.countDown();
    assertThat(stage.onCall().redrive(FORGETFUL)).isEqualTo(1);
    stage.awaitSoon(() -> keys() == 0);
  }

  @Test
  void s12_discardingADeadLetterFreesItsKey() throws Exception {
    publish(MINDFUL, "a");
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            MINDFUL,
            QUICK.withMaxAttempts(1),
            (order, tx) -> {
              throw new IllegalStateException("never");
            })
        .start();
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(waitingOf("a")).isEqualTo("1");
    assertThat(stage.onCall().discard(MINDFUL)).isEqualTo(1);
    assertThat(waitingOf("a")).isEqualTo("0 done");
  }

  @Test
  void s12_cancellingIsDoneWithTheKey() throws Exception {
    var operations = stage.onCall();
    var first = publish(FORGETFUL, "a");
    assertThat(operations.cancelByKey(FORGETFUL, List.of("a"), "opted out")).isEqualTo(1);
    var second = publish(FORGETFUL, "a");
    assertThat(second.stored()).isTrue();
    assertThat(second.id()).isGreaterThan(first.id());
    assertThat(operations.cancel(FORGETFUL, List.of(second.id()), "opted out")).isEqualTo(1);
    assertThat(waitingOf("a")).isEqualTo("0 done");

    // Remembered as if it had been handled: who builds the campaign again adds nothing.
    publish(MINDFUL, "b");
    operations.cancelByKey(MINDFUL, List.of("b"), "opted out");
    assertThat(waitingOf("b")).isEqualTo("0 done");
    assertThat(publish(MINDFUL, "b").stored()).isFalse();
  }

  @Test
  void s12_aKeyIsDoneWhenTheLastSubscriptionIs() throws Exception {
    var both =
        Channel.of(
            "both",
            Order.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT
                .withSubscriptions("one", "two", "three")
                .withKeyMemory(Duration.ofHours(1)));
    var pgonce = stage.pgonce().install(both);
    publish(both, "a");
    assertThat(waitingOf("a")).isEqualTo("3");
    pgonce.listen(both, "one", QUICK, (order, tx) -> {}).start();
    stage.awaitSoon(() -> waitingOf("a").equals("2"));
    stage.database.execute(
        "select pgonce.drop_subscription('both', 'two'); select pgonce_private.clear_leftovers()");
    assertThat(waitingOf("a")).isEqualTo("1");
    stage.pgonce().listen(both, "three", QUICK, (order, tx) -> {}).start();
    stage.awaitSoon(() -> waitingOf("a").equals("0 done"));
    stage.close();
    stage.database.execute(
        "select pgonce.drop_channel('both'); select pgonce_private.clear_leftovers()");
    assertThat(keys()).isZero();
  }

  @Test
  void s12_aHandlerThatFailsFreesNothing() throws Exception {
    publish(FORGETFUL, "a");
    var attempts = new CopyOnWriteArrayList<Integer>();
    stage
        .pgonce()
        .listen(
            FORGETFUL,
            QUICK,
            (order, tx) -> {
              assertThat(publish(FORGETFUL, "a").stored()).isFalse();
              attempts.add(order.attempt());
              if (order.attempt() == 1) {
                throw new IllegalStateException("not yet");
              }
            })
        .start();
    stage.awaitNothingWaits();
    assertThat(attempts).containsExactly(1, 2);
    assertThat(keys()).isZero();
  }

  @Test
  void s12_whatHasNoKeyPaysForNone() throws Exception {
    // Whatever would touch a key fails now.
    stage.database.execute(
        "drop function pgonce.keys_done; alter table pgonce.delivery_key rename to away");
    stage.publish(3);
    stage.pgonce().listen(Stage.ORDERS, Stage::effect).start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(3)).isTrue();
    assertThatThrownBy(() -> publish(FORGETFUL, "a")).hasMessageContaining("delivery_key");
  }

  @Test
  void api_anOrderKeyNeedsAChannelWithAnOrder() throws Exception {
    var ordered =
        Channel.of(
            "ordered",
            Order.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS));
    PgOnce.using(stage.dataSource).install(ordered);
    var options = PublishOptions.DEFAULT.withOrderKey("customer 7");
    try (var connection = stage.dataSource.getConnection()) {
      PUBLISHER.publish(connection, ordered, new Order(1, "x"), options);
      assertThatThrownBy(() -> PUBLISHER.publish(connection, MINDFUL, new Order(1, "x"), options))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("channel mindful keeps no order");
    }
    stage.database.execute("select pgonce.publish('mindful', '1', order_key => 'dropped')");
    assertThat(
            stage.database.queryString(
                "select string_agg(coalesce(order_key, '-'), ',' order by id) from pgonce.notification where subscription_id > 0"))
        .isEqualTo("customer 7,-");
  }
}
