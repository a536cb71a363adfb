package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.operations.Stage.ORDERS;
import static org.pgonce.operations.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What the views say, as records. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class StatusTest {

  private static final Channel<String> NEWS = Channel.of("news", String.class, Mode.BROADCAST);
  private static final Channel<String> MAILS =
      Channel.of(
          "mails",
          String.class,
          Mode.AT_LEAST_ONCE,
          ChannelOptions.DEFAULT
              .withSubscriptions("archive")
              .withSubscription("vip", Map.of("plan", "vip")));

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

  private ChannelStatus status(String channel, String subscription) {
    return operations.channels().stream()
        .filter(one -> one.channel().equals(channel) && one.subscription().equals(subscription))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void example_howEachSubscriptionStands() throws Exception {
    PgOnce.using(stage.dataSource).install(MAILS, NEWS);
    stage.publish(3);
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard()
          .publish(
              connection, MAILS, "later", PublishOptions.DEFAULT.withDelay(Duration.ofHours(1)));
    }
    var before = Instant.now();
    operations.pause(ORDERS, "mail server is down");

    assertThat(operations.channels())
        .extracting(one -> one.channel() + " " + one.subscription() + " " + one.mode())
        .containsExactly(
            "mails archive AT_LEAST_ONCE",
            "mails vip AT_LEAST_ONCE",
            "news default BROADCAST",
            "orders default EXACTLY_ONCE");
    var orders = status("orders", "default");
    assertThat(orders.waiting()).isEqualTo(3);
    assertThat(orders.scheduled()).isZero();
    assertThat(orders.fedBy()).isEqualTo("published");
    assertThat(orders.oldestAge()).isBetween(Duration.ZERO, Stage.SOON);
    assertThat(orders.listeners()).isZero();
    assertThat(orders.notifyGate()).isEqualTo("NOBODY LISTENS");
    assertThat(orders.paused())
        .satisfies(
            pause -> {
              assertThat(pause.by()).isEqualTo("Anna");
              assertThat(pause.reason()).isEqualTo("mail server is down");
              assertThat(pause.since()).isBetween(before.minusSeconds(60), before.plusSeconds(60));
            });
    var mails = status("mails", "archive");
    assertThat(List.of(mails.waiting(), mails.scheduled(), mails.retrying()))
        .containsExactly(0L, 1L, 0L);
    assertThat(mails.oldestAge()).isNull();
    assertThat(mails.paused()).isNull();
    assertThat(status("mails", "vip").scheduled()).isZero();
  }

  /** Only a writer that is open for long is told: every writer is open for a moment. */
  @Test
  void whatAnOpenTransactionMayHoldIsHinted() throws Exception {
    PgOnce.using(stage.dataSource).install(NEWS);
    try (var writer = stage.dataSource.getConnection()) {
      writer.setAutoCommit(false);
      Publisher.standard().publish(writer, ORDERS, new Stage.Order(1, "item"));
      assertThat(status("orders", "default").hint()).isNull();
      asIfOpenForTenSeconds();
      assertThat(status("orders", "default").hint())
          .isEqualTo(
              "an open transaction has published something, here or in another channel: see explain");
      assertThat(status("news", "default").hint()).isNull();
      assertThat(operations.explain(ORDERS).get(0).cause())
          .isEqualTo(Explanation.Cause.NOT_COMMITTED_YET);
      // Where something waits, it does not look idle.
      stage.publish(1);
      assertThat(status("orders", "default").hint()).isNull();
      writer.rollback();
    }
  }

  /** In place of waiting for them. */
  private void asIfOpenForTenSeconds() throws SQLException {
    stage.database.execute(
        "do $$ begin execute replace(pg_get_functiondef('pgonce.published_since()'::regprocedure), 'SELECT min(', 'SELECT interval ''-10 seconds'' + min('); end $$");
  }

  /** The row of a lease counts its attempt from the beginning. */
  @Test
  void aLeaseAtWorkHasNotFailed() throws Exception {
    PgOnce.using(stage.dataSource).install(MAILS);
    var goOn = new CountDownLatch(1);
    var inside = new CountDownLatch(1);
    try (var connection = stage.dataSource.getConnection();
        var pgonce = PgOnce.using(stage.dataSource)) {
      Publisher.standard().publish(connection, MAILS, "now");
      pgonce
          .listen(
              MAILS,
              "archive",
              QUICK.withMaxAttempts(2),
              (mail, tx) -> {
                inside.countDown();
                goOn.await();
                throw new IllegalStateException("always");
              })
          .start();
      inside.await();
      var mails = status("mails", "archive");
      assertThat(List.of(mails.scheduled(), mails.retrying())).containsExactly(1L, 0L);
      var gauges = "select sum(g.retrying)::bigint from pgonce.channel_gauges g";
      assertThat(stage.database.queryLong(gauges)).isZero();
      assertThat(stage.database.queryLong("select count(*) from pgonce.retry_status")).isZero();
      goOn.countDown();
      stage.awaitSoon(() -> status("mails", "archive").deadLetters() == 1);
    } finally {
      goOn.countDown();
    }
  }

  @Test
  void ops_whatFailsAndWhoListensIsCounted() throws Exception {
    var goOn = new CountDownLatch(1);
    var inside = new CountDownLatch(1);
    stage.publish(3);
    try (var pgonce = PgOnce.builder(stage.dataSource).instance("shop-1").build()) {
      pgonce
          .listen(
              ORDERS,
              QUICK.withMaxAttempts(2),
              (order, tx) -> {
                if (order.payload().id() == 1) {
                  throw new IllegalStateException("always");
                }
                inside.countDown();
                goOn.await();
              })
          .start();
      inside.await();
      stage.awaitSoon(() -> status("orders", "default").deadLetters() == 1);
      stage.awaitSoon(() -> status("orders", "default").listeners() == 1);
      assertThat(status("orders", "default").waiting()).isEqualTo(2); // a handler has them
      assertThat(operations.listeners())
          .singleElement()
          .satisfies(
              one -> {
                assertThat(one.instance()).isEqualTo("shop-1");
                assertThat(one.listensBy()).isEqualTo(pgonce.status().listensBy());
                assertThat(one.alive()).isTrue();
                assertThat(one.channels()).containsExactly("orders");
                assertThat(one.seenAt()).isAfterOrEqualTo(one.startedAt());
              });
      goOn.countDown();
      stage.awaitSoon(() -> status("orders", "default").waiting() == 0);
    } finally {
      goOn.countDown();
    }
    assertThat(operations.listeners()).isEmpty();
    assertThat(status("orders", "default").listeners()).isZero();
  }

  @Test
  void ops_whoMayNotReadTheViewsIsToldSo() throws Exception {
    var writer = stage.database.loginRole("writer", "pgonce_publisher");
    assertThatThrownBy(() -> Operations.over(writer.unpooled()).channels())
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("pgonce cannot tell how the channels stand");
    var listener = stage.database.loginRole("worker", "pgonce_listener");
    assertThat(Operations.over(listener.unpooled()).channels()).hasSize(1);
  }

  /** Statistics then say that each subscription has nearly all rows. */
  @Test
  void countsByAnIndexThoughOneSubscriptionHasAllRows() throws SQLException {
    for (var columns :
        List.of(
            "notification (id, subscription_id, created_at, payload) select n, s.id, now(), '1'",
            "scheduled (id, subscription_id, created_at, due_at, attempts, payload) select n, s.id, now(), now(), 0, '1'",
            "dead_letter (id, subscription_id, created_at, attempts, reason, error, payload) select n, s.id, now(), 1, 'REJECTED', 'no', '1'")) {
      stage.database.execute(
          "insert into pgonce.%s from pgonce.subscription s, generate_series(1, 50000) n"
              .formatted(columns));
    }
    stage.database.execute("analyze pgonce.notification, pgonce.scheduled, pgonce.dead_letter");
    for (var view : List.of("channel_status", "channel_gauges")) {
      assertThat(plan("select * from pgonce." + view))
          .as(view)
          .contains("notification_pkey", "scheduled_due", "dead_letter_pkey")
          .doesNotContain("Seq Scan on notification")
          .doesNotContain("Seq Scan on scheduled")
          .doesNotContain("Seq Scan on dead_letter");
    }
  }

  private String plan(String query) throws SQLException {
    var plan = new StringBuilder();
    try (var connection = stage.dataSource.getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery("explain " + query)) {
      while (row.next()) {
        plan.append(row.getString(1)).append('\n');
      }
    }
    return plan.toString();
  }
}
