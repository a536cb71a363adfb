package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;
import static org.pgonce.stage.Stage.SOON;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.Status;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.wakeup.WatchedSource;

/**
 * What a handler costs that runs longer than it may: its attempt, and nothing of anybody else's.
 */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class OverrunTest {

  private static final Channel<String> NEWS = Channel.of("news", String.class, Mode.BROADCAST);

  private static final ListenOptions BRIEF =
      QUICK.withMaxAttempts(1).withHandlerTimeout(Duration.ofMillis(100));

  private static Stage stage;

  @BeforeAll
  static void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(NEWS);
  }

  @AfterEach
  void tearDown() throws SQLException {
    stage.clear();
  }

  private static void untilInterrupted() throws InterruptedException {
    new CountDownLatch(1).await();
  }

  private static Status.ChannelActivity activity(PgOnce pgonce) {
    return pgonce.status().channels().get(0);
  }

  @Test
  void h45_overrunsByHandlersThatReturnLeakNoPlace() throws Exception {
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            ORDERS,
            BRIEF.withConcurrency(1).withMaxAttempts(50),
            (order, tx) -> {
              if (order.attempt() == 1) {
                untilInterrupted();
              }
              Stage.effect(order, tx);
            })
        .start();
    stage.publish(8);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(8)).isTrue();
    await().atMost(SOON).until(() -> activity(pgonce).working() == 0);
    assertThat(activity(pgonce).stuck()).isZero();
  }

  /** Two that begin one after the other: each has its own time. */
  @Test
  void h45_aHandlerThatBeginsWhileAnotherRunsIsCutOffAtItsOwnTime() throws Exception {
    var timeout = Duration.ofSeconds(2);
    var begun = new ConcurrentHashMap<Integer, Long>();
    var ended = new ConcurrentHashMap<Integer, Long>();
    stage
        .pgonce()
        .listen(
            ORDERS,
            BRIEF.withConcurrency(2).withHandlerTimeout(timeout),
            (order, tx) -> {
              var nth = begun.size();
              begun.put(nth, System.nanoTime());
              try {
                untilInterrupted();
              } finally {
                ended.put(nth, System.nanoTime());
              }
            })
        .start();
    stage.publish(1);
    await().atMost(SOON).until(() -> begun.size() == 1);
    await().atMost(SOON).until(() -> System.nanoTime() - begun.get(0) > timeout.toNanos() / 2);
    stage.publish(1);
    await().atMost(SOON).until(() -> ended.size() == 2);
    for (var nth = 0; nth < 2; nth++) {
      // Its time begins before its payload is read. At the other's end half of it is left.
      assertThat(Duration.ofNanos(ended.get(nth) - begun.get(nth)))
          .isGreaterThan(timeout.multipliedBy(3).dividedBy(5));
    }
  }

  @Test
  void h45_anOverrunIsCountedBeforeItsRowIsFreeForAnother() throws Exception {
    var runs = new AtomicInteger();
    stage
        .pgonce()
        .listen(
            ORDERS,
            BRIEF.withConcurrency(1),
            (order, tx) -> {
              runs.incrementAndGet();
              untilInterrupted();
            })
        .start();
    stage.publish(10);
    // Whoever may claim looks all the time.
    try (var connection = stage.dataSource.getConnection();
        var wakeUp = connection.prepareStatement("notify pgonce_orders")) {
      await()
          .atMost(SOON)
          .pollInterval(Duration.ofMillis(1))
          .until(
              () -> {
                wakeUp.execute();
                return stage.deadLetters() == 10;
              });
    }
    // One whose time is over before it begins, on a busy machine, does not.
    assertThat(runs.get()).isBetween(1, 10);
  }

  /** It has stopped half-way: that is no success, though its session has not been ended yet. */
  @ParameterizedTest
  @EnumSource(Mode.class)
  void h45_aHandlerThatReturnsForItsInterruptHasFailed(Mode mode) throws Exception {
    var channel = Channel.of(mode.name().toLowerCase(Locale.ROOT), Stage.Order.class, mode);
    PgOnce.using(stage.dataSource).install(channel);
    var runs = new AtomicInteger();
    var ends = new CopyOnWriteArrayList<String>();
    var handled = new CountDownLatch(1);
    Observer observer =
        event -> {
          if (event instanceof Event.Handled || event instanceof Event.BroadcastDropped) {
            ends.add(event.getClass().getSimpleName() + " " + runs.get());
            handled.countDown();
          }
        };
    var slow =
        TappedSource.over(
            stage.dataSource,
            (sql, real) -> {
              try {
                if (sql.equals("SAVEPOINT pgonce_terminate")) {
                  var unused = handled.await(1, TimeUnit.SECONDS); // it must not be meanwhile
                }
                return sql;
              } catch (InterruptedException e) {
                throw new SQLException(e);
              }
            });
    stage
        .pgonce(PgOnce.builder(slow).observer(observer))
        .listen(
            channel,
            QUICK.withConcurrency(1).withHandlerTimeout(Duration.ofSeconds(1)),
            (order, tx) -> {
              var run = runs.incrementAndGet();
              tx.update("insert into effect values (?, 'begun')", run);
              if (run == 1) {
                try {
                  untilInterrupted();
                } catch (InterruptedException e) {
                  return;
                }
              }
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, channel, new Stage.Order(1, "item"));
    }
    await().atMost(SOON).until(() -> stage.deadLetters() + ends.size() == 1);
    assertThat(ends).doesNotContain("Handled 1");
    assertThat(stage.database.queryLong("select count(*) from effect where id = 1")).isZero();
    assertThat(stage.deadLetters()).isEqualTo(mode == Mode.AT_MOST_ONCE ? 1 : 0);
  }

  /** As docs/guarantees.md says: the claim in between counts its own attempt, before it begins. */
  @Test
  void h45_anOverrunThatIsClaimedBeforeItIsRecordedMakesOneRunMore() throws Exception {
    var runs = new AtomicInteger();
    var claimed = new CountDownLatch(1);
    var options = BRIEF.withHandlerTimeout(Duration.ofSeconds(1)).withConcurrency(1);
    // Its session has been ended, and the record follows.
    var slow =
        TappedSource.over(
            stage.dataSource,
            (sql, real) -> {
              if (sql.equals("ROLLBACK TO SAVEPOINT pgonce_terminate")) {
                Unwilling.await(claimed);
              }
              return sql;
            });
    var begun = new CountDownLatch(1);
    stage
        .pgonce(slow)
        .listen(
            ORDERS,
            options,
            (order, tx) -> {
              runs.incrementAndGet();
              begun.countDown();
              untilInterrupted();
            })
        .start();
    stage.publish(1);
    Stage.awaitSoon(begun);
    stage
        .pgonce()
        .listen(
            ORDERS,
            options,
            (order, tx) -> {
              runs.incrementAndGet();
              claimed.countDown();
              throw new IllegalStateException("the next attempt");
            })
        .start();
    await().atMost(SOON).until(() -> stage.deadLetters() == 1);
    assertThat(runs).hasValue(2);
    assertThat(stage.database.queryLong("select attempts from pgonce.dead_letter")).isEqualTo(1);
  }

  @Test
  void h45_aConnectionThatWasCutOffGoesBackToThePoolClosed() throws Exception {
    var source = new WatchedSource(stage.database.unpooled());
    var begun = new AtomicInteger();
    stage
        .pgonce(source.dataSource())
        .listen(
            ORDERS,
            BRIEF.withConcurrency(4),
            (order, tx) -> {
              source.mark();
              begun.incrementAndGet();
              untilInterrupted();
            })
        .start();
    stage.publish(20);
    await().atMost(SOON).until(() -> stage.deadLetters() == 20);
    // None of them begins when its time is over already, on a busy machine.
    await().atMost(SOON).until(() -> source.givenBack().size() >= begun.get());
    assertThat(source.givenBack()).isNotEmpty().containsOnly("closed");
  }

  @Test
  @Tag("all")
  void h45_aBroadcastHandlerThatOverrunsIsCutOffAndCounted() throws Exception {
    Set<String> dropped = ConcurrentHashMap.newKeySet();
    var handled = new CopyOnWriteArrayList<Long>();
    Observer observer =
        event -> {
          if (event instanceof Event.BroadcastDropped said) {
            dropped.add(said.reason());
          }
          if (event instanceof Event.Handled said) {
            handled.add(said.about().id());
          }
        };
    var goOn = new CountDownLatch(1);
    var outcome = new CopyOnWriteArrayList<String>();
    try {
      var pgonce = stage.pgonce(PgOnce.builder(stage.dataSource).observer(observer));
      pgonce
          .listen(
              NEWS,
              // Time enough for the prompt one on a busy machine.
              BRIEF.withConcurrency(1).withHandlerTimeout(Duration.ofSeconds(4)),
              (news, tx) -> {
                if (news.payload().equals("late")) {
                  Unwilling.await(goOn);
                  try {
                    tx.update("insert into effect values (1, 'late')");
                    outcome.add("updated");
                  } catch (SQLException e) {
                    outcome.add(e.getMessage());
                  }
                } else {
                  tx.update("insert into effect values (2, 'in time')");
                }
              })
          .start();
      try (var connection = stage.dataSource.getConnection()) {
        pgonce.publisher().publish(connection, NEWS, "late");
        pgonce.publisher().publish(connection, NEWS, "prompt");
      }
      // The first is still stuck; its place went to the second.
      await().atMost(SOON).until(() -> handled.size() == 1);
      await().atMost(SOON).until(() -> activity(pgonce).stuck() == 1);
      assertThat(dropped).singleElement().asString().contains("4000 ms");
      goOn.countDown();
      await().atMost(SOON).until(() -> activity(pgonce).stuck() == 0);
      assertThat(outcome).singleElement().asString().contains("cut off");
      assertThat(stage.database.queryString("select string_agg(note, ',') from effect"))
          .isEqualTo("in time");
      assertThat(handled).hasSize(1);
    } finally {
      goOn.countDown();
    }
  }

  @Test
  void h45_aBroadcastHandlerThatOverrunsInAStatementKeepsNoLocks() throws Exception {
    var ended = new CountDownLatch(1);
    stage
        .pgonce()
        .listen(
            NEWS,
            BRIEF.withHandlerTimeout(Duration.ofSeconds(1)),
            (news, tx) -> {
              try {
                tx.update("insert into effect values (1, 'late')");
                tx.query("select pg_sleep(3600)", row -> 1);
              } finally {
                ended.countDown();
              }
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      stage.pgonce().publisher().publish(connection, NEWS, "late");
    }
    Stage.awaitSoon(ended);
    await().atMost(SOON).until(() -> stage.database.backends().running("pg_sleep(3600)").isEmpty());
    assertThat(stage.effects()).isZero();
  }
}
