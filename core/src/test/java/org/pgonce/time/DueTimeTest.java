package org.pgonce.time;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.SOON;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
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
import org.postgresql.PGConnection;

/** Notifications that are due later: the database's clock says when. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class DueTimeTest {

  private static final Publisher PUBLISHER = Publisher.standard();
  private static final PublishOptions PLAIN = PublishOptions.DEFAULT;

  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  private Published publish(PublishOptions options) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      return PUBLISHER.publish(connection, ORDERS, new Order(1, "x"), options);
    }
  }

  /** A row that is due may be held for long: the next one must not wait for it. */
  @Test
  void s05_thePollSaysWhenTheNextIsDueWhetherOneIsDueOrNot(TestDatabase database) throws Exception {
    database.execute(
        """
        select pgonce.listener_starts('00000000-0000-0000-0000-000000000001', 'one',
          array(select s.id from pgonce.subscription s where s.of_channel = 'orders'), 'pgjdbc', 60000)
        """);
    assertThat(polled(database)).isEqualTo("false, never");

    publish(PLAIN.withDelay(Duration.ofHours(1)));
    assertThat(polled(database)).isEqualTo("false, in an hour");

    publish(PLAIN.withDelay(Duration.ofDays(1)));
    database.execute(
        "update pgonce.scheduled set due_at = clock_timestamp() - interval '1 day' where due_at > clock_timestamp() + interval '2 hours'");
    assertThat(polled(database)).isEqualTo("true, in an hour");

    database.execute(
        "update pgonce.scheduled set due_at = 'infinity' where due_at > clock_timestamp()");
    assertThat(polled(database)).isEqualTo("true, never");

    database.execute("update pgonce.scheduled set due_at = 'infinity' where subscription_id > 0");
    assertThat(polled(database)).isEqualTo("false, never");
  }

  private static @Nullable String polled(TestDatabase database) throws SQLException {
    return database.queryString(
        """
        select p.due::text || case when p.due_in_ms is null then ', never'
                                   when p.due_in_ms between 3500000 and 3600000 then ', in an hour'
                                   else ', in ' || p.due_in_ms end
          from pgonce.poll('00000000-0000-0000-0000-000000000001') p
        """);
  }

  private long ready() throws SQLException {
    return stage.database.queryLong(
        "select count(*) from pgonce.notification where subscription_id > 0");
  }

  private long scheduled() throws SQLException {
    return stage.database.queryLong(
        "select count(*) from pgonce.scheduled where subscription_id > 0");
  }

  /** Seconds until the only scheduled row is due, from when it was stored. */
  private long secondsUntilDue() throws SQLException {
    return stage.database.queryLong(
        "select round(extract(epoch from due_at - created_at)) from pgonce.scheduled where subscription_id > 0");
  }

  /** A listener whose slow scan finds nothing in time, and that has nothing to do any more. */
  private PgOnce idle(List<Long> lateness) throws SQLException {
    var idle = PgOnce.builder(stage.dataSource).pollInterval(Duration.ofSeconds(40)).build();
    idle.listen(
            ORDERS,
            (order, tx) ->
                lateness.addAll(
                    tx.query(
                        "select (1000 * extract(epoch from clock_timestamp() - due_at))::bigint from pgonce.scheduled where subscription_id > 0 and id = ?",
                        row -> row.getLong(1),
                        order.id())))
        .start();
    awaitAtRest(idle);
    return idle;
  }

  /** It has seen the first scans find nothing: the next one is 30 s away, or more. */
  private void awaitAtRest(PgOnce idle) throws SQLException {
    await()
        .atMost(SOON)
        .until(
            () ->
                !idle.status().listensBy().equals("polling")
                    && stage.database.queryLong(
                            "select count(*) from pgonce.listener where listens_by <> 'polling' and seen_at > started_at")
                        == 1);
  }

  @Test
  void example_publishNowAndHandleLater() throws Exception {
    try (var connection = stage.dataSource.getConnection()) {
      var inSixHours = PublishOptions.DEFAULT.withDelay(Duration.ofHours(6));
      PUBLISHER.publish(connection, ORDERS, new Order(1, "welcome mail"), inSixHours);

      var atNewYear = PublishOptions.DEFAULT.withDueAt(Instant.parse("2300-01-01T00:00:00Z"));
      PUBLISHER.publish(connection, ORDERS, new Order(2, "fireworks"), atNewYear);
    }
    assertThat(
            stage.database.queryString(
                "select string_agg(payload->>'item', ',' order by due_at) from pgonce.scheduled where subscription_id > 0"))
        .isEqualTo("welcome mail,fireworks");
  }

  @Test
  void s05_aDelayOfAnyLengthIsKeptToTheSecond() throws Exception {
    for (var delay :
        List.of(
            Duration.ofSeconds(1),
            Duration.ofMinutes(15).plusSeconds(1),
            Duration.ofDays(30),
            Duration.ofDays(3_652),
            Duration.ofDays(36_525),
            Duration.ofDays(365_000))) {
      publish(PLAIN.withDelay(delay));
      assertThat(secondsUntilDue()).isEqualTo(delay.toSeconds());
      stage.database.execute("delete from pgonce.scheduled where subscription_id > 0");
    }
    assertThat(ready()).isZero();
  }

  @Test
  void s05_anAbsoluteTimeIsKeptToTheMicrosecond() throws Exception {
    for (var dueAt : List.of("2100-03-04T05:06:07.000001Z", "9999-12-31T23:59:59.999999Z")) {
      publish(PLAIN.withDueAt(Instant.parse(dueAt)));
      assertThat(
              stage.database.queryString(
                  "select to_char(due_at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') from pgonce.scheduled where subscription_id > 0"))
          .isEqualTo(dueAt);
      stage.database.execute("delete from pgonce.scheduled where subscription_id > 0");
    }
  }

  @Test
  void s05_anIdleListenerHandlesWhatIsDueSoonThoughItScansSlowly() throws Exception {
    var lateness = new CopyOnWriteArrayList<Long>();
    try (var idle = idle(lateness)) {
      publish(PLAIN.withDelay(Duration.ofDays(1)));
      for (var ms : List.of(400, 900, 150)) {
        publish(PLAIN.withDelay(Duration.ofMillis(ms)));
      }
      await().atMost(SOON).until(() -> lateness.size() == 3);
      assertThat(lateness).allMatch(ms -> ms >= 0 && ms < 15_000);
      assertThat(idle.status().listensBy()).isNotEqualTo("polling");
    }
    assertThat(scheduled()).isEqualTo(1);
  }

  @Test
  void s04_whatWasDueWhileNobodyListenedIsHandledOnceAfterwards() throws Exception {
    publish(PLAIN.withDelay(Duration.ofMillis(50)));
    await()
        .atMost(SOON)
        .until(
            () ->
                stage.database.queryLong(
                        "select count(*) from pgonce.scheduled where subscription_id > 0 and due_at < clock_timestamp()")
                    == 1);
    stage.pgonce().listen(ORDERS, Stage::effect).start();
    stage.awaitNothingWaits();
    assertThat(stage.effects()).isEqualTo(1);
  }

  @Test
  void h81_zeroNegativeAndPastAreDueNow() throws Exception {
    publish(PLAIN.withDelay(Duration.ZERO));
    publish(PLAIN.withDelay(Duration.ofDays(-1)));
    publish(PLAIN.withDelay(Duration.ofSeconds(Long.MIN_VALUE)));
    publish(PLAIN.withDueAt(Instant.now().minusSeconds(86_400)));
    publish(PLAIN.withDueAt(Instant.MIN));
    stage.database.execute("select pgonce.publish('orders', '1', delay => '0')");
    stage.database.execute("select pgonce.publish('orders', '1', delay => '-1 day')");
    stage.database.execute("select pgonce.publish('orders', '1', delay => '-300000 years')");
    stage.database.execute("select pgonce.publish('orders', '1', due_at => '4713-01-01 BC')");
    for (var past : List.of("due_us", "delay_us")) {
      stage.database.execute(
          "select pgonce.publish_each('orders', '[1]', '[{\"%s\": -9223372036854775808}]')"
              .formatted(past));
    }
    assertThat(ready()).isEqualTo(11);
    assertThat(scheduled()).isZero();
  }

  @Test
  void h81_infinityAndBeyondAreRefused() throws Exception {
    assertThatThrownBy(() -> PLAIN.withDueAt(Instant.MAX))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("after 9999-12-31");
    assertThatThrownBy(() -> PLAIN.withDelay(Duration.ofDays(365_001)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("365,000 days");
    for (var never : List.of("due_at => 'infinity'", "due_at => '-infinity'")) {
      assertThatThrownBy(
              () -> stage.database.execute("select pgonce.publish('orders', '1', " + never + ")"))
          .hasMessageContaining("due at infinity, which never comes");
    }
    for (var beyond :
        List.of(
            "publish('orders', '1', delay => '365001 days')",
            "publish('orders', '1', delay => '178000000 years')",
            "publish_each('orders', '[1]', '[{\"delay_us\": 31536000000000001}]')",
            "publish_each('orders', '[1]', '[{\"delay_us\": 9223372036854775807}]')")) {
      assertThatThrownBy(() -> stage.database.execute("select pgonce." + beyond))
          .hasMessageContaining("channel \"orders\"")
          .hasMessageContaining("longer than 365,000 days: give a shorter one");
    }
    assertThatThrownBy(
            () ->
                stage.database.execute(
                    "select pgonce.publish('orders', '1', due_at => now(), delay => '1 s')"))
        .hasMessageContaining("both due_at and delay");
    assertThat(stage.waiting()).isZero();
  }

  @Test
  void s05_manyWithTimesOfTheirOwnAreOneStatementAndOneWakeUpOfEachKind() throws Exception {
    try (var ear = stage.database.dataSource().getConnection();
        var connection = stage.dataSource.getConnection()) {
      ear.createStatement().execute("listen pgonce_orders");
      stage.somebodyListens();
      var published =
          PUBLISHER.publishEach(
              connection,
              ORDERS,
              List.of(
                  new Message<>(new Order(1, "now")),
                  new Message<>(new Order(2, "later"), PLAIN.withDelay(Duration.ofHours(1))),
                  new Message<>(new Order(3, "now"), PLAIN.withDelay(Duration.ZERO)),
                  new Message<>(new Order(4, "later"), PLAIN.withDelay(Duration.ofHours(2)))));
      assertThat(published).allMatch(Published::stored).extracting(Published::id).isSorted();
      connection.createStatement().execute("select pg_notify('pgonce_orders', 'the end')");
      var heard = ear.unwrap(PGConnection.class).getNotifications(10_000);
      assertThat(heard).extracting("parameter").startsWith("", "later").doesNotHaveDuplicates();
    }
    assertThat(ready()).isEqualTo(2);
    assertThat(scheduled()).isEqualTo(2);
  }

  @Test
  void s05_manyThatAreDueAtOnceDoNotHoldUpWhatIsNew() throws Exception {
    var due = 100_000;
    stage.database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload)
        select s.id, nextval('pgonce.notification_id'), clock_timestamp(), 0, clock_timestamp(), '{"id": 0, "item": "due"}'
          from generate_series(1, %d), pgonce.subscription s
        """
            .formatted(due));
    var fresh = new ConcurrentHashMap<Long, Long>();
    stage
        .pgonce()
        .listen(
            ORDERS,
            (order, tx) -> {
              if (order.payload().item().equals("new")) {
                fresh.put(order.payload().id(), System.nanoTime());
              }
            })
        .start();
    stage.awaitSoon(() -> scheduled() < due);
    for (var id = 1L; id <= 20; id++) {
      var published = System.nanoTime();
      try (var connection = stage.dataSource.getConnection()) {
        PUBLISHER.publish(connection, ORDERS, new Order(id, "new"));
      }
      var it = id;
      stage.awaitSoon(() -> fresh.containsKey(it));
      var took = Duration.ofNanos(Objects.requireNonNull(fresh.get(it)) - published);
      // A few turns of the others, and not all of them: many of those are still due at the end.
      assertThat(took).isLessThan(Duration.ofSeconds(10));
    }
    assertThat(scheduled()).as("still due").isGreaterThan(due / 10);
  }

  @Test
  void s05_muchThatIsNewDoesNotHoldUpWhatIsDue() throws Exception {
    var fresh = 50_000;
    stage.database.execute(
        "select pgonce.publish_all('orders', (select json_agg(json_build_object('id', n, 'item', 'new')) from generate_series(1, %d) n))"
            .formatted(fresh));
    stage.database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload)
        select s.id, nextval('pgonce.notification_id'), clock_timestamp(), 0, clock_timestamp(), '{"id": 0, "item": "due"}'
          from generate_series(1, 20), pgonce.subscription s
        """);
    stage.pgonce().listen(ORDERS, (order, tx) -> {}).start();
    stage.awaitSoon(() -> scheduled() == 0);
    assertThat(ready()).as("still new").isGreaterThan(fresh / 10);
  }

  @Test
  void api_aBroadcastTakesNoOptions() throws Exception {
    var live = Channel.of("live", String.class, Mode.BROADCAST);
    try (var connection = stage.dataSource.getConnection()) {
      PgOnce.using(stage.dataSource).install(live);
      assertThat(PUBLISHER.publish(connection, live, "plain", PLAIN).stored()).isTrue();
      assertThatThrownBy(
              () -> PUBLISHER.publish(connection, live, "x", PLAIN.withDelay(Duration.ZERO)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("is a BROADCAST, which stores nothing");
    }
    assertThatThrownBy(
            () -> stage.database.execute("select pgonce.publish('live', '1', delivery_key => 'a')"))
        .hasMessageContaining("is a BROADCAST, which stores nothing");
  }
}
