package org.pgonce.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.BatchHandler;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Condition;
import org.pgonce.Handler;
import org.pgonce.KeyOrder;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Several notifications in one transaction: all are done, or none, and then each alone. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class BatchTest {

  private static final ListenOptions TWENTY = QUICK.withConcurrency(1).withBatch(20);
  private static final String TRANSACTIONS = "select count(distinct xmin::text) from effect";

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  /** A list per transaction: one INSERT for all of them. */
  @Test
  void example_aBatchHandlerGetsAListInOneTransaction() throws Exception {
    stage.publish(50);
    var sizes = new CopyOnWriteArrayList<Integer>();
    BatchHandler<Order> handler =
        (orders, tx) -> {
          sizes.add(orders.size());
          for (var order : orders) {
            tx.update("insert into effect values (?, 'together')", order.payload().id());
          }
        };
    stage.pgonce().listen(ORDERS, TWENTY, Handler.batch(handler)).start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(50)).isTrue();
    assertThat(sizes).containsExactly(20, 20, 10);
    assertThat(stage.database.queryLong(TRANSACTIONS)).isEqualTo(3);
  }

  /** Single handlers share transactions, too: fewer commits, and the same promise. */
  @Test
  void example_singleHandlersShareATransaction() throws Exception {
    stage.publish(50);
    stage.pgonce().listen(ORDERS, TWENTY, Stage::effect).start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(50)).isTrue();
    assertThat(stage.database.queryLong(TRANSACTIONS)).isEqualTo(3);
  }

  @Test
  void s10_oneThatFailsIsUndoneWithTheOthersAndThenFailsAlone() throws Exception {
    stage.publish(40);
    var failures = new AtomicInteger();
    stage
        .pgonce()
        .listen(
            ORDERS,
            TWENTY,
            (order, tx) -> {
              Stage.effect(order, tx);
              if (order.payload().id() == 7) {
                failures.incrementAndGet();
                throw new IllegalStateException("always");
              }
            })
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(39)).isTrue();
    assertThat(stage.deadLetters()).isEqualTo(1);
    assertThat(
            stage.database.queryString("select reason || ' ' || attempts from pgonce.dead_letter"))
        .isEqualTo("ATTEMPTS_USED_UP 3");
    // Once with the others, and then as often as it may.
    assertThat(failures).hasValue(4);
    // The others have one attempt each that counts.
    assertThat(stage.database.queryLong("select count(*) from effect where note = 'attempt 1'"))
        .isEqualTo(39);
  }

  @Test
  void h25_oneThatCannotBeReadIsADeadLetterAndTheOthersAreDone() throws Exception {
    stage.publish(10);
    stage.database.execute(
        "update pgonce.notification set payload = '{\"id\": \"x\"}' where subscription_id > 0 and payload->>'id' = '4'");
    stage.pgonce().listen(ORDERS, TWENTY, Stage::effect).start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(9)).isTrue();
    assertThat(stage.database.queryString("select reason from pgonce.dead_letter"))
        .isEqualTo("UNREADABLE");
  }

  @Test
  void h43_aSwallowedSqlErrorFailsAllOfThem() throws Exception {
    stage.publish(5);
    var swallowed = new AtomicInteger();
    stage
        .pgonce()
        .listen(
            ORDERS,
            TWENTY,
            (order, tx) -> {
              Stage.effect(order, tx);
              if (order.payload().id() == 3 && swallowed.incrementAndGet() < 3) {
                try {
                  tx.update("insert into nowhere values (1)");
                } catch (SQLException e) {
                  // as if nothing had happened
                }
              }
            })
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(5)).isTrue();
    assertThat(swallowed.get()).isGreaterThanOrEqualTo(3);
  }

  @Tag("all")
  @Test
  void h45_aBatchThatDoesNotReturnIsCutOffAndThenHandledOneByOne() throws Exception {
    stage.publish(5);
    var stuck = new AtomicInteger();
    stage
        .pgonce()
        .listen(
            ORDERS,
            // Time enough for those that do return, on a busy machine.
            TWENTY.withHandlerTimeout(Duration.ofSeconds(2)),
            (order, tx) -> {
              Stage.effect(order, tx);
              if (order.payload().id() == 2 && stuck.incrementAndGet() <= 2) {
                new CountDownLatch(1).await();
              }
            })
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(5)).isTrue();
    // With the others, alone (counted), and again.
    assertThat(stuck).hasValue(3);
  }

  @Test
  void h51_oneThatIsGoneMeanwhileUndoesAllOfThem() throws Exception {
    stage.publish(5);
    var first = new AtomicInteger();
    stage
        .pgonce()
        .listen(
            ORDERS,
            TWENTY,
            Handler.batch(
                (orders, tx) -> {
                  for (var order : orders) {
                    Stage.effect(order, tx);
                  }
                  if (first.incrementAndGet() == 1) {
                    // By hand, through the same session: nobody else could.
                    tx.update("delete from pgonce.notification where id = ?", orders.get(2).id());
                  }
                }))
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(5)).isTrue();
    assertThat(first.get()).isGreaterThan(1);
  }

  @Test
  void s14_aConditionIsAskedForEachOfThem() throws Exception {
    stage.publish(10);
    var sizes = new CopyOnWriteArrayList<Integer>();
    BatchHandler<Order> handler =
        (orders, tx) -> {
          sizes.add(orders.size());
          for (var order : orders) {
            Stage.effect(order, tx);
          }
        };
    stage
        .pgonce()
        .listen(
            ORDERS,
            TWENTY,
            Handler.onlyIf((order, tx) -> order.payload().id() % 2 == 0, Handler.batch(handler)))
        .start();
    stage.awaitNothingWaits();
    assertThat(sizes).containsExactly(5);
    assertThat(stage.eachOnce(5)).isTrue();
  }

  @Test
  void s14_ofSingleHandlersEachIsAskedRightBeforeIt() throws Exception {
    stage.publish(10);
    // The first turns away whoever comes after it.
    Condition<Order> nobodyYet =
        (order, tx) -> tx.query("select 1 from effect", row -> 1).isEmpty();
    stage.pgonce().listen(ORDERS, TWENTY, Handler.onlyIf(nobodyYet, Stage::effect)).start();
    stage.awaitNothingWaits();
    assertThat(stage.effects()).isEqualTo(1);
  }

  @Test
  void whatIsPublishedFromABatchComesFromTheDeepestOfThem() throws Exception {
    var next = Channel.of("next", Order.class);
    PgOnce.using(stage.dataSource).install(next);
    stage.publish(2);
    stage.database.execute(
        "update pgonce.notification set stamp = 5, context = '{\"tenant\": \"a\"}' where subscription_id > 0 and payload->>'id' = '1'");
    stage
        .pgonce()
        .listen(
            ORDERS,
            TWENTY,
            Handler.batch(
                (orders, tx) -> {
                  var unused = tx.publish(next, orders.get(0).payload());
                }))
        .start();
    stage.awaitSoon(() -> stage.waiting() == 1);
    assertThat(
            stage.database.queryString(
                "select stamp || ' ' || coalesce(context::text, 'none') from pgonce.notification where subscription_id > 0"))
        .isEqualTo("6 none");
  }

  @Test
  void batchesAreRefusedWhereTheyWouldBreakAPromise() {
    var pgonce = stage.pgonce();
    var refused = new ArrayList<Channel<Order>>();
    for (var mode : List.of(Mode.AT_LEAST_ONCE, Mode.AT_MOST_ONCE, Mode.BROADCAST)) {
      refused.add(Channel.of("other", Order.class, mode));
    }
    refused.add(
        Channel.of(
            "other",
            Order.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS)));
    for (var channel : refused) {
      assertThatThrownBy(() -> pgonce.listen(channel, TWENTY, Stage::effect))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("leave it at 1");
    }
    assertThatThrownBy(() -> QUICK.withBatch(0)).hasMessageContaining("batch 0");
  }
}
