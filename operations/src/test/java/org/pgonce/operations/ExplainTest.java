package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.operations.Stage.ORDERS;
import static org.pgonce.operations.Stage.QUICK;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.RejectedException;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.operations.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Each cause for which a notification is not moving is staged, and told. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
@Tag("versions")
class ExplainTest {

  /** A listener that is not there: registered, and never heard of again. */
  private static final String REGISTER =
      "select pgonce.listener_starts(gen_random_uuid(), 'host-7', (select array_agg(id) from pgonce.subscription where of_channel = '%s'), 'polling', 600000, workers => '{%d}')";

  private static final ListenOptions PATIENT =
      QUICK.withBackoff(new Backoff(Duration.ofMinutes(30), Duration.ofHours(1)));

  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch goOn = new CountDownLatch(1);
  private Stage stage;
  private Operations operations;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    operations = Operations.over(stage.dataSource).by("Anna");
  }

  @AfterEach
  void close() {
    goOn.countDown();
    stage.close();
  }

  private long publish(Channel<Order> channel, PublishOptions options) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      return Publisher.standard().publish(connection, channel, new Order(1, "item"), options).id();
    }
  }

  private long publish(Channel<Order> channel) throws SQLException {
    return publish(channel, PublishOptions.DEFAULT);
  }

  private Channel<Order> install(String name, Mode mode, ChannelOptions options) {
    var channel = Channel.of(name, Order.class, mode, options);
    PgOnce.using(stage.dataSource).install(channel);
    return channel;
  }

  private PgOnce listenAndHold(Channel<Order> channel, ListenOptions options) {
    return stage
        .pgonce()
        .listen(
            channel,
            options,
            (order, tx) -> {
              tx.update("insert into effect values (1, 'by the handler')");
              begun.countDown();
              goOn.await();
            });
  }

  private Explanation explain(Channel<?> channel, long id) {
    var answers = operations.explain(channel, id);
    assertThat(answers).hasSize(1);
    var answer = answers.get(0);
    assertThat(answer.id()).isEqualTo(id);
    assertThat(answer.detail()).isNotBlank().doesNotContain("item");
    assertThat(answer.advice()).isNotBlank();
    return answer;
  }

  private void awaitCause(Channel<?> channel, long id, Cause cause) {
    stage.awaitSoon(() -> explain(channel, id).cause() == cause);
  }

  @Test
  void example_askWhyAndDoWhatTheAnswerSays() throws Exception {
    var id = publish(ORDERS, PublishOptions.DEFAULT.withDelay(Duration.ofHours(6)));
    operations.pause(ORDERS, "mail server is down");

    var paused = operations.explain(ORDERS, id).get(0);
    assertThat(paused.cause()).isEqualTo(Cause.PAUSED);
    assertThat(paused.detail()).isEqualTo("paused by Anna: mail server is down");
    assertThat(paused.advice()).contains("pgonce.resume('orders'");
    operations.resume(ORDERS, "it is back");

    var scheduled = operations.explain(ORDERS, id).get(0);
    assertThat(scheduled.cause()).isEqualTo(Cause.SCHEDULED);
    assertThat(scheduled.until()).isAfter(Instant.now().plus(Duration.ofHours(5)));
    assertThat(operations.retryNow(ORDERS, List.of(id, 999_999L), "they call")).isEqualTo(1);

    assertThat(operations.explain(ORDERS, id).get(0).cause()).isEqualTo(Cause.NO_LISTENER);
    assertThat(
            stage.database.queryString(
                "select concat_ws(' ', what, operator, reason, concerned) from pgonce.operation_log order by id desc limit 1"))
        .isEqualTo("RETRY_NOW Anna they call 1");
  }

  @Test
  void explain_atWorkByWhomAndWithWhichSql() throws Exception {
    var id = publish(ORDERS);
    listenAndHold(ORDERS, QUICK).start();
    begun.await();
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.AT_WORK);
    assertThat(answer.since()).isBefore(Instant.now().plusSeconds(60));
    assertThat(answer.lastSql()).contains("insert into effect");
    assertThat(answer.detail())
        .startsWith("attempt 1")
        .contains("server process " + answer.backendPid());
    // The next heartbeat says whose session that is.
    stage.awaitSoon(() -> explain(ORDERS, id).instance() != null);
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.at_work w join pgonce.listener_status l using (instance)"
                    + " where w.channel = 'orders' and w.id = %d and w.attempt = 1 and w.pid = %d and w.last_sql like 'insert into effect%%'"
                        .formatted(id, answer.backendPid())))
        .isEqualTo(1);
    goOn.countDown();
    awaitCause(ORDERS, id, Cause.DONE_OR_NEVER);
    assertThat(stage.database.queryLong("select count(*) from pgonce.at_work")).isZero();
  }

  @Test
  void explain_atWorkOnALeaseUntilWhen() throws Exception {
    var leased = install("leased", Mode.AT_LEAST_ONCE, ChannelOptions.DEFAULT);
    var id = publish(leased);
    listenAndHold(leased, QUICK).start();
    begun.await();
    var answer = explain(leased, id);
    assertThat(answer.cause()).isEqualTo(Cause.AT_WORK);
    assertThat(answer.until()).isNotNull();
    assertThat(answer.lastSql()).contains("insert into effect");
    stage.awaitSoon(() -> explain(leased, id).instance() != null);
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.at_work where id = %d and leased_until > now()"
                    .formatted(id)))
        .isEqualTo(1);
  }

  /** Its lease is respected to its end, though the channel has none any more. */
  @Test
  void explain_atWorkOnALeaseFromBeforeTheChannelWasExactlyOnce() throws Exception {
    var leased = install("leased", Mode.AT_LEAST_ONCE, ChannelOptions.DEFAULT);
    var id = publish(leased);
    listenAndHold(leased, QUICK).start();
    begun.await();
    stage.database.execute("select pgonce.change_mode('leased', 'EXACTLY_ONCE')");
    var answer = explain(leased, id);
    assertThat(answer.cause()).isEqualTo(Cause.AT_WORK);
    assertThat(answer.until()).isNotNull();
    assertThat(operations.retryNow(leased, List.of(id), "now")).isZero();
  }

  @Test
  void explain_atWorkInATransactionThatIsNoListeners() throws Exception {
    var id = publish(ORDERS);
    try (var somebody = stage.dataSource.getConnection()) {
      hold(somebody, "select from pgonce.notification where id = " + id + " for update");
      var answer = explain(ORDERS, id);
      assertThat(answer.cause()).isEqualTo(Cause.AT_WORK);
      assertThat(answer.instance()).isNull();
      assertThat(answer.advice()).contains("pg_terminate_backend(" + answer.backendPid() + ")");
      somebody.rollback();
    }
    assertThat(explain(ORDERS, id).cause()).isEqualTo(Cause.NO_LISTENER);
    // To ask leaves no mark, by which a claim would take it for a suspect.
    var other = publish(ORDERS);
    assertThat(explain(ORDERS, other).cause()).isEqualTo(Cause.NO_LISTENER);
    assertThat(
            stage.database.queryString(
                "select xmax::text from pgonce.notification where subscription_id > 0 and id = "
                    + other))
        .isEqualTo("0");
  }

  /** The handler is the victim: to end it does not help. */
  @Test
  void explain_lockWaitNamesWhoHoldsTheLockAndNotTheVictim() throws Exception {
    try (var nightly = stage.dataSource.getConnection()) {
      var holder = lockEffects(nightly);
      var first = publish(ORDERS);
      var second = publish(ORDERS);
      listenAndHold(ORDERS, QUICK.withConcurrency(1)).start();
      awaitCause(ORDERS, first, Cause.LOCK_WAIT);
      var answer = explain(ORDERS, first);
      assertThat(answer.since()).isBefore(Instant.now());
      assertThat(answer.detail())
          .contains("for a lock on table public.effect, held by server process " + holder)
          .contains("process " + holder + " is nightly-report, role ")
          .contains("idle in transaction, in its transaction since 2");
      assertThat(answer.advice())
          .contains("pg_terminate_backend(" + holder + ")")
          .contains("To end " + answer.backendPid() + " does not help");
      assertThat(
              stage.database.queryString(
                  "select concat_ws(' ', wait_event_type, waits_for, blocked_by_pid) from pgonce.at_work"))
          .isEqualTo("Lock a lock on table public.effect " + holder);
      // What waits behind it is told the same, and its own last error.
      stage.database.execute(
          "with n as (delete from pgonce.notification where subscription_id > 0 and id = %d returning *)"
                  .formatted(second)
              + " insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, last_error, payload)"
              + " select subscription_id, id, now(), 1, created_at, 'canceled', payload from n");
      var behind = explain(ORDERS, second);
      assertThat(behind.cause()).isEqualTo(Cause.STARVED);
      assertThat(behind.detail())
          .contains("notification " + first + " is in the session of server process ")
          .contains("held by server process " + holder)
          .contains("its last attempt failed: canceled")
          .contains("nightly-report");
      assertThat(behind.advice()).contains("pg_terminate_backend(" + holder + ")");
      nightly.rollback();
    }
  }

  private static int lockEffects(Connection nightly) throws SQLException {
    hold(nightly, "set local application_name = 'nightly-report'; lock table effect in share mode");
    return pidOf(nightly);
  }

  private static int pidOf(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("select pg_backend_pid()")) {
      row.next();
      return row.getInt(1);
    }
  }

  private static void hold(Connection connection, String sql) throws SQLException {
    connection.setAutoCommit(false);
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Test
  void explain_scheduledUntil() throws Exception {
    var id = publish(ORDERS, PublishOptions.DEFAULT.withDelay(Duration.ofHours(1)));
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.SCHEDULED);
    assertThat(answer.until()).isEqualTo(operations.peek(ORDERS, 1).get(0).dueAt());
    assertThat(answer.advice()).contains("pgonce.retry_now('orders', " + id);
  }

  @Test
  void explain_retryingWithItsErrorUntilWhen() throws Exception {
    var id = publish(ORDERS);
    stage
        .pgonce()
        .listen(
            ORDERS,
            PATIENT,
            (order, tx) -> {
              throw new IllegalStateException("mail server says 421");
            })
        .start();
    awaitCause(ORDERS, id, Cause.RETRYING);
    var answer = explain(ORDERS, id);
    assertThat(answer.detail()).startsWith("attempt 1 failed").contains("mail server says 421");
    assertThat(answer.detail())
        .endsWith(
            "; 0 more of the subscription have failed and wait, 0 of them with the same error");
    assertThat(answer.advice()).startsWith("Mend what fails").contains("pgonce.retry_now('orders'");
    assertThat(answer.until()).isAfter(answer.since());
    assertThat(operations.retryNow(ORDERS, List.of(id), "it is back")).isEqualTo(1);
    stage.awaitSoon(() -> explain(ORDERS, id).detail().startsWith("attempt 2 failed"));
    var other = publish(ORDERS);
    awaitCause(ORDERS, other, Cause.RETRYING);
    assertThat(explain(ORDERS, id).detail())
        .contains("; 1 more of the subscription have failed and wait, 1 of them with the same");
  }

  @Test
  void explain_blockedByADeadLetterOfItsKey() throws Exception {
    var ordered =
        install(
            "ordered",
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS));
    var first = publish(ordered, PublishOptions.DEFAULT.withOrderKey("a"));
    var second = publish(ordered, PublishOptions.DEFAULT.withOrderKey("a"));
    var other = publish(ordered, PublishOptions.DEFAULT.withOrderKey("b"));
    assertThat(explain(ordered, second).blockedBy()).isEqualTo(first);
    assertThat(explain(ordered, first).cause()).isEqualTo(Cause.NO_LISTENER);
    bury(first);
    var answer = explain(ordered, second);
    assertThat(answer.cause()).isEqualTo(Cause.BLOCKED_BY_DEAD);
    assertThat(answer.blockedBy()).isEqualTo(first);
    assertThat(answer.detail())
        .contains("the same order key, \"a\",")
        .contains("a dead letter since")
        .contains("REJECTED: not wanted")
        .endsWith("; 1 wait behind it");
    assertThat(answer.advice())
        .startsWith("When what failed is mended: SELECT pgonce.redrive('ordered', " + first);
    assertThat(stage.database.queryString("select order_key from pgonce.dead_letter_status"))
        .isEqualTo("a");
    assertThat(explain(ordered, other).cause()).isEqualTo(Cause.NO_LISTENER);
  }

  private void bury(long id) throws SQLException {
    stage.database.execute(
        "select pgonce.bury(n.subscription_id, n.id, 0, null, 1, 'REJECTED', 'not wanted') from pgonce.notification n where n.subscription_id > 0 and n.id = "
            + id);
  }

  @Test
  void explain_blockedByOneOfItsKeyThatIsAtWork() throws Exception {
    var ordered =
        install(
            "ordered",
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS));
    var first = publish(ordered, PublishOptions.DEFAULT.withOrderKey("a"));
    var second = publish(ordered, PublishOptions.DEFAULT.withOrderKey("a"));
    listenAndHold(ordered, QUICK).start();
    begun.await();
    assertThat(explain(ordered, first).cause()).isEqualTo(Cause.AT_WORK);
    var answer = explain(ordered, second);
    assertThat(answer.cause()).isEqualTo(Cause.BLOCKED_BY);
    assertThat(answer.blockedBy()).isEqualTo(first);
  }

  @Test
  void explain_limitedByOthersOfItsKey() throws Exception {
    for (var mode : List.of(Mode.EXACTLY_ONCE, Mode.AT_LEAST_ONCE)) {
      var name = "limited." + mode.name().toLowerCase(Locale.ROOT);
      var limited = install(name, mode, ChannelOptions.DEFAULT.withMaxPerKey(1));
      var keyed = PublishOptions.DEFAULT.withOrderKey("tenant 1");
      var first = publish(limited, keyed);
      var second = publish(limited, keyed);
      listenAndHold(limited, QUICK.withConcurrency(2)).start();
      awaitCause(limited, first, Cause.AT_WORK);
      awaitCause(limited, second, Cause.LIMITED);
      var answer = explain(limited, second);
      assertThat(answer.detail()).startsWith("1 of its key are at work").endsWith(": " + first);
    }
  }

  @Test
  void explain_throttledUntil() throws Exception {
    var slow = install("slow", Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withMaxRate(1));
    var ids = new ArrayList<Long>();
    for (var i = 0; i < 60; i++) {
      ids.add(publish(slow));
    }
    stage.pgonce().listen(slow, QUICK, Stage::effect).start();
    var last = ids.get(59);
    awaitCause(slow, last, Cause.THROTTLED);
    stage.awaitSoon(
        () -> {
          var answer = explain(slow, last);
          return answer.cause() == Cause.THROTTLED
              && answer.detail().startsWith("1 a second begin")
              && answer.detail().contains(" wait in all, which takes 00:00:")
              && answer.detail().contains(" at that rate, installed so at 2")
              && answer.until().isAfter(answer.since().plusSeconds(10));
        });
    // Of the first in line: until all are through.
    assertThat(operations.explain(slow).get(0).until()).isAfter(Instant.now().plusSeconds(10));
  }

  @Test
  void explain_pausedByWhomAndWhy() throws Exception {
    var id = publish(ORDERS);
    operations.pause(ORDERS, "the warehouse moves");
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.PAUSED);
    assertThat(answer.detail()).isEqualTo("paused by Anna: the warehouse moves");
    assertThat(answer.since()).isNotNull();
  }

  @Test
  void explain_outdatedListenersAndInWhat() throws Exception {
    listenAndHold(ORDERS, QUICK).start();
    install("orders", Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withMaxDepth(7));
    var id = publish(ORDERS);
    awaitCause(ORDERS, id, Cause.OUTDATED_LISTENERS);
    assertThat(explain(ORDERS, id).detail())
        .contains("maximum depth \"7\", but defined with \"100\"; installed so at 2")
        .doesNotContain("\n");
    assertThat(explain(ORDERS, id).advice())
        .contains("or run this:\nSELECT pgonce.install_channel('orders'");
    assertThat(
            stage.database.queryLong(
                "select outdated_listeners from pgonce.channel_status where channel = 'orders'"))
        .isEqualTo(1);
    assertThat(stage.database.queryString("select outdated from pgonce.listener_status"))
        .startsWith("default of orders: ")
        .contains("maximum depth");
    PgOnce.using(stage.dataSource).install(ORDERS);
    awaitCause(ORDERS, id, Cause.AT_WORK);
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select outdated_listeners from pgonce.channel_status where channel = 'orders'")
                == 0);
  }

  @Test
  void explain_noListenerAndWhoWasHeardFromLast() throws Exception {
    var id = publish(ORDERS);
    assertThat(explain(ORDERS, id).detail()).isEqualTo("no process listens to the subscription");
    stage.database.execute(REGISTER.formatted("orders", 4));
    assertThat(explain(ORDERS, id).cause()).isNotEqualTo(Cause.NO_LISTENER);
    // Its session is gone, and it missed a heartbeat: its silence, of 10 min, is not waited for.
    stage.database.execute(
        "update pgonce.listener set backend = 2147483647, seen_at = now() - interval '4 minutes'");
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.NO_LISTENER);
    assertThat(answer.detail()).contains("host-7 was heard from last at");
    // Housekeeping takes it off the list, and keeps for a day that it was there.
    stage.database.execute(
        "update pgonce.listener set seen_at = now() - interval '11 minutes';"
            + " select pgonce.keep_house('list of listeners', gen_random_uuid())");
    assertThat(explain(ORDERS, id).detail())
        .contains("; host-7 from ")
        .contains("heard from last at");
    assertThat(stage.database.queryLong("select count(*) from pgonce.listener_status")).isZero();
    stage.database.execute(
        "update pgonce.former_listener set left_at = now() - interval '25 hours';"
            + " select pgonce.keep_house('list of listeners', gen_random_uuid())");
    assertThat(explain(ORDERS, id).detail()).isEqualTo("no process listens to the subscription");
  }

  @Test
  void explain_noListenerAndWhoStoppedLast() throws Exception {
    try (var pgonce = PgOnce.builder(stage.dataSource).instance("web-1").build()) {
      pgonce.listen(ORDERS, QUICK, Stage::effect).start();
      stage.awaitSoon(
          () -> stage.database.queryLong("select count(*) from pgonce.listener_status") == 1);
    }
    assertThat(stage.database.queryLong("select count(*) from pgonce.listener_status")).isZero();
    var id = publish(ORDERS);
    assertThat(explain(ORDERS, id).detail())
        .startsWith("no process listens to the subscription; web-1")
        .contains(" stopped at 2");
    assertThat(
            stage.database.queryString(
                "select concat_ws(' ', instance, stopped, channels) from pgonce.former_listener_status"))
        .isEqualTo("web-1 t {orders}");
  }

  @Test
  void explain_starvedOfWorkers() throws Exception {
    publish(ORDERS);
    listenAndHold(ORDERS, QUICK.withConcurrency(1)).start();
    begun.await();
    var id = publish(ORDERS);
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.STARVED);
    assertThat(answer.detail())
        .startsWith(
            "1 before it, 1 of 1 workers of 1 listeners at work; notification 1 is in the session of server process ")
        .contains("; process ");
    assertThat(answer.advice()).contains("All workers are busy");
  }

  @Test
  void explain_starvedOfConnections() throws Exception {
    try (var pool = stage.database.pooled(2);
        var pgonce = PgOnce.builder(pool).stopTimeout(Duration.ofSeconds(1)).build()) {
      pgonce.listen(ORDERS, QUICK, Stage::effect).start();
      stage.awaitSoon(
          () -> stage.database.queryLong("select count(*) from pgonce.listener_status") == 1);
      // Now the application keeps all connections.
      try (var one = pool.getConnection();
          var two = pool.getConnection()) {
        var id = publish(ORDERS);
        awaitCause(ORDERS, id, Cause.STARVED);
        assertThat(explain(ORDERS, id).advice()).contains("no connection to give");
        assertThat(one.isValid(1) && two.isValid(1)).isTrue();
      }
      stage.awaitSoon(() -> stage.waiting() == 0);
    }
  }

  @Test
  void explain_waitingBehindOthers() throws Exception {
    stage.database.execute(REGISTER.formatted("orders", 4));
    stage.publish(2);
    var id = publish(ORDERS);
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.WAITING);
    assertThat(answer.detail()).isEqualTo("2 before it, 0 of 4 workers of 1 listeners at work");
  }

  @Test
  void explain_deadForWhatReason() throws Exception {
    var id = publish(ORDERS);
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              throw new RejectedException("no such article");
            })
        .start();
    awaitCause(ORDERS, id, Cause.DEAD);
    var answer = explain(ORDERS, id);
    assertThat(answer.detail()).startsWith("REJECTED after 1 attempts").contains("no such article");
    assertThat(answer.since()).isEqualTo(operations.deadLetters().of(ORDERS, 1).get(0).diedAt());
    // Asked why nothing comes, it does not say that all is done.
    var first = operations.explain(ORDERS).get(0);
    assertThat(first.cause()).isEqualTo(Cause.DEAD);
    assertThat(first.id()).isNull();
    assertThat(first.since()).isEqualTo(answer.since());
    assertThat(first.detail())
        .startsWith("nothing waits; 1 dead letters (1 REJECTED), the newest of 2");
    assertThat(first.advice()).contains("pgonce.redrive('orders', reason => 'why')");
    publish(ORDERS, PublishOptions.DEFAULT.withDelay(Duration.ofHours(1)));
    assertThat(operations.explain(ORDERS).get(0).detail()).contains("; besides, 1 dead letters");
  }

  @Test
  void explain_copyNotAdopted() throws Exception {
    var id = publish(ORDERS);
    stage.database.execute("update pgonce.installation set home = '1 elsewhere'");
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.COPY_NOT_ADOPTED);
    assertThat(answer.detail()).contains("is a copy");
    operations.adopt("for a test");
    assertThat(explain(ORDERS, id).cause()).isEqualTo(Cause.NO_LISTENER);
  }

  /** It reads beside whatever is locked, and in a transaction that may only read. */
  @Test
  void explain_waitsForNobodyAndWritesNothing() throws Exception {
    var id = publish(ORDERS);
    try (var somebody = stage.dataSource.getConnection();
        var reader = stage.dataSource.getConnection()) {
      hold(
          somebody,
          "lock table pgonce.notification, pgonce.scheduled, pgonce.subscription in exclusive mode");
      reader.setAutoCommit(false);
      try (var statement = reader.createStatement()) {
        statement.execute("set transaction read only; set local lock_timeout = '1s'");
        try (var row =
            statement.executeQuery("select cause from pgonce.explain('orders', " + id + ")")) {
          row.next();
          assertThat(row.getString(1)).isEqualTo("NO_LISTENER");
        }
        try (var row = statement.executeQuery("select count(*) from pgonce.at_work")) {
          row.next();
          assertThat(row.getLong(1)).isZero();
        }
      }
      reader.rollback();
      somebody.rollback();
    }
  }

  /** Ten thousand wait, and some are held: it answers in a moment all the same. */
  @Test
  void explain_isCheapAmidABacklog() throws Exception {
    stage.database.execute(
        "insert into pgonce.notification (subscription_id, payload) select s.id, '1' from pgonce.subscription s, generate_series(1, 100000) where s.of_channel = 'orders'");
    stage.database.execute(REGISTER.formatted("orders", 4));
    var last =
        stage.database.queryLong(
            "select max(id) from pgonce.notification where subscription_id > 0");
    assertThat(explain(ORDERS, last).detail()).startsWith("at least 10000 before it");
    var best = Long.MAX_VALUE;
    for (var i = 0; i < 5; i++) {
      var from = System.nanoTime();
      explain(ORDERS, last);
      best = Math.min(best, System.nanoTime() - from);
    }
    assertThat(Duration.ofNanos(best)).isLessThan(Duration.ofMillis(500));
    assertThat(begun.await(0, TimeUnit.SECONDS)).isFalse();
  }
}
