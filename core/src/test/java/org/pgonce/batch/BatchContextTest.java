package org.pgonce.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Condition;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.WriterContext;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/** Notifications of several tenants in one batch: none of them meets what belongs to another. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class BatchContextTest {

  private static final ListenOptions TWENTY = QUICK.withConcurrency(1).withBatch(20);
  private static final int MANY = 40;

  private static final Channel<Order> NEXT =
      Channel.of(
          "next",
          Order.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT
              .withSubscription("a", Map.of("tenant", "a"))
              .withSubscription("b", Map.of("tenant", "b")));

  // Of the downstream rows: whose they are by the filter, by their payload, and how deep.
  private static final String DOWNSTREAM =
      """
      select string_agg(line, E'\\n' order by line) from (
        select concat_ws(' ', s.name, n.context->>'tenant', 'of ' || (n.payload->>'item'), 'depth ' || n.stamp, count(*)) as line
          from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id
         where s.of_channel = 'next' and s.name <> 'default' group by s.name, n.context->>'tenant', n.payload->>'item', n.stamp) lines
      """;
  private static final String TRANSACTIONS = "select count(distinct xmin::text) from effect";

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(NEXT);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  /** Of tenants a and b in turns, where those of b come from a handler themselves. */
  private void publishOfTwoTenants(int count) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      connection.setAutoCommit(false);
      for (var id = 1; id <= count; id++) {
        var tenant = id % 2 == 0 ? "b" : "a";
        WriterContext.set(connection, Map.of("tenant", tenant));
        Publisher.standard().publish(connection, ORDERS, new Order(id, tenant));
      }
      connection.commit();
    }
    stage.database.execute(
        "update pgonce.notification set stamp = 4 where subscription_id > 0 and payload->>'item' = 'b'");
  }

  private void handle(ListenOptions options, Handler<Order> handler) {
    var pgonce = stage.pgonce().listen(ORDERS, options, handler).start();
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select count(*) from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id where s.of_channel = 'orders'")
                == 0);
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select count(*) from pgonce.scheduled n join pgonce.subscription s on s.id = n.subscription_id where s.of_channel = 'orders'")
                == 0);
    pgonce.close();
  }

  private void assertEachWentToItsTenant(int each) throws SQLException {
    assertThat(stage.database.queryString(DOWNSTREAM))
        .isEqualTo("a a of a depth 1 %d\nb b of b depth 5 %d".formatted(each, each));
  }

  /** As in the docs: a handler of one publishes as if it were alone in its transaction. */
  @Test
  void example_h54_aBatchOfPlainHandlersServesSeveralTenants() throws Exception {
    publishOfTwoTenants(MANY);
    handle(
        TWENTY,
        (order, tx) -> {
          Stage.effect(order, tx);
          tx.publish(NEXT, order.payload());
        });
    assertEachWentToItsTenant(MANY / 2);
    assertThat(stage.database.queryLong(TRANSACTIONS)).isEqualTo(2);
  }

  @Test
  void h54_whatSqlAndTriggersPublishCarriesTheContextOfTheirNotification() throws Exception {
    stage.database.execute(
        """
        create table bill (id bigint, item text);
        create function bill_stored() returns trigger language plpgsql as $$
        begin
          perform pgonce.publish('next', to_json(new));
          return null;
        end
        $$;
        create trigger bill_stored after insert on bill for each row execute function bill_stored()
        """);
    publishOfTwoTenants(MANY);
    handle(
        TWENTY,
        (order, tx) -> {
          if (order.payload().id() % 4 < 2) {
            tx.update("insert into bill values (?, ?)", order.id(), order.payload().item());
          } else {
            tx.query(
                "select pgonce.publish('next', json_build_object('id', 1, 'item', ?::text))",
                row -> 1,
                order.payload().item());
          }
        });
    assertEachWentToItsTenant(MANY / 2);
  }

  /** A condition belongs to its notification as the handler does. */
  @Test
  void h54_aConditionIsAskedInTheContextOfItsNotification() throws Exception {
    publishOfTwoTenants(MANY);
    Condition<Order> isOfA =
        (order, tx) ->
            tx.query("select current_setting('pgonce.context')", row -> row.getString(1))
                .get(0)
                .contains("\"a\"");
    handle(TWENTY, Handler.onlyIf(isOfA, (order, tx) -> tx.publish(NEXT, order.payload())));
    assertThat(stage.database.queryString(DOWNSTREAM)).isEqualTo("a a of a depth 1 20");
  }

  @Test
  void h54_theContextThatOneHandlerSetsIsNotSeenByTheNext() throws Exception {
    publishOfTwoTenants(MANY);
    handle(
        TWENTY,
        (order, tx) -> {
          Stage.effect(order, tx);
          tx.publish(NEXT, order.payload());
          if (order.payload().id() % 3 == 0) {
            WriterContext.set(tx.connection(), Map.of("tenant", "nobody"));
          } else {
            tx.query("select pgonce.set_context('tenant', 'nobody')", row -> 1);
          }
        });
    assertEachWentToItsTenant(MANY / 2);
    assertThat(stage.database.queryLong(TRANSACTIONS)).isEqualTo(2);
  }

  /**
   * PostgreSQL keeps such a setting to the end of the transaction, and lists none of an
   * application's own: so each notification gets a transaction of its own.
   */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "set local app.tenant = 'x'",
        "set /* for the policy */ local app.tenant to 'x'",
        "select set_config('app.tenant', 'x', true)",
        "with s as (select pg_catalog.set_config('app.tenant', 'x', true)) select * from s",
        "do $$ begin perform set_config('app.tenant', 'x', true); end $$",
        "do $$ begin set local app.tenant = 'x'; end $$"
      })
  void h54_aLocalSettingOfOneHandlerIsNotSeenByTheNext(String sql) throws Exception {
    stage.publish(MANY);
    var begun = new AtomicInteger();
    var seen = new CopyOnWriteArrayList<String>();
    handle(
        TWENTY,
        (order, tx) -> {
          begun.incrementAndGet();
          seen.addAll(
              tx.query(
                  "select coalesce(current_setting('app.tenant', true), '')",
                  row -> row.getString(1)));
          try (var statement = tx.connection().createStatement()) {
            statement.execute(sql);
          }
          Stage.effect(order, tx);
        });
    assertThat(stage.eachOnce(MANY)).isTrue();
    assertThat(seen).containsOnly("");
    // The first was undone once, with its batch.
    assertThat(begun).hasValue(MANY + 1);
    assertThat(stage.database.queryLong(TRANSACTIONS)).isEqualTo(MANY);
    assertThat(stage.database.queryString("select distinct note from effect"))
        .isEqualTo("attempt 1");
  }

  @Test
  void h54_aRefusedSettingThatIsSwallowedFailsTheBatchAllTheSame() throws Exception {
    stage.publish(MANY);
    var refused = new AtomicInteger();
    handle(
        TWENTY,
        (order, tx) -> {
          Stage.effect(order, tx);
          try {
            tx.update("set local app.tenant = 'x'");
          } catch (SQLException e) {
            refused.incrementAndGet();
            assertThat(e.getMessage()).contains("Handler.batch");
          }
        });
    assertThat(stage.eachOnce(MANY)).isTrue();
    assertThat(stage.database.queryLong(TRANSACTIONS)).isEqualTo(MANY);
    assertThat(refused.get()).isBetween(1, 20);
  }

  @Test
  void h54_aSettingThatAFunctionChangesIsNotSeenByTheNext() throws Exception {
    stage.database.execute(
        "create function slow() returns void language sql as $$ select set_config('statement_timeout', '77s', true) $$");
    stage.publish(MANY);
    var seen = new CopyOnWriteArrayList<String>();
    handle(
        TWENTY,
        (order, tx) -> {
          seen.addAll(
              tx.query("select current_setting('statement_timeout')", row -> row.getString(1)));
          tx.query("select slow()", row -> 1);
          Stage.effect(order, tx);
        });
    assertThat(stage.eachOnce(MANY)).isTrue();
    assertThat(seen).containsOnly("0");
  }

  /** It fires at the commit, which is of all of them. */
  @Test
  void h54_aDeferredTriggerIsGivenTheContextOfNoOther() throws Exception {
    stage.database.execute(
        """
        create table seen (item text, context text);
        create function note() returns trigger language plpgsql as $$
        begin
          insert into seen values (new.note, current_setting('pgonce.context'));
          return null;
        end
        $$;
        create constraint trigger note after insert on effect deferrable initially deferred
          for each row execute function note()
        """);
    publishOfTwoTenants(20);
    handle(TWENTY, Stage::effect);
    assertThat(stage.database.queryLong("select count(*) from seen where context = ''"))
        .isEqualTo(20);
  }

  @Test
  void example_h54_aListHandlerPublishesWithTheContextOfAGivenNotification() throws Exception {
    publishOfTwoTenants(MANY);
    var shared = new CopyOnWriteArrayList<String>();
    var depths = new CopyOnWriteArrayList<Integer>();
    handle(
        TWENTY,
        Handler.batch(
            (orders, tx) -> {
              // Where they differ, the transaction has no context.
              shared.addAll(
                  tx.query(
                      "select current_setting('pgonce.context') || current_setting('pgonce.depth')",
                      row -> row.getString(1)));
              for (var order : orders) {
                depths.add(order.depth());
                tx.publish(
                    NEXT, order.payload(), PublishOptions.DEFAULT.withContext(order.context()));
              }
            }));
    assertThat(shared).containsExactly("5", "5");
    assertThat(depths).hasSize(MANY).containsOnly(0, 4);
    // As deep as the deepest of the batch makes it.
    assertThat(stage.database.queryString(DOWNSTREAM))
        .isEqualTo("a a of a depth 5 20\nb b of b depth 5 20");
  }

  @Test
  void h54_aListHandlerHasTheContextThatAllShare() throws Exception {
    publishOfTwoTenants(20);
    stage.database.execute(
        "delete from pgonce.notification where subscription_id > 0 and payload->>'item' = 'b'");
    handle(
        TWENTY,
        Handler.batch(
            (orders, tx) -> {
              for (var order : orders) {
                tx.publish(NEXT, order.payload());
              }
            }));
    assertThat(stage.database.queryString(DOWNSTREAM)).isEqualTo("a a of a depth 1 10");
  }

  /** What the isolation costs: one round trip for each handler that uses its transaction. */
  @Test
  void h54_costOfABatchOfPlainHandlers() throws Exception {
    var asked = new CopyOnWriteArrayList<String>();
    var done = new CountDownLatch(1);
    TappedSource.Tap tap =
        (sql, real) -> {
          asked.add(sql);
          return sql;
        };
    publishOfTwoTenants(20);
    var uses = List.of(1L, 2L, 3L);
    stage
        .pgonce(
            PgOnce.builder(TappedSource.over(stage.dataSource, tap))
                .listenAddress(
                    new org.pgonce.spi.ListenAddress(
                        stage.database.host(),
                        stage.database.port(),
                        stage.database.name(),
                        stage.database.user(),
                        null,
                        Map.of())))
        .listen(
            ORDERS,
            TWENTY,
            (order, tx) -> {
              if (uses.contains(order.payload().id())) {
                Stage.effect(order, tx);
              }
              if (order.payload().id() == 20) {
                done.countDown();
              }
            })
        .start();
    Stage.awaitSoon(done);
    stage.awaitSoon(() -> stage.waiting() == 0);
    // Before each of the three, and before the commit for what is deferred to it. What releases the
    // savepoint sets the context back for good.
    assertThat(asked.stream().filter(sql -> sql.contains("set_config('pgonce.context', ?, true)")))
        .hasSize(uses.size() + 1);
    assertThat(asked.stream().filter(sql -> sql.contains("insert into effect")))
        .hasSize(uses.size());
  }
}
