package org.pgonce.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.BatchHandler;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Deadlocks and serialization failures: nothing is lost by them but a little time. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class BatchConflictTest {

  private static final ListenOptions ONCE = QUICK.withMaxAttempts(1);
  private static final int COUNTERS = 50;
  private static final String CONFLICT =
      "do $$ begin raise exception 'as if' using errcode = '40001'; end $$";

  private static final String AT_MOST_ONCE =
      "select count(*) from pgonce.channel where name = 'orders' and mode = 'AT_MOST_ONCE'";

  private final List<Integer> sizes = new CopyOnWriteArrayList<>();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    stage.database.execute(
        "create table counter (id int primary key, n int); insert into counter select g, 0 from generate_series(1, %d) g"
            .formatted(COUNTERS));
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private long deadlocks() throws SQLException {
    return stage.database.queryLong(
        "select deadlocks from pg_stat_database where datname = current_database()");
  }

  /**
   * Two listeners, as two processes would. Each event adds to counters in an order of its own. If
   * batches of 20 went on, a deadlock of 1 s would come with each 50 events.
   */
  @Tag("all")
  @ParameterizedTest(name = "batches of {0} and {1}, {2} counters each")
  @CsvSource({"20, 20, 1", "1, 20, 1", "1, 20, 2"})
  void h43_h48_batchesThatUpdateSharedRowsInDifferentOrdersFinish(
      int first, int second, int countersEach) throws Exception {
    var events = 4_000;
    stage.publish(events);
    var runs = new AtomicInteger();
    BatchHandler<Order> count =
        (orders, tx) -> {
          for (var order : orders) {
            runs.incrementAndGet();
            var random = new Random(order.payload().id());
            for (var i = 0; i < countersEach; i++) {
              tx.update("update counter set n = n + 1 where id = ?", 1 + random.nextInt(COUNTERS));
            }
            Stage.effect(order, tx);
          }
        };
    // One attempt, and no dead letter: so no deadlock was counted.
    stage.pgonce().listen(ORDERS, ONCE.withBatch(first), Handler.batch(count)).start();
    stage.pgonce().listen(ORDERS, ONCE.withBatch(second), Handler.batch(count)).start();
    stage.awaitWithin(Duration.ofSeconds(90), () -> stage.waiting() == 0);
    assertThat(stage.eachOnce(events)).isTrue();
    assertThat(stage.deadLetters()).isZero();
    assertThat(stage.database.queryString("select distinct note from effect"))
        .isEqualTo("attempt 1");
    assertThat(stage.database.queryLong("select sum(n) from counter"))
        .isEqualTo((long) events * countersEach);
    // Usually 1 to 8, one for each batch that had begun before. If batches went on it were 45 to
    // 80,
    // and more time than they have here.
    assertThat(deadlocks()).isLessThan(30);
    assertThat(runs.get()).isLessThan(events + 30 * 20);
  }

  @Tag("all")
  @Test
  void h48_aBatchIsRedoneOneByOneAfterASerializationFailure() throws Exception {
    stage.publish(20);
    stage
        .pgonce()
        .listen(
            ORDERS,
            ONCE.withConcurrency(1).withBatch(20),
            Handler.batch(
                (orders, tx) -> {
                  sizes.add(orders.size());
                  for (var order : orders) {
                    Stage.effect(order, tx);
                  }
                  if (orders.size() > 5) {
                    tx.update(CONFLICT);
                  }
                }))
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(20)).isTrue();
    assertThat(stage.deadLetters()).isZero();
    assertThat(sizes).startsWith(20, 1, 1).hasSize(21);
  }

  /** As frameworks do with the driver's exception, or as a handler that does not look. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void h48_aConflictIsKnownWhereTheHandlerWrapsItOrSwallowsIt(boolean swallows) throws Exception {
    stage.publish(20);
    stage
        .pgonce()
        .listen(
            ORDERS,
            ONCE.withConcurrency(1).withBatch(20),
            Handler.batch(
                (orders, tx) -> {
                  sizes.add(orders.size());
                  for (var order : orders) {
                    Stage.effect(order, tx);
                  }
                  try {
                    if (sizes.size() == 1) {
                      tx.update(CONFLICT);
                    }
                  } catch (SQLException e) {
                    if (!swallows) {
                      throw new IllegalStateException("wrapped", new RuntimeException(e));
                    }
                  }
                }))
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(20)).isTrue();
    assertThat(sizes).startsWith(20, 1, 1).hasSize(21);
  }

  /** Both are of batches of one, and one of them is undone: it is not counted for that. */
  @Test
  void h48_aSingleHandlerInADeadlockRunsAgainAtOnceUncounted() throws Exception {
    var bothHoldOne = new CyclicBarrier(2);
    var runs = new AtomicInteger();
    var attempts = new ConcurrentLinkedQueue<Integer>();
    stage.publish(2);
    stage
        .pgonce()
        .listen(
            ORDERS,
            ONCE.withConcurrency(2),
            (order, tx) -> {
              var run = runs.incrementAndGet();
              attempts.add(order.attempt());
              var id = (int) order.payload().id();
              // The victim, back before the other has taken its row, waits for that one first.
              var first = run <= 2 ? id : 3 - id;
              tx.update("set local deadlock_timeout = '5ms'");
              tx.update("update counter set n = n + 1 where id = ?", first);
              if (run <= 2) {
                bothHoldOne.await(20, TimeUnit.SECONDS);
              }
              tx.update("update counter set n = n + 1 where id = ?", 3 - first);
              Stage.effect(order, tx);
            })
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(2)).isTrue();
    assertThat(stage.deadLetters()).isZero();
    assertThat(runs).hasValue(3);
    assertThat(attempts).containsOnly(1);
    assertThat(
            stage.database.queryString("select string_agg(n::text, ',') from counter where id < 3"))
        .isEqualTo("2,2");
  }

  /** What has begun by then is a dead letter, and nothing of it runs again by itself. */
  @ParameterizedTest
  @ValueSource(ints = {1, 20})
  void h48_nothingRunsAgainWhereItsChannelHasBecomeAtMostOnce(int batch) throws Exception {
    var count = batch == 1 ? 1 : 5;
    stage.publish(count);
    var runs = new AtomicInteger();
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK.withConcurrency(1).withBatch(batch),
            Handler.batch(
                (orders, tx) -> {
                  if (runs.incrementAndGet() == 1) {
                    stage.database.execute("select pgonce.change_mode('orders', 'AT_MOST_ONCE')");
                    tx.update(CONFLICT);
                  }
                }))
        .start();
    stage.awaitSoon(() -> runs.get() > 0);
    stage.awaitSoon(() -> stage.database.queryLong(AT_MOST_ONCE) == 1);
    stage
        .pgonce()
        .listen(
            Channel.of("orders", Order.class, Mode.AT_MOST_ONCE),
            (order, tx) -> runs.incrementAndGet())
        .start();
    stage.awaitSoon(() -> stage.waiting() == 0);
    assertThat(stage.deadLetters()).isEqualTo(count);
    assertThat(runs).hasValue(1);
  }

  /** A handler that fails so each time is no conflict with anybody: it must come to an end. */
  @Test
  void h48_aNotificationThatAlwaysConflictsIsADeadLetterInTheEnd() throws Exception {
    stage.publish(3);
    var runs = new AtomicInteger();
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK.withConcurrency(1).withBatch(20),
            Handler.batch(
                (orders, tx) -> {
                  sizes.add(orders.size());
                  for (var order : orders) {
                    Stage.effect(order, tx);
                    if (order.payload().id() == 2) {
                      runs.incrementAndGet();
                      tx.update(CONFLICT);
                    }
                  }
                }))
        .start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(2)).isTrue();
    assertThat(stage.deadLetters()).isEqualTo(1);
    // With the others, and three attempts of four runs each.
    assertThat(sizes.get(0)).isEqualTo(3);
    assertThat(runs).hasValue(1 + 3 * 4);
  }
}
