package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
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
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Publisher;
import org.pgonce.WriterContext;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.ContextJson;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What a writer says of itself goes with its notifications, and chooses who gets them. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class WriterContextTest {

  private static final Publisher PUBLISHER = Publisher.standard();
  private static final Channel<Order> TENANTS =
      Channel.of(
          "tenants",
          Order.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT
              .withSubscriptions("audit")
              .withSubscription("acme", Map.of("tenant", "acme"))
              .withSubscription("acme.vip", Map.of("tenant", "acme", "plan", "vip")));

  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(TENANTS);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  private Connection begun() throws SQLException {
    var connection = stage.dataSource.getConnection();
    connection.setAutoCommit(false);
    return connection;
  }

  private void publishAs(Map<String, String> context, long id) throws SQLException {
    try (var connection = begun()) {
      WriterContext.set(connection, context);
      PUBLISHER.publish(connection, TENANTS, new Order(id, "x"));
      connection.commit();
    }
  }

  private String contexts() throws SQLException {
    return stage.database.queryString(
        "select string_agg(coalesce(context::text, '-'), ' ' order by id) from pgonce.notification where subscription_id > 0");
  }

  @Test
  void example_aTenantsListenerTakesOnlyItsOwn() throws Exception {
    var taken = new CopyOnWriteArrayList<String>();
    Handler<Order> handler =
        (order, tx) ->
            taken.add(
                "%s %d %s"
                    .formatted(
                        order.subscription(),
                        order.payload().id(),
                        order.context().getOrDefault("tenant", "nobody")));
    publishAs(Map.of("tenant", "acme"), 1); // found by the first scan
    publishAs(Map.of("tenant", "other", "plan", "vip"), 2);
    var pgonce = stage.pgonce();
    for (var name : TENANTS.options().names()) {
      pgonce.listen(TENANTS, name, QUICK, handler);
    }
    pgonce.start();
    stage.awaitNothingWaits();
    publishAs(Map.of("tenant", "acme", "plan", "vip", "user", "7"), 3); // heard
    publishAs(Map.of(), 4);
    stage.awaitNothingWaits();
    assertThat(taken)
        .containsExactlyInAnyOrder(
            "audit 1 acme",
            "acme 1 acme",
            "audit 2 other",
            "audit 3 acme",
            "acme 3 acme",
            "acme.vip 3 acme",
            "audit 4 nobody");
  }

  @Test
  void example_theContextOfATransactionEndsWithItAndThatOfASessionDoesNot() throws Exception {
    try (var connection = begun()) {
      WriterContext.set(connection, Map.of("user", "1"));
      PUBLISHER.publish(connection, ORDERS, new Order(1, "x"));
      connection.commit();
      PUBLISHER.publish(connection, ORDERS, new Order(2, "x"));
      WriterContext.setForSession(connection, Map.of("user", "3"));
      connection.commit();
      PUBLISHER.publish(connection, ORDERS, new Order(3, "x"), PublishOptions.DEFAULT);
      WriterContext.setForSession(connection, Map.of());
      PUBLISHER.publishAll(connection, ORDERS, List.of(new Order(4, "x")));
      connection.commit();
    }
    assertThat(contexts()).isEqualTo("{\"user\": \"1\"} - {\"user\": \"3\"} -");
  }

  @Test
  void example_partsOfAnApplicationAddToTheContextKeyByKey() throws Exception {
    var rolelessWriter = stage.database.loginRole("writer");
    try (var connection = begun()) {
      WriterContext.setForSession(connection, Map.of("service", "shop", "user", "0"));
      WriterContext.set(connection, Map.of("tenant", "acme"));
      WriterContext.set(connection, Map.of("user", "7", "request", "r1"));
      PUBLISHER.publish(connection, ORDERS, new Order(1, "x"));
      WriterContext.clear(connection);
      PUBLISHER.publish(connection, ORDERS, new Order(2, "x"));
      WriterContext.set(connection, Map.of("tenant", "b"));
      WriterContext.set(connection, Map.of());
      PUBLISHER.publish(connection, ORDERS, new Order(3, "x"));
      connection.commit();
      PUBLISHER.publish(connection, ORDERS, new Order(4, "x"));
      WriterContext.setForSession(connection, Map.of());
      connection.commit();
    }
    assertThat(contexts())
        .isEqualTo(
            "{\"user\": \"7\", \"tenant\": \"acme\", \"request\": \"r1\", \"service\": \"shop\"} -"
                + " {\"tenant\": \"b\"} {\"user\": \"0\", \"service\": \"shop\"}");
    // Needs no right on pgonce: a trigger reads it.
    try (var connection = rolelessWriter.unpooled().getConnection()) {
      connection.setAutoCommit(false);
      WriterContext.set(connection, Map.of("a", "1"));
      WriterContext.set(connection, Map.of("b", "\u00e4\"\n"));
      try (var statement = connection.createStatement();
          var row = statement.executeQuery("select current_setting('pgonce.context')")) {
        row.next();
        assertThat(row.getString(1)).isEqualTo("{\"a\":\"1\",\"b\":\"\u00e4\\\"\\n\"}");
      }
    }
  }

  @Test
  void api_whatIsAddedToIsTakenAsAContextOrAsNoneAndHasABound() throws Exception {
    try (var connection = begun();
        var set = connection.prepareStatement("select set_config('pgonce.context', ?, true)")) {
      for (var before :
          Map.of(
                  "{\"n\": 1.5, \"t\": true, \"s\": \"x\"}",
                  Map.of("n", "1.5", "t", "true", "s", "x", "a", "b"),
                  // 10,000 characters, but for the spaces
                  "{ \"s\" : \"" + "x".repeat(9_979) + "\" }",
                  Map.of("s", "x".repeat(9_979), "a", "b"),
                  "{\"n\": null}",
                  Map.of("a", "b"),
                  "[1]",
                  Map.of("a", "b"),
                  "{\"a\": {}}",
                  Map.of("a", "b"),
                  "garbage",
                  Map.of("a", "b"))
              .entrySet()) {
        set.setString(1, before.getKey());
        set.execute();
        WriterContext.set(connection, Map.of("a", "b"));
        PUBLISHER.publish(connection, ORDERS, new Order(1, "x"), PublishOptions.DEFAULT);
        assertThat(
                ContextJson.read(
                    Statements.row(
                        connection,
                        "select context::text from pgonce.notification where subscription_id > 0 order by id desc limit 1",
                        row -> row.getString(1))))
            .as(before.getKey())
            .isEqualTo(before.getValue());
      }
      WriterContext.clear(connection);
      WriterContext.set(connection, Map.of("long", "x".repeat(9_000)));
      assertThatThrownBy(() -> WriterContext.set(connection, Map.of("more", "y".repeat(1_000))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("10,000 is the most");
      connection.rollback();
    }
  }

  @Test
  void example_aMessageHasAContextOfItsOwnOverThatOfItsTransaction() throws Exception {
    var pgonce = stage.pgonce();
    var taken = new CopyOnWriteArrayList<String>();
    for (var name : TENANTS.options().names()) {
      pgonce.listen(
          TENANTS, name, QUICK, (order, tx) -> taken.add(name + " " + order.payload().id()));
    }
    var acme = PublishOptions.DEFAULT.withContext(Map.of("tenant", "acme"));
    try (var connection = begun()) {
      WriterContext.set(connection, Map.of("tenant", "other", "plan", "vip"));
      var stored =
          PUBLISHER.publishEach(
              connection,
              TENANTS,
              List.of(
                  new Message<>(new Order(1, "x"), PublishOptions.DEFAULT),
                  new Message<>(new Order(2, "x"), acme.withDeliveryKey("two")),
                  new Message<>(new Order(3, "x"), acme.withContext(Map.of("plan", "none"))),
                  new Message<>(
                      new Order(4, "x"),
                      acme.withContext(Map.of("tenant", "b")).withDeliveryKey("four"))));
      PUBLISHER.publish(
          connection, TENANTS, new Order(5, "x"), acme.withDelay(Duration.ofMillis(1)));
      assertThat(stored).allMatch(Published::stored);
      connection.commit();
    }
    stage.database.execute(
        "select pgonce.publish('tenants', '{\"id\": 6, \"item\": \"x\"}', context => '{\"tenant\": \"acme\", \"n\": 1}')");
    assertThat(
            stage.database.queryString(
                "select string_agg(key || waiting, ' ' order by key) from pgonce.delivery_key"))
        .isEqualTo("four1 two3");
    pgonce.start();
    stage.awaitNothingWaits();
    assertThat(taken)
        .containsExactlyInAnyOrder(
            "audit 1",
            "audit 2",
            "acme 2",
            "acme.vip 2",
            "audit 3",
            "audit 4",
            "audit 5",
            "acme 5",
            "acme.vip 5",
            "audit 6",
            "acme 6");
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.delivery_key where waiting > 0 or done_at is null"))
        .isZero();
  }

  @Test
  void api_aMessagesContextThatCannotBeOneIsRefused() throws Exception {
    for (var bad : List.of(Map.of("", "x"), Map.of("a", "\0"), Map.of("a", "x".repeat(10_000)))) {
      assertThatThrownBy(() -> PublishOptions.DEFAULT.withContext(bad))
          .isInstanceOf(IllegalArgumentException.class);
    }
    for (var bad : List.of("[]", "1", "\"a\"", "{\"a\": null}", "{\"a\": {}}", "{\"\": \"x\"}")) {
      assertThatThrownBy(
              () ->
                  stage.database.execute(
                      "select pgonce.publish('orders', '1', context => '" + bad + "')"))
          .as(bad)
          .hasMessageContaining("is no JSON object of texts");
    }
    var half = Map.of("a", "x".repeat(6_000));
    try (var connection = begun()) {
      WriterContext.set(connection, Map.of("b", "y".repeat(6_000)));
      assertThatThrownBy(
              () ->
                  PUBLISHER.publish(
                      connection,
                      ORDERS,
                      new Order(1, "x"),
                      PublishOptions.DEFAULT.withContext(half)))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("and 10000 is the most");
      connection.rollback();
    }
    var news = Channel.of("news", String.class, Mode.BROADCAST);
    PgOnce.using(stage.dataSource).install(news);
    assertThatThrownBy(
            () ->
                stage.database.execute(
                    "select pgonce.publish('news', '1', context => '{\"a\": \"b\"}')"))
        .hasMessageContaining("it takes no due time, delivery key, order key or context");
    stage.database.execute("select pgonce.publish('orders', '1', context => '{}')");
    assertThat(contexts()).isEqualTo("-");
  }

  @Test
  void api_sqlSetsSingleEntries() throws Exception {
    var role = stage.database.loginRole("shop", "pgonce_publisher");
    try (var connection = role.unpooled().getConnection();
        var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute("select pgonce.set_context('tenant', 'acme', for_session => true)");
      connection.commit();
      statement.execute(
          "select pgonce.set_context('user', E'o\\'\"7'), pgonce.publish('orders', '1')");
      statement.execute("select pgonce.set_context('tenant', null)");
      statement.execute("select pgonce.publish('orders', '2')");
      connection.commit();
      statement.execute("select pgonce.publish('orders', '3')");
      connection.commit();
      assertThatThrownBy(() -> statement.execute("select pgonce.set_context('', 'x')"))
          .hasMessageContaining("needs a key of at least one character");
      connection.rollback();
      assertThatThrownBy(
              () -> statement.execute("select pgonce.set_context('x', repeat('y', 10000))"))
          .hasMessageContaining("10000 is the most");
    }
    assertThat(contexts())
        .isEqualTo(
            "{\"user\": \"o'\\\"7\", \"tenant\": \"acme\"} {\"user\": \"o'\\\"7\"} {\"tenant\": \"acme\"}");
  }

  @Test
  void h36_garbageInTheSettingsIsNoContextAndNoDepthAndFailsNobody() throws Exception {
    try (var connection = stage.dataSource.getConnection();
        var set = connection.prepareStatement("select set_config(?, ?, false)")) {
      for (var garbage :
          List.of(
              "x",
              "{",
              "[1]",
              "7",
              "null",
              "{}",
              "{\"a\":null}",
              "{\"a\":1,\"b\":{}}",
              "{\"a\":[]}",
              "{\"a\":[\"x\"]}",
              "{\"a\":\"\\u0000\"}",
              "[".repeat(100_000),
              "{\"a\":\"" + "x".repeat(20_000) + "\"}",
              "{\"a\":\"" + "x".repeat(9_993) + "\"}",
              // A number's text may have more digits than it has characters.
              "{\"a\":1e131000}",
              "{\"a\":1e-16000}",
              "-1",
              "1e3",
              "999999",
              " 5")) {
        for (var setting : List.of("pgonce.context", "pgonce.depth")) {
          set.setString(1, setting);
          set.setString(2, garbage);
          set.execute();
        }
        PUBLISHER.publish(connection, ORDERS, new Order(1, "x"));
        PUBLISHER.publish(
            connection,
            ORDERS,
            new Order(1, "x"),
            PublishOptions.DEFAULT.withDeliveryKey(key(garbage)));
      }
      set.setString(1, "pgonce.context");
      set.setString(2, "");
      set.execute();
    }
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0 and context is null and coalesce(stamp, 0) in (0, 7)"))
        .isEqualTo(40);
  }

  /** As whoever sets the setting by hand writes them. Filters compare texts. */
  @Test
  void api_aNumberOrABooleanOfTheSettingIsTakenAsItsText() throws Exception {
    var channel =
        Channel.of(
            "numbered",
            Order.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withSubscription(
                "theirs", Map.of("tenant", "42", "vip", "true")));
    PgOnce.using(stage.dataSource).install(channel);
    var heard = new CopyOnWriteArrayList<Map<String, String>>();
    stage
        .pgonce()
        .listen(channel, "theirs", QUICK, (order, tx) -> heard.add(order.context()))
        .start();
    try (var connection = stage.dataSource.getConnection();
        var set = connection.prepareStatement("select set_config('pgonce.context', ?, false)")) {
      for (var context :
          List.of(
              "{\"tenant\": 42, \"vip\": true, \"rate\": 1.50}",
              "{\"tenant\": 43, \"vip\": true}",
              "{\"tenant\": \"42\", \"vip\": \"true\"}")) {
        set.setString(1, context);
        set.execute();
        PUBLISHER.publish(connection, channel, new Order(1, "x"));
        PUBLISHER.publish(
            connection,
            channel,
            new Order(1, "x"),
            PublishOptions.DEFAULT.withDeliveryKey(key(context)));
      }
      set.setString(1, "");
      set.execute();
    }
    stage.awaitSoon(() -> heard.size() == 4);
    assertThat(heard)
        .containsOnly(
            Map.of("tenant", "42", "vip", "true", "rate", "1.50"),
            Map.of("tenant", "42", "vip", "true"));
    assertThat(stage.database.queryString("select pgonce.current_context()::text")).isNull();
  }

  private static String key(String garbage) {
    return "k" + garbage.hashCode();
  }

  @Test
  void api_whatAHandlerPublishesInheritsTheContext() throws Exception {
    var inherited = new CopyOnWriteArrayList<Map<String, String>>();
    var failed = new AtomicBoolean();
    stage
        .pgonce()
        .listen(
            TENANTS,
            "audit",
            QUICK,
            (order, tx) -> {
              tx.publish(ORDERS, order.payload());
              tx.publish(ORDERS, order.payload(), PublishOptions.DEFAULT);
              if (failed.compareAndSet(false, true)) {
                throw new IllegalStateException("once more");
              }
            })
        .listen(ORDERS, (order, tx) -> inherited.add(order.context()))
        .start();
    var context = Map.of("tenant", "other", "user", "ä\n\"7\"");
    publishAs(context, 1);
    stage.awaitSoon(() -> inherited.size() == 2);
    assertThat(inherited).containsOnly(context);
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void api_whatTheHandlerOfALeasedOnePublishesInheritsTheContext(Mode mode) throws Exception {
    var leased = Channel.of("leased", Order.class, mode);
    var inherited = new CopyOnWriteArrayList<Map<String, String>>();
    stage
        .pgonce()
        .install(leased)
        .listen(leased, QUICK, (order, tx) -> tx.publish(ORDERS, order.payload()))
        .listen(ORDERS, (order, tx) -> inherited.add(order.context()))
        .start();
    var context = Map.of("tenant", "other", "user", "ä\n\"7\"");
    try (var connection = begun()) {
      WriterContext.set(connection, context);
      PUBLISHER.publish(connection, leased, new Order(1, "x"));
      connection.commit();
    }
    stage.awaitSoon(() -> inherited.size() == 1);
    assertThat(inherited).containsExactly(context);
  }

  @Test
  void api_whatCannotBeAContextIsRefusedBeforeAnySql() throws Exception {
    try (var connection = stage.dataSource.getConnection()) {
      assertThatThrownBy(() -> WriterContext.set(connection, Map.of("a", "b")))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("setAutoCommit(false), or setForSession");
      connection.close(); // Any SQL would fail on it, with another exception.
      for (var bad : List.of(Map.of("", "x"), Map.of("a", "\0"), Map.of("a", "x".repeat(10_000)))) {
        assertThatThrownBy(() -> WriterContext.setForSession(connection, bad))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("the context");
      }
    }
  }
}
