package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.SOON;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.spi.Event;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;

/** Station 1: stored if and only if the writer committed, whatever it wrote. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class PublishTest {

  private static final Publisher PUBLISHER = Publisher.standard();

  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  @Test
  void h01_rollbackAndSavepointRollbackLeaveNothingAndWakeNobody() throws Exception {
    try (var ear = stage.database.dataSource().getConnection();
        var connection = stage.dataSource.getConnection()) {
      ear.createStatement().execute("listen pgonce_orders");
      stage.somebodyListens();
      connection.setAutoCommit(false);
      PUBLISHER.publish(connection, ORDERS, new Order(1, "rolled back"));
      connection.rollback();
      var savepoint = connection.setSavepoint();
      PUBLISHER.publish(connection, ORDERS, new Order(2, "rolled back"));
      connection.rollback(savepoint);
      connection.commit();
      assertThat(stage.waiting()).isZero();
      // What is committed later is heard: had the others been sent, they would have come first.
      connection.createStatement().execute("select pg_notify('pgonce_orders', 'the end')");
      connection.commit();
      var heard = ear.unwrap(PGConnection.class).getNotifications(10_000);
      assertThat(heard).extracting("parameter").containsExactly("the end");
    }
  }

  /** A variable that is null by mistake must not lose a publication in silence. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "publish_all('orders', null) | null was given for the payloads for channel \"orders\"",
        "publish_each('orders', null, null) | null payloads for channel \"orders\"",
        "publish_each('orders', '[1]', null) | 1 payloads for channel \"orders\", and options for null",
        "publish_each('orders', '[1]', '[{\"due_us\":1, \"delay_us\":1}]') | both due_us and delay_us are given"
      },
      quoteCharacter = '`')
  void h01_sqlThatCannotBeMeantIsRefused(String call, String why) {
    assertThatThrownBy(() -> stage.database.execute("select pgonce." + call))
        .hasMessageContaining("pgonce: " + why);
  }

  @Test
  void api_theSqlOfThePageRuns() throws Exception {
    var page = Files.readString(Path.of("../docs/channels.md"));
    var block = Pattern.compile("(?s)<!-- publish -->\n\n```sql\n(.*?)```\n").matcher(page);
    assertThat(block.find()).isTrue();
    stage.database.execute(
        "select pgonce.install_channel('mails', 'EXACTLY_ONCE', 'published', key_order => 'DEAD_LETTER_BLOCKS')");
    stage.database.execute(block.group(1));
    assertThat(
            stage.database.queryString(
                """
                select string_agg(concat_ws(' ', p.payload ->> 'to', p.delivery_key, p.order_key, p.context ->> 'tenant', p.version, p.due_at > now() + interval '1 hour'), ', ' order by p.id)
                  from pgonce.peek('mails', with_payload => true) p
                """))
        .isEqualTo("ann welcome:42 ann acme 2 t, bob 1 f, eve 1 f, dan 1 f");
  }

  @Test
  void h02_theSamePayloadTwiceInOneTransactionIsHandledTwice() throws Exception {
    stage.pgonce().listen(ORDERS, Stage::effect).start();
    try (var connection = stage.dataSource.getConnection()) {
      connection.setAutoCommit(false);
      PUBLISHER.publish(connection, ORDERS, new Order(7, "same"));
      PUBLISHER.publish(connection, ORDERS, new Order(7, "same"));
      connection.commit();
    }
    await().atMost(SOON).until(() -> stage.effects() == 2);
  }

  @Tag("all")
  @Test
  void h03_largePayloadsTravelInTheRowAndNotInTheNotify() throws Exception {
    var lengths = List.of(8_000, 1_000_000, 40_000_000);
    var received = new AtomicReference<>(0L);
    stage
        .pgonce()
        .listen(
            ORDERS,
            Stage.QUICK.withConcurrency(1),
            (order, tx) ->
                received.updateAndGet(
                    sum -> Objects.requireNonNull(sum) + order.payload().item().length()))
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      for (var length : lengths) {
        PUBLISHER.publish(connection, ORDERS, new Order(1, "x".repeat(length)));
      }
    }
    await().atMost(SOON.multipliedBy(4)).until(() -> stage.waiting() == 0);
    assertThat(received.get()).isEqualTo(41_008_000L);
  }

  @Test
  void h03_aPayloadThatIsReadInPartsComesOutAsItWentIn() throws Exception {
    // Each character takes four bytes, or two in Java: no part may end within one.
    var item = "\uD83D\uDE00".repeat(4_500_000) + "end";
    var same = new AtomicReference<>(false);
    stage
        .pgonce()
        .listen(
            ORDERS,
            Stage.QUICK,
            (order, tx) -> {
              if (order.attempt() == 1) {
                throw new IllegalStateException("not yet"); // from the other table the next time
              }
              same.set(order.payload().item().equals(item));
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      PUBLISHER.publish(connection, ORDERS, new Order(1, item));
    }
    await().atMost(SOON).until(() -> stage.waiting() == 0);
    assertThat(same.get()).isTrue();
  }

  @Test
  void h03_broadcastAboveItsLimitIsToldAndDoesNotFailTheWriter() throws Exception {
    var channel = Channel.of("live", String.class, Mode.BROADCAST);
    var dropped = new AtomicReference<String>("");
    var pgonce =
        stage.pgonce(
            PgOnce.builder(stage.dataSource)
                .observer(
                    event -> {
                      if (event instanceof Event.BroadcastDropped said) {
                        dropped.set(said.channel() + ": " + said.reason());
                      }
                    }));
    pgonce.install(channel).listen(channel, (live, tx) -> {}).start();
    try (var connection = stage.dataSource.getConnection()) {
      PUBLISHER.publish(connection, channel, "x".repeat(1_100_000));
    }
    await()
        .atMost(SOON)
        .until(() -> dropped.get().contains("live: its payload is larger than 1 MiB"));
  }

  @Test
  void h15_loneSurrogateAndNulAreRefusedBeforeAnySql() throws Exception {
    try (var connection = stage.dataSource.getConnection()) {
      connection.close(); // Any SQL would fail on it, with another exception.
      for (var bad : List.of("a\uD800b", "\uDC00", "a\0b", "end\uD83D")) {
        assertThatThrownBy(() -> PUBLISHER.publish(connection, ORDERS, new Order(1, bad)))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("PostgreSQL cannot store as text")
            .hasMessageNotContaining(bad);
        assertThatThrownBy(
                () ->
                    PUBLISHER.publishAll(
                        connection, ORDERS, List.of(new Order(1, "fine"), new Order(2, bad))))
            .isInstanceOf(IllegalArgumentException.class);
      }
    }
    // A backslash before u0000 is text, and so is a surrogate pair.
    try (var connection = stage.dataSource.getConnection()) {
      PUBLISHER.publish(connection, ORDERS, new Order(1, "\\u0000 \uD83D\uDE00"));
    }
    assertThat(
            stage.database.queryString(
                "select payload->>'item' from pgonce.notification where subscription_id > 0"))
        .isEqualTo("\\u0000 \uD83D\uDE00");
  }

  @Test
  void h33_temporaryTablesAndFunctionsThatShadowOursHaveNoEffect() throws Exception {
    try (var connection = stage.database.unpooled().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("create temp table notification (like pgonce.notification)");
      statement.execute("create temp table subscription (id int, channel_id int, name text)");
      statement.execute("create schema evil");
      statement.execute(
          "create function evil.pg_notify(text, text) returns void language sql as $$ select 1/0 $$");
      statement.execute(
          "create function evil.nextval(regclass) returns bigint language sql as $$ select 1::bigint/0 $$");
      statement.execute(
          "create function evil.eq(int, int) returns boolean language sql as $$ select false $$");
      statement.execute(
          "create operator evil.= (leftarg = int, rightarg = int, function = evil.eq)");
      statement.execute("set search_path = pg_temp, evil, pg_catalog");
      PUBLISHER.publish(connection, ORDERS, new Order(1, "real"));
      try (var row =
          statement.executeQuery("select id from pgonce.notification where subscription_id > 0")) {
        assertThat(row.next()).isTrue();
      }
    }
    assertThat(stage.waiting()).isEqualTo(1);
  }

  @Test
  void h33_aListenerWhoseSearchPathShadowsOursClaimsAndCompletes() throws Exception {
    stage.database.execute(
        """
        create schema evil;
        grant usage on schema evil to public;
        create function evil.eq(int, int) returns boolean language sql as $$ select false $$;
        create operator evil.= (leftarg = int, rightarg = int, function = evil.eq);
        create function evil.eq(bigint, bigint) returns boolean language sql as $$ select false $$;
        create operator evil.= (leftarg = bigint, rightarg = bigint, function = evil.eq);
        create function evil.gt(bigint, bigint) returns boolean language sql as $$ select 1 / 0 > 0 $$;
        create operator evil.> (leftarg = bigint, rightarg = bigint, function = evil.gt)
        """);
    var role = stage.database.loginRole("shadowed", "pgonce_listener");
    stage.database.execute(
        "alter role \"" + role.user() + "\" set search_path = pg_temp, evil, pg_catalog");
    stage.publish(3);
    var attempts = new ConcurrentLinkedQueue<Integer>();
    stage
        .pgonce(role.pooled(4))
        .listen(ORDERS, (order, tx) -> attempts.add(order.attempt()))
        .start();
    stage.awaitNothingWaits();
    assertThat(attempts).containsExactly(1, 1, 1);
    assertThat(stage.deadLetters()).isZero();
  }

  @Test
  void h36_thePublisherRoleMayPublishAndNothingElse() throws Exception {
    var publisher = stage.database.loginRole("shop", "pgonce_publisher");
    var nobody = stage.database.loginRole("nobody");
    try (var connection = publisher.unpooled().getConnection()) {
      PUBLISHER.publish(connection, ORDERS, new Order(1, "allowed"));
      for (var forbidden :
          List.of(
              "select * from pgonce.notification where subscription_id > 0",
              "insert into pgonce.notification (subscription_id, payload) values (1, '1')",
              "select * from pgonce.dead_letter_status",
              "delete from pgonce.notification where subscription_id > 0",
              "select pgonce.schedule(1, 1, 0, null, 1, null, 1, 'x')",
              "select pgonce.wake_up('orders')",
              "select pgonce.drop_channel('orders')",
              "select nextval('pgonce.notification_id')")) {
        assertThatThrownBy(() -> connection.createStatement().execute(forbidden))
            .as(forbidden)
            .isInstanceOf(SQLException.class)
            .hasMessageContaining("permission denied");
      }
    }
    try (var connection = nobody.unpooled().getConnection()) {
      assertThatThrownBy(() -> PUBLISHER.publish(connection, ORDERS, new Order(1, "x")))
          .isInstanceOfSatisfying(
              SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("42501"))
          .hasMessageContaining("permission denied")
          .hasMessageContaining("GRANT pgonce_publisher TO that role");
    }
  }

  @Test
  void h87_publishingToAnUnknownChannelSaysSo() throws Exception {
    try (var connection = stage.dataSource.getConnection()) {
      assertThatThrownBy(
              () ->
                  PUBLISHER.publish(
                      connection, Channel.of("unheard.of", Order.class), new Order(1, "x")))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining(
              "channel \"unheard.of\" is not installed in database \""
                  + stage.database.name()
                  + "\"")
          .hasMessageContaining("PgOnce.install");
    }
  }

  @Test
  void h87_aNotificationThatNoListenerHasIsKeptAndVisible() throws Exception {
    stage.publish(3);
    assertThat(
            stage.database.queryString(
                "select format('%s %s %s %s', channel, backlog, listeners, oldest_age > interval '0') from pgonce.channel_status"))
        .isEqualTo("orders 3 0 t");
  }
}
