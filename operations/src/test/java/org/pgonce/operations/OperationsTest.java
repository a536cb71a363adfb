package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.operations.Stage.ORDERS;
import static org.pgonce.operations.Stage.QUICK;

import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.operations.Operations.Cancelled;
import org.pgonce.operations.Operations.Waiting;
import org.pgonce.spi.ChannelFeed;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * What the person on call does beside pausing: cancel, peek, drop; and what is remembered of it.
 */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class OperationsTest {

  private static final String LOG =
      "select string_agg(concat_ws(' ', what, channel, subscription, operator, reason, concerned, detail), e'\\n' order by id)"
          + " from pgonce.operation_log where what <> 'INSTALL'";

  private Stage stage;
  private Operations operations;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    operations = Operations.over(stage.dataSource).by("Anna");
  }

  @AfterEach
  void close() {
    stage.close();
  }

  /** Gives the waiting notification with this id a key, as a publisher does. */
  private void giveKey(long id, String key) throws SQLException {
    stage.database.execute(
        """
        update pgonce.notification set delivery_key = '%2$s' where id = %1$d and subscription_id > 0;
        insert into pgonce.delivery_key (channel_id, key, id, fingerprint, waiting)
        select id, '%2$s', %1$d, '', 1 from pgonce.channel where name = 'orders'
        """
            .formatted(id, key));
  }

  @Test
  void example_cancelWhatWaits() throws Exception {
    stage.publish(4);
    var waiting = operations.peek(ORDERS, 10).stream().map(Waiting::id).toList();
    assertThat(operations.cancel(ORDERS, List.of(waiting.get(0), 999_999L), "never ordered"))
        .isEqualTo(new Cancelled(1, 0));
    giveKey(waiting.get(1), "camp\\aign:\"1\",{x}");
    giveKey(waiting.get(2), "campaign:2");
    assertThat(
            operations.cancelByKey(
                ORDERS, List.of("camp\\aign:\"1\",{x}", "campaign:3"), "opted out"))
        .isEqualTo(new Cancelled(1, 0));
    assertThat(operations.peek(ORDERS, 10))
        .extracting(Waiting::id)
        .isEqualTo(waiting.subList(2, 4));
    assertThat(stage.database.queryString(LOG))
        .isEqualTo("CANCEL orders Anna never ordered 1\nCANCEL orders Anna opted out 1");
  }

  @Test
  void ops_whatIsBeingHandledIsNotCancelledAndCounted() throws Exception {
    var begun = new CountDownLatch(2);
    var goOn = new CountDownLatch(1);
    stage.publish(3);
    var ids = operations.peek(ORDERS, 10).stream().map(Waiting::id).toList();
    // The third has failed once, and waits for its time.
    stage.database.execute(
        "select pgonce.schedule((select id from pgonce.subscription), %d, 0, null, 1, null, 3600000, 'x')"
            .formatted(ids.get(2)));
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              begun.countDown();
              goOn.await();
              Stage.effect(order, tx);
            })
        .start();
    try {
      begun.await();
      assertThat(operations.cancel(ORDERS, ids, "too late for two")).isEqualTo(new Cancelled(1, 2));
    } finally {
      goOn.countDown();
    }
    stage.awaitSoon(() -> stage.eachOnce(2) && stage.waiting() == 0);
    assertThat(stage.database.queryString(LOG))
        .isEqualTo("CANCEL orders Anna too late for two 1 2 more were being handled");
  }

  @Test
  void ops_whatIsLeasedIsNotCancelledBeforeItsLeaseIsOver() throws Exception {
    stage.database.execute("select pgonce.change_mode('orders', 'AT_LEAST_ONCE')");
    stage.publish(2);
    var ids = operations.peek(ORDERS, 10).stream().map(Waiting::id).toList();
    var lease =
        "select pgonce.schedule((select id from pgonce.subscription), %d, 0, null, 1, gen_random_uuid(), %d, null)";
    stage.database.execute(lease.formatted(ids.get(0), 3_600_000));
    stage.database.execute(lease.formatted(ids.get(1), -1));
    assertThat(operations.cancel(ORDERS, ids, "for a test")).isEqualTo(new Cancelled(1, 1));
    assertThat(operations.peek(ORDERS, 10)).extracting(Waiting::id).containsExactly(ids.get(0));
  }

  /** Whose process has died twice: it was counted ahead, and waits out its backoff. */
  @Test
  void ops_whatIsSuspectUnderExactlyOnceIsCancelledUnlessSomebodyHoldsIt() throws Exception {
    stage.publish(2);
    var ids = operations.peek(ORDERS, 10).stream().map(Waiting::id).toList();
    for (var id : ids) {
      stage.database.execute(
          "select pgonce.schedule((select id from pgonce.subscription), %d, 0, null, 1, gen_random_uuid(), 3600000, null)"
              .formatted(id));
    }
    try (var holder = stage.dataSource.getConnection()) {
      holder.setAutoCommit(false);
      holder
          .createStatement()
          .execute("select from pgonce.scheduled where id = %d for update".formatted(ids.get(1)));
      assertThat(operations.cancel(ORDERS, ids, "for a test")).isEqualTo(new Cancelled(1, 1));
      holder.rollback();
    }
    assertThat(operations.peek(ORDERS, 10)).extracting(Waiting::id).containsExactly(ids.get(1));
  }

  @Test
  void ops_ofManySuspectsEachIsReadOnce() throws Exception {
    stage.publish(400);
    stage.database.execute(
        "select pgonce.schedule((select id from pgonce.subscription), w, 0, null, 1, gen_random_uuid(), 3600000, null)"
            + " from unnest(array(select id from pgonce.notification)) w");
    stage.database.execute("vacuum analyze pgonce.scheduled");
    blocksReadToCancel(1); // the catalogue
    assertThat(blocksReadToCancel(400) - blocksReadToCancel(100)).isLessThan(300 * 50);
  }

  private long blocksReadToCancel(int most) throws SQLException {
    var plan =
        stage.database.queryString(
            "explain (analyze, buffers, format json) select from pgonce.would_cancel('orders',"
                + " array(select id from pgonce.scheduled order by id limit %d))".formatted(most));
    var hit = Pattern.compile("\"Shared Hit Blocks\": (\\d+)").matcher(plan);
    assertThat(hit.find()).isTrue();
    return Long.parseLong(hit.group(1));
  }

  @Test
  void ops_whatMayHaveBegunUnderAtMostOnceIsNotCancelled() throws Exception {
    stage.database.execute("select pgonce.change_mode('orders', 'AT_MOST_ONCE')");
    stage.publish(1);
    var ids = operations.peek(ORDERS, 10).stream().map(Waiting::id).toList();
    stage.database.execute(
        "select pgonce.schedule((select id from pgonce.subscription), %d, 0, null, 1, gen_random_uuid(), -1, null)"
            .formatted(ids.get(0)));
    assertThat(operations.cancel(ORDERS, ids, "for a test")).isEqualTo(new Cancelled(0, 1));
    assertThat(stage.waiting()).isEqualTo(1);
  }

  @Test
  void example_peekShowsWhatWaitsAndPayloadsOnlyIfAsked() throws Exception {
    stage.publish(3);
    var ids = operations.peek(ORDERS, 10).stream().map(Waiting::id).toList();
    stage.database.execute(
        "select pgonce.schedule((select id from pgonce.subscription), %d, 0, null, 1, null, 3600000, 'mail server says 421')"
            .formatted(ids.get(0)));
    giveKey(ids.get(1), "order:2");
    stage.database.execute(
        "update pgonce.notification set order_key = 'customer 7', context = '{\"tenant\": \"a\"}' where id = "
            + ids.get(1));

    var waiting = operations.peek(ORDERS, 2);
    assertThat(waiting).extracting(Waiting::id).isEqualTo(ids.subList(0, 2));
    var retried = waiting.get(0);
    assertThat(retried.attempts()).isEqualTo(1);
    assertThat(retried.lastError()).isEqualTo("mail server says 421");
    assertThat(retried.dueAt()).isAfter(retried.createdAt().plusSeconds(3_000));
    var keyed = waiting.get(1);
    assertThat(keyed.deliveryKey()).isEqualTo("order:2");
    assertThat(keyed.orderKey()).isEqualTo("customer 7");
    assertThat(keyed.context()).isEqualTo("{\"tenant\": \"a\"}");
    assertThat(keyed.dueAt()).isEqualTo(keyed.createdAt());
    assertThat(keyed.subscription()).isEqualTo("default");
    assertThat(waiting).allMatch(one -> one.payload() == null);

    var withPayloads = operations.peekWithPayloads(ORDERS, 3);
    assertThat(withPayloads.get(2).payload()).contains("\"id\":3");
    assertThat(withPayloads.toString()).doesNotContain("item");
    assertThatThrownBy(() -> operations.peek(ORDERS, 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("limit 0 is not between 1 and 100,000");
  }

  @Test
  void example_dropASubscriptionOrAChannel() throws Exception {
    var channel =
        Channel.of(
            "mails",
            Integer.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withSubscriptions("billing", "audit"));
    var pgonce = stage.pgonce().install(channel);
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publishAll(connection, channel, List.of(1, 2, 3));
    }
    assertThat(operations.drop(channel, "audit", "nobody reads it")).isTrue();
    assertThat(operations.drop(channel, "audit", "nobody reads it")).isFalse();
    assertThat(operations.peek(channel, 10)).hasSize(3);
    assertThat(operations.drop(channel, "a mistake")).isTrue();
    assertThat(operations.drop(channel, "a mistake")).isFalse();
    // The housekeeping of any listener does it.
    stage.database.execute("select pgonce.keep_house('leftovers of drops', null)");
    assertThat(stage.waiting()).isZero();
    assertThat(stage.database.queryString(LOG))
        .isEqualTo("DROP mails audit Anna nobody reads it 3\nDROP mails Anna a mistake 3");
  }

  @Test
  void ops_aChannelThatATriggerFeedsIsNotDroppedWithoutIt() {
    var fed = new FedChannel();
    assertThatThrownBy(() -> operations.drop(fed, "for a test"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("fed by «a trigger»");
  }

  private static final class FedChannel implements Channel<Stage.Order> {
    @Override
    public String name() {
      return "orders";
    }

    @Override
    public Mode mode() {
      return Mode.EXACTLY_ONCE;
    }

    @Override
    public Class<Stage.Order> payloadType() {
      return Stage.Order.class;
    }

    @Override
    public ChannelFeed feed() {
      return () -> "a trigger";
    }
  }

  @Test
  void ops_whatChangesAChannelIsRememberedWithWhoAndWhy() throws Exception {
    var pgonce = PgOnce.builder(stage.dataSource).instance("console").build();
    var console = Operations.over(stage.dataSource).by("console");
    var ordered =
        Channel.of(
            "orders",
            Stage.Order.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS));
    pgonce.install(ordered);
    pgonce.install(ordered); // changes nothing
    stage.database.execute(
        "insert into pgonce.dead_letter select s.id, n, now(), 1, now(), 'REJECTED', 'x', '{}' from pgonce.subscription s, generate_series(1, 3) n");
    operations.by("Ben").deadLetters().because("item added").redrive(ORDERS, List.of(1L, 2L));
    console.deadLetters().discard(ORDERS);
    console.deadLetters().discard(ORDERS); // changes nothing
    operations.cancel(ORDERS, List.of(1L, 2L), "for a test");
    stage.database.execute(
        "set pgonce.operator = 'Carl'; select pgonce.change_mode('orders', 'BROADCAST', 'live only');"
            + " select pgonce.change_mode('orders', 'BROADCAST')");
    assertThat(stage.database.queryString(LOG))
        .isEqualTo(
            """
            REDRIVE orders Ben item added 2
            DISCARD orders console 1
            CANCEL orders Anna for a test 2
            CHANGE_MODE orders Carl live only 0 EXACTLY_ONCE to BROADCAST""");
    assertThat(
            stage.database.queryString(
                "select string_agg(concat_ws(' ', operator, concerned, detail like '%key order DEAD_LETTER_BLOCKS%'), ', ' order by id)"
                    + " from pgonce.operation_log where what = 'INSTALL' and channel = 'orders'"))
        .matches("pid \\d+ 1 f, console 0 t");
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.operation_log where role <> session_user or at > clock_timestamp()"))
        .isZero();
  }

  @Test
  void ops_theLogIsKeptForAYear() throws Exception {
    stage.database.execute(
        "insert into pgonce.operation (at, what, channel, concerned) select now() - n * interval '1 month', 'PAUSE', 'old', 1 from generate_series(1, 24) n");
    operations.pause(ORDERS, "for a test");
    assertThat(
            stage.database.queryLong("select count(*) from pgonce.operation where channel = 'old'"))
        .isBetween(11L, 12L);
  }

  @Test
  void ops_onlyAnAdminOperates() throws Exception {
    stage.publish(1);
    try (var pool = stage.database.loginRole("listener", "pgonce_listener").pooled(2)) {
      var listener = Operations.over(pool);
      listener.pause(ORDERS, "its handler may, so it may");
      assertThatThrownBy(() -> listener.resume(ORDERS, "for a test"))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("cannot resume channel orders")
          .hasMessageContaining("(SQLState 42501)");
      assertThatThrownBy(() -> listener.peek(ORDERS, 1)).hasMessageContaining("42501");
      assertThatThrownBy(() -> listener.cancel(ORDERS, List.of(1L), "for a test"))
          .hasMessageContaining("42501");
      assertThatThrownBy(() -> listener.drop(ORDERS, "for a test")).hasMessageContaining("42501");
    }
    try (var pool = stage.database.loginRole("admin", "pgonce_admin").pooled(2)) {
      var admin = Operations.over(pool);
      assertThat(admin.resume(ORDERS, "for a test")).isEqualTo(1);
      assertThat(admin.peekWithPayloads(ORDERS, 1).get(0).payload()).contains("item");
      assertThat(
              stage.database.queryLong(
                  "select count(*) from pgonce.operation where what = 'RESUME' and role like 'admin%'"))
          .isEqualTo(1);
      assertThat(admin.drop(ORDERS, "for a test")).isTrue();
    }
  }

  @Test
  void h72_whoAdoptsIsNamedAndGivesAReason() throws Exception {
    operations.adopt("the snapshot is the original now");
    assertThat(stage.database.queryString(LOG))
        .startsWith("ADOPT * Anna the snapshot is the original now");
    assertThatThrownBy(() -> operations.adopt(" ")).isInstanceOf(IllegalArgumentException.class);
    var listener = stage.database.loginRole("listener", "pgonce_listener").dataSource();
    assertThatThrownBy(() -> Operations.over(listener).adopt("I may not"))
        .hasMessageContaining("cannot adopt the database")
        .hasMessageContaining("permission denied");
  }

  @Test
  void ops_whoeverIsNotNamedIsTheProcess() throws Exception {
    Operations.over(stage.dataSource).pause(ORDERS, "for a test");
    assertThat(stage.database.queryString(LOG))
        .isEqualTo("PAUSE orders pid " + ProcessHandle.current().pid() + " for a test 1");
  }

  @Test
  void example_pauseAndResumeOneSubscription() throws Exception {
    assertThat(operations.pause(ORDERS, "default", "the warehouse moves house")).isEqualTo(1);
    assertThat(operations.pause(ORDERS, "again")).isZero();
    assertThat(operations.resume(ORDERS, "default", "it has moved")).isEqualTo(1);
    assertThat(operations.resume(ORDERS, "again")).isZero();
    assertThatThrownBy(() -> operations.resume(ORDERS, "other", "for a test"))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("cannot resume channel orders")
        .hasMessageContaining("with a subscription \"other\"");
    var broadcast = Channel.of("news", String.class, Mode.BROADCAST);
    PgOnce.using(stage.dataSource).install(broadcast);
    assertThatThrownBy(() -> operations.pause(broadcast, "for a test"))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("cannot pause channel news")
        .hasMessageContaining("stop its listeners instead");
  }

  @Test
  void h87_operationsOnAnUnknownChannelAreErrors() {
    var unknown = Channel.of("nowhere", String.class);
    assertThatThrownBy(() -> operations.peek(unknown, 1))
        .hasMessageContaining("cannot look into channel nowhere")
        .hasMessageContaining("not installed");
    assertThatThrownBy(() -> operations.cancel(unknown, List.of(1L), "for a test"))
        .hasMessageContaining("not installed");
    assertThatThrownBy(() -> stage.database.execute("select pgonce.cancel('orders')"))
        .hasMessageContaining("Give ids or delivery keys");
  }

  @Test
  void ops_whatIsNoReasonOrNameIsRefusedBeforeAnySql() {
    for (var text : List.of(" ", "x".repeat(2_001), "a\0b", "a\ud800b")) {
      assertThatThrownBy(() -> operations.pause(ORDERS, text))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageStartingWith("reason ");
      assertThatThrownBy(() -> operations.by(text))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageStartingWith("person ");
    }
    assertThatThrownBy(() -> operations.pause(ORDERS, "Not A Name", "for a test"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("subscription name \"Not A Name\"");
  }
}
