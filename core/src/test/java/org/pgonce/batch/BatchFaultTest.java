package org.pgonce.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.BatchHandler;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What goes wrong around a batch: earlier claims that died, leaked connections, a stop. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class BatchFaultTest {

  private static final ListenOptions TWENTY = QUICK.withConcurrency(1).withBatch(20);

  private final List<Integer> sizes = new CopyOnWriteArrayList<>();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private Handler<Stage.Order> counting() {
    return Handler.batch(
        (orders, tx) -> {
          sizes.add(orders.size());
          for (var order : orders) {
            Stage.effect(order, tx);
          }
        });
  }

  private BatchHandler<Stage.Order> sleepingIfTogether() {
    return (orders, tx) -> {
      sizes.add(orders.size());
      if (orders.size() > 1) {
        tx.query("select pg_sleep(3600)", row -> 1);
      }
      for (var order : orders) {
        Stage.effect(order, tx);
      }
    };
  }

  /**
   * One of them may be what killed the process: in a batch it would again, and be counted never.
   */
  @Test
  void h47_whatAnEarlierClaimLeftWithoutAWordIsCountedBeforeItBegins() throws Exception {
    stage.publish(5);
    try (var died = stage.database.dataSource().getConnection()) {
      died.setAutoCommit(false);
      died.createStatement()
          .execute("select from pgonce.notification where subscription_id > 0 for update");
      died.rollback();
    }
    var counted = new CopyOnWriteArrayList<Long>();
    stage
        .pgonce()
        .listen(
            ORDERS,
            TWENTY,
            Handler.batch(
                (orders, tx) -> {
                  sizes.add(orders.size());
                  // Seen by others, so whoever dies now has counted.
                  counted.add(
                      stage.database.queryLong(
                          "select attempts from pgonce.scheduled where subscription_id > 0 and id = "
                              + orders.get(0).id()));
                  Stage.effect(orders.get(0), tx);
                }))
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(5)).isTrue();
    assertThat(sizes).containsExactly(1, 1, 1, 1, 1);
    assertThat(counted).containsExactly(1L, 1L, 1L, 1L, 1L);
  }

  @Test
  void s10_whatHasFailedBeforeIsNoPartOfABatch() throws Exception {
    // Due rows, of which the third has failed once.
    stage.database.execute(
        "insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload)"
            + " select s.id, nextval('pgonce.notification_id'), now(), (n = 3)::int, now(), json_build_object('id', n, 'item', 'x')"
            + " from pgonce.subscription s, generate_series(1, 5) n");
    stage.pgonce().listen(ORDERS, TWENTY, counting()).start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(5)).isTrue();
    assertThat(sizes).containsExactly(4, 1);
    assertThat(stage.database.queryString("select note from effect where id = 3"))
        .isEqualTo("attempt 2");
  }

  /**
   * Those that failed together, and no others: else what is claimed with one of them and let go for
   * its sake would be handled alone as well, and what is claimed with that, until nothing is left.
   */
  @Test
  void s10_afterAFailureTheNextBatchesAreWholeAgain() throws Exception {
    stage.publish(200);
    var failedTogether = new CopyOnWriteArrayList<Long>();
    var alone = new CopyOnWriteArrayList<Long>();
    stage
        .pgonce()
        .listen(
            ORDERS,
            TWENTY,
            Handler.batch(
                (orders, tx) -> {
                  if (failedTogether.isEmpty()) {
                    orders.forEach(order -> failedTogether.add(order.id()));
                    throw new IllegalStateException("once");
                  }
                  if (orders.size() == 1) {
                    alone.add(orders.get(0).id());
                  }
                  for (var order : orders) {
                    Stage.effect(order, tx);
                  }
                }))
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(200)).isTrue();
    assertThat(failedTogether).hasSize(20);
    assertThat(alone).containsAll(failedTogether);
    // The last batch may have been of one.
    assertThat(alone).hasSizeLessThanOrEqualTo(21);
  }

  /** Whence it comes, what a batch publishes, is told by its own and not by whom it left out. */
  @Test
  void whatIsPublishedFromABatchDoesNotComeFromThoseThatAreLeftForLater() throws Exception {
    var next = Channel.of("next", Stage.Order.class);
    PgOnce.using(stage.dataSource).install(next);
    stage.publish(3);
    var last = stage.onCall().peek(ORDERS, 3).get(2).id();
    stage.database.execute(
        "update pgonce.notification set stamp = 5, context = '{\"tenant\": \"a\"}' where subscription_id > 0 and id = "
            + last);
    try (var died = stage.database.dataSource().getConnection()) {
      died.setAutoCommit(false);
      died.createStatement()
          .execute(
              "select from pgonce.notification where subscription_id > 0 and id = %d for update"
                  .formatted(last));
      died.rollback();
    }
    stage
        .pgonce()
        .listen(
            ORDERS,
            TWENTY,
            Handler.batch(
                (orders, tx) -> {
                  sizes.add(orders.size());
                  var unused = tx.publish(next, orders.get(0).payload());
                }))
        .start();
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select backlog from pgonce.channel_status where channel = 'next'")
                == 2);
    assertThat(sizes).containsExactly(2, 1);
    assertThat(
            stage.database.queryString(
                "select string_agg(stamp || ' ' || coalesce(context->>'tenant', 'none'), ', ' order by id) from pgonce.notification where subscription_id > 0"))
        .isEqualTo("1 none, 6 a");
  }

  @Test
  void h44_aConnectionThatAFailedBatchKeptIsOfNoUse() throws Exception {
    stage.publish(3);
    var kept = new AtomicReference<Connection>();
    var refusal = new CopyOnWriteArrayList<Throwable>();
    stage
        .pgonce()
        .listen(
            ORDERS,
            TWENTY,
            Handler.batch(
                (orders, tx) -> {
                  var earlier = kept.getAndSet(tx.connection());
                  if (earlier == null) {
                    Stage.effect(orders.get(0), tx);
                    throw new IllegalStateException("once");
                  }
                  try (var statement = earlier.createStatement()) {
                    statement.execute("insert into effect values (0, 'leaked')");
                  } catch (SQLException e) {
                    refusal.add(e);
                  }
                  for (var order : orders) {
                    Stage.effect(order, tx);
                  }
                }))
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(3)).isTrue();
    assertThat(refusal).hasSize(3).allMatch(e -> e.getMessage().contains("has ended"));
  }

  @Tag("all")
  @Test
  void h44_aBatchThatSwallowedTheRefusalOfItsCommitHasFailed() throws Exception {
    stage.publish(3);
    stage
        .pgonce()
        .listen(
            ORDERS,
            TWENTY,
            Handler.batch(
                (orders, tx) -> {
                  sizes.add(orders.size());
                  for (var order : orders) {
                    Stage.effect(order, tx);
                  }
                  if (orders.size() > 1) {
                    assertThatThrownBy(() -> tx.connection().commit())
                        .isInstanceOf(SQLException.class);
                  }
                }))
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(3)).isTrue();
    assertThat(sizes).containsExactly(3, 1, 1, 1);
  }

  @Test
  void h45_whatABatchLeavesOfAnInterruptDoesNotMeetTheNext() throws Exception {
    stage.publish(100);
    var met = new AtomicInteger();
    stage
        .pgonce()
        .listen(
            ORDERS,
            TWENTY,
            Handler.batch(
                (orders, tx) -> {
                  if (Thread.currentThread().isInterrupted()) {
                    met.incrementAndGet();
                  }
                  for (var order : orders) {
                    Stage.effect(order, tx);
                  }
                  Thread.currentThread().interrupt();
                }))
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(100)).isTrue();
    assertThat(met).hasValue(0);
  }

  /** What its handler asked the server for would hold the rows for as long as that takes. */
  @Test
  void h45_aBatchThatIsCutOffIsEndedInTheServerToo() throws Exception {
    stage.publish(3);
    stage
        .pgonce()
        .listen(
            ORDERS,
            // Its time begins with the claim: it must not be over before the first batch begins.
            TWENTY.withHandlerTimeout(Duration.ofSeconds(1)),
            Handler.batch(sleepingIfTogether()))
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(3)).isTrue();
    assertThat(sizes).startsWith(3);
  }

  @Test
  void h85_aBatchThatIsReleasedIsEndedInTheServerToo() throws Exception {
    stage.publish(3);
    var pgonce = stage.pgonce().listen(ORDERS, TWENTY, Handler.batch(sleepingIfTogether())).start();
    stage.awaitSoon(() -> !stage.database.backends().running("pg_sleep(3600)").isEmpty());
    assertThat(pgonce.stop(Duration.ZERO)).isFalse();
    stage.awaitSoon(() -> stage.database.backends().running("pg_sleep(3600)").isEmpty());
    stage.awaitSoon(() -> stage.claimable() == 3);
  }

  /** A failure of one alone counts at once: it runs no more often than it may. */
  @Test
  void h46_oneThatIsABatchOfItsOwnRunsAsOftenAsItMay() throws Exception {
    stage.publish(1);
    stage
        .pgonce()
        .listen(
            ORDERS,
            TWENTY,
            Handler.batch(
                (orders, tx) -> {
                  sizes.add(orders.size());
                  throw new IllegalStateException("always");
                }))
        .start();
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(sizes).containsExactly(1, 1, 1);
  }

  /** No scan comes to the help of either. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void s11_behindABatchTheNextIsLookedFor(boolean due) throws Exception {
    stage.publish(100);
    if (due) {
      stage.database.execute(
          "select pgonce.schedule(n.subscription_id, n.id, 0, null, 0, null, 0, null) from pgonce.notification n where n.subscription_id > 0");
    }
    try (var pgonce =
        PgOnce.builder(stage.dataSource).pollInterval(Duration.ofMinutes(5)).build()) {
      pgonce.listen(ORDERS, TWENTY, counting()).start();
      stage.awaitNothingWaits();
    }
    assertThat(stage.eachOnce(100)).isTrue();
    assertThat(sizes).containsExactly(20, 20, 20, 20, 20);
  }

  @Test
  void h85_aBatchThatAStoppedListenerHadBegunGoesBackUncounted() throws Exception {
    stage.publish(5);
    var begun = new CountDownLatch(1);
    var first = stage.pgonce();
    first
        .listen(
            ORDERS,
            TWENTY,
            (order, tx) -> {
              Stage.effect(order, tx);
              begun.countDown();
              new CountDownLatch(1).await();
            })
        .start();
    Stage.awaitSoon(begun);
    assertThat(first.stop(Duration.ZERO)).isFalse();
    stage.awaitSoon(() -> stage.claimable() == 5);
    assertThat(stage.effects()).isZero();
    stage.pgonce().listen(ORDERS, TWENTY, Stage::effect).start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(5)).isTrue();
    assertThat(stage.database.queryString("select distinct note from effect"))
        .isEqualTo("attempt 1");
  }

  @Test
  void s14_whatItsConditionTurnedAwayIsToldAsSkipped() throws Exception {
    stage.publish(4);
    var told = new CopyOnWriteArrayList<String>();
    Observer observer =
        event -> {
          if (event instanceof Event.Handled said) {
            told.add("handled " + said.about().id());
          }
          if (event instanceof Event.Skipped said) {
            told.add("skipped " + said.about().id());
          }
        };
    var ids = stage.onCall().peek(ORDERS, 4);
    stage
        .pgonce(PgOnce.builder(stage.dataSource).observer(observer))
        .listen(
            ORDERS,
            TWENTY,
            Handler.onlyIf((order, tx) -> order.payload().id() % 2 == 0, Stage::effect))
        .start();
    stage.awaitSoon(() -> told.size() == 4);
    assertThat(told)
        .containsExactly(
            "skipped " + ids.get(0).id(),
            "handled " + ids.get(1).id(),
            "skipped " + ids.get(2).id(),
            "handled " + ids.get(3).id());
  }

  /** The keys of all are done with, in the commit of their batch. */
  @Test
  void s12_theKeysOfABatchAreFree() throws Exception {
    try (var connection = stage.dataSource.getConnection()) {
      for (var id = 1L; id <= 3; id++) {
        Publisher.standard()
            .publish(
                connection,
                ORDERS,
                new Stage.Order(id, "item"),
                PublishOptions.DEFAULT.withDeliveryKey("order " + id));
      }
    }
    assertThat(stage.database.queryLong("select count(*) from pgonce.delivery_key")).isEqualTo(3);
    stage.pgonce().listen(ORDERS, TWENTY, counting()).start();
    stage.awaitNothingWaits();
    assertThat(sizes).containsExactly(3);
    assertThat(stage.database.queryLong("select count(*) from pgonce.delivery_key")).isZero();
  }
}
