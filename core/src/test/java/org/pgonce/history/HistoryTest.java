package org.pgonce.history;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.History;
import org.pgonce.KeyOrder;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** When an entry of the history is written, and what it says. */
@PgTest(PgOnceInstalled.class)
@Tag("versions")
@Tag("drivers")
class HistoryTest {

  private static final Duration WEEK = Duration.ofDays(7);
  private static final ChannelOptions KEPT = ChannelOptions.DEFAULT.withHistory(WEEK);
  private static final ListenOptions ONE_WORKER = QUICK.withConcurrency(1);

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private Channel<Order> mails(Mode mode, ChannelOptions options) {
    var channel = Channel.of("mails", Order.class, mode, options);
    PgOnce.using(stage.dataSource).install(channel);
    return channel;
  }

  private void publish(Channel<Order> channel, int count) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      for (var id = 1; id <= count; id++) {
        Publisher.standard().publish(connection, channel, new Order(id, "item"));
      }
    }
  }

  private void listen(Channel<Order> channel, ListenOptions options, Handler<Order> handler) {
    stage
        .pgonce(PgOnce.builder(stage.dataSource).instance("mailer-1"))
        .listen(channel, options, handler)
        .start();
  }

  private long entries() throws SQLException {
    return stage.database.queryLong("select count(*) from pgonce.handled");
  }

  private String history(String columns) throws SQLException {
    return stage.database.queryString(
        "select string_agg(concat_ws(' ', %s), ', ' order by h.id) from pgonce.history h"
            .formatted(columns));
  }

  /** A customer asks on Friday whether Tuesday's mail was sent, when, and by whom. */
  @Test
  void example_aChannelKeepsWhatWasHandledForAWeek() throws Exception {
    var mails =
        Channel.of(
            "mails",
            Order.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withHistory(Duration.ofDays(7)));
    PgOnce.using(stage.dataSource).install(mails);
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard()
          .publish(
              connection,
              mails,
              new Order(1, "a mail"),
              PublishOptions.DEFAULT.withDeliveryKey("mail:1"));
    }
    listen(mails, QUICK, Stage::effect);
    stage.awaitNothingWaits();
    assertThat(
            history(
                "channel, subscription, h.id, delivery_key, outcome, attempts, instance, created_at <= due_at,"
                    + " due_at <= claimed_at, claimed_at <= handled_at, took between interval '0' and handled_at - claimed_at"))
        .isEqualTo("mails default 1 mail:1 HANDLED 1 mailer-1 t t t t");
    assertThat(stage.database.queryLong("select count(payload) from pgonce.handled")).isZero();
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void history_eachModeWritesOneEntryPerNotification(Mode mode) throws Exception {
    var mails = mails(mode, KEPT);
    publish(mails, 20);
    listen(mails, QUICK, Stage::effect);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(20)).isTrue();
    assertThat(entries()).isEqualTo(20);
    assertThat(stage.database.queryLong("select count(distinct id) from pgonce.history"))
        .isEqualTo(20);
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void history_withPayloadsItHasThePayloadAsItWasStored(Mode mode) throws Exception {
    var mails = mails(mode, ChannelOptions.DEFAULT.withHistory(History.of(WEEK).withPayloads()));
    publish(mails, 1);
    listen(mails, QUICK, Stage::effect);
    stage.awaitNothingWaits();
    assertThat(
            stage.database.queryString(
                "select payload->>'item' from pgonce.history_of('mails', with_payload => true)"))
        .isEqualTo("item");
  }

  @Test
  void history_aRollbackLeavesNoneAndTheAttemptThatCommitsOne() throws Exception {
    var mails = mails(Mode.EXACTLY_ONCE, KEPT);
    publish(mails, 1);
    listen(
        mails,
        ONE_WORKER,
        (order, tx) -> {
          Stage.effect(order, tx);
          if (order.attempt() < 3) {
            throw new IllegalStateException("not yet");
          }
        });
    stage.awaitNothingWaits();
    assertThat(stage.effects()).isOne();
    assertThat(history("attempts, outcome")).isEqualTo("3 HANDLED");
  }

  /** The server refuses the commit, after the statement that wrote the entry. */
  @Test
  void history_aCommitThatFailsLeavesNone() throws Exception {
    stage.database.execute(
        "create table once (id bigint, unique (id) deferrable initially deferred); insert into once values (1)");
    var mails = mails(Mode.EXACTLY_ONCE, KEPT);
    publish(mails, 1);
    listen(
        mails,
        ONE_WORKER,
        (order, tx) -> {
          if (order.attempt() == 1) {
            tx.update("insert into once values (1)");
          }
          Stage.effect(order, tx);
        });
    stage.awaitNothingWaits();
    assertThat(stage.effects()).isOne();
    assertThat(history("attempts")).isEqualTo("2");
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_MOST_ONCE"})
  void history_aDeadLetterHasNoneUntilItIsRedrivenAndHandled(Mode mode) throws Exception {
    var mails = mails(mode, KEPT);
    publish(mails, 1);
    var broken = new AtomicBoolean(true);
    listen(
        mails,
        ONE_WORKER.withMaxAttempts(1),
        (order, tx) -> {
          if (broken.get()) {
            throw new IllegalStateException("no");
          }
          Stage.effect(order, tx);
        });
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(entries()).isZero();
    broken.set(false);
    stage.onCall().redrive(mails);
    stage.awaitSoon(() -> stage.effects() == 1);
    stage.awaitNothingWaits();
    assertThat(entries()).isOne();
  }

  @Test
  void history_whatAnOperatorCancelsOrDiscardsIsInTheOperationLogInstead() throws Exception {
    var mails = mails(Mode.EXACTLY_ONCE, KEPT);
    publish(mails, 2);
    stage.database.execute("select pgonce.cancel('mails', 1, 'not wanted')");
    listen(
        mails,
        ONE_WORKER.withMaxAttempts(1),
        (order, tx) -> {
          throw new IllegalStateException("no");
        });
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    stage.database.execute("select pgonce.discard('mails', 2, 'not wanted')");
    assertThat(entries()).isZero();
    assertThat(
            stage.database.queryString(
                "select string_agg(what, ' ' order by id) from pgonce.operation_log where what <> 'INSTALL'"))
        .isEqualTo("CANCEL DISCARD");
  }

  @Test
  void history_whatAConditionSkippedIsMarkedSo() throws Exception {
    var mails = mails(Mode.EXACTLY_ONCE, KEPT);
    publish(mails, 2);
    listen(
        mails, ONE_WORKER, Handler.onlyIf((order, tx) -> order.payload().id() == 2, Stage::effect));
    stage.awaitNothingWaits();
    assertThat(history("h.id, outcome")).isEqualTo("1 SKIPPED, 2 HANDLED");
  }

  @Test
  void history_aBatchWritesOneEntryPerNotification() throws Exception {
    var mails =
        mails(
            Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withHistory(History.of(WEEK).withPayloads()));
    publish(mails, 50);
    listen(
        mails,
        ONE_WORKER.withBatch(20),
        Handler.onlyIf((order, tx) -> order.payload().id() % 2 == 0, Stage::effect));
    stage.awaitNothingWaits();
    assertThat(
            stage.database.queryString(
                "select concat_ws(' ', count(*), count(distinct id), count(distinct xmin::text), count(*) filter (where skipped),"
                    + " count(*) filter (where skipped = ((payload->>'id')::int % 2 = 1))) from pgonce.handled"))
        .isEqualTo("50 50 3 25 50");
  }

  @Test
  void history_eachSubscriptionWritesItsOwn() throws Exception {
    var mails = mails(Mode.EXACTLY_ONCE, KEPT.withSubscriptions("audit", "send"));
    publish(mails, 1);
    stage
        .pgonce()
        .listen(mails, "audit", QUICK, Stage::effect)
        .listen(mails, "send", QUICK, Stage::effect)
        .start();
    stage.awaitNothingWaits();
    assertThat(
            stage.database.queryString(
                "select string_agg(subscription, ' ' order by subscription) from pgonce.history"))
        .isEqualTo("audit send");
  }

  /** The other forms of the deletion: of a due row, and by key. */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void history_scheduledAndOrderedOnesHaveTheirs(Mode mode) throws Exception {
    var mails = mails(mode, KEPT.withOrder(KeyOrder.DEAD_LETTER_PASSES));
    var options = PublishOptions.DEFAULT.withOrderKey("ada");
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, mails, new Order(1, "item"), options);
      Publisher.standard()
          .publish(
              connection, mails, new Order(2, "item"), options.withDelay(Duration.ofMillis(300)));
    }
    listen(mails, QUICK, Stage::effect);
    stage.awaitNothingWaits();
    assertThat(history("h.id, due_at - created_at > interval '0.2 s', handled_at >= due_at"))
        .isEqualTo("1 f t, 2 t t");
  }

  @Test
  void history_aChannelWithoutOneWritesNothing() throws Exception {
    stage.publish(5);
    listen(Stage.ORDERS, QUICK, Stage::effect);
    stage.awaitNothingWaits();
    assertThat(entries()).isZero();
  }

  @Test
  void history_isPartOfTheInstalledDefinition() throws Exception {
    mails(Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT);
    var kept = Channel.of("mails", Order.class, Mode.EXACTLY_ONCE, KEPT);
    assertThatThrownBy(() -> PgOnce.using(stage.dataSource).check(kept))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("installed with history \"none\", but defined with \"PT168H\"")
        .hasMessageContaining("history => '604800 s'");
    PgOnce.using(stage.dataSource).install(kept);
    PgOnce.using(stage.dataSource).check(kept);
    var withPayloads =
        Channel.of(
            "mails",
            Order.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withHistory(History.of(WEEK).withPayloads()));
    assertThatThrownBy(() -> PgOnce.using(stage.dataSource).check(withPayloads))
        .hasMessageContaining("PT168H with payloads");
    stage.database.execute(PgOnce.migration(withPayloads));
    PgOnce.using(stage.dataSource).check(withPayloads);
  }

  @Test
  void history_aRetentionOutOfItsBoundsIsRefusedBeforeAnySql() throws Exception {
    for (var unfit : new Duration[] {Duration.ofSeconds(59), Duration.ofDays(401)}) {
      assertThatThrownBy(() -> ChannelOptions.DEFAULT.withHistory(unfit))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("1 minute and 400 days");
    }
    assertThatThrownBy(() -> new History(Duration.ZERO, true))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Channel.of("news", Order.class, Mode.BROADCAST, KEPT))
        .hasMessageContaining("history");
    for (var unfit : new String[] {"'59 s'", "'401 days'", "null, history_payload => true"}) {
      assertThatThrownBy(
              () ->
                  stage.database.execute(
                      "select pgonce.install_channel('mails', 'EXACTLY_ONCE', 'published', history => "
                          + unfit
                          + ")"))
          .hasMessageContaining("out of its bounds");
    }
    assertThatThrownBy(
            () ->
                stage.database.execute(
                    "select pgonce.install_channel('news', 'BROADCAST', 'published', history => '1 day')"))
        .hasMessageContaining("it is a BROADCAST");
  }

  /** A listener writes entries by the statement of its deletion, and may do no more to them. */
  @Test
  void history_aListenersRoleWritesAndAMonitorReadsWithoutPayloads() throws Exception {
    var mails =
        mails(
            Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withHistory(History.of(WEEK).withPayloads()));
    publish(mails, 1);
    var listener = stage.database.loginRole("listens", "pgonce_listener");
    stage.database.execute("grant insert on effect to " + listener.user());
    try (var pool = listener.pooled(4);
        var pgonce = PgOnce.builder(pool).build()) {
      pgonce.listen(mails, QUICK, Stage::effect).start();
      stage.awaitNothingWaits();
      try (var connection = pool.getConnection();
          var statement = connection.createStatement()) {
        for (var refused :
            new String[] {
              "select * from pgonce.handled",
              "delete from pgonce.handled",
              "update pgonce.handled set instance = 'x'",
              "insert into pgonce.handled (handled_at) values (now())",
              "select * from pgonce.history_of('mails')"
            }) {
          assertThatThrownBy(() -> statement.execute(refused))
              .as(refused)
              .hasMessageContaining("permission denied");
        }
      }
    }
    var monitor = stage.database.loginRole("looks", "pgonce_monitor");
    try (var connection = monitor.unpooled().getConnection();
        var statement = connection.createStatement()) {
      for (var allowed :
          new String[] {
            "select * from pgonce.history", "select * from pgonce.history_of('mails')"
          }) {
        try (var row = statement.executeQuery(allowed)) {
          assertThat(row.next()).as(allowed).isTrue();
        }
      }
      assertThatThrownBy(() -> statement.execute("select payload from pgonce.handled"))
          .hasMessageContaining("permission denied");
      assertThatThrownBy(
              () -> statement.execute("select pgonce.history_of('mails', with_payload => true)"))
          .hasMessageContaining("may not see payloads");
    }
  }
}
