package org.pgonce.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;
import static org.pgonce.stage.Stage.SOON;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.Status;
import org.pgonce.handler.Unwilling;
import org.pgonce.spi.Event;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** How a listener ends: within its time, whoever else does not keep to theirs. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class StopTest {

  private static final Channel<String> NEWS = Channel.of("news", String.class, Mode.BROADCAST);

  // What PgOnce.stop takes beyond its deadline at most, and something for a busy machine.
  private static final Duration GRACE = Duration.ofSeconds(5).plusSeconds(5);

  private final CountDownLatch goOn = new CountDownLatch(1);
  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void tearDown() {
    goOn.countDown();
    stage.close();
    // Nor does a thread outlive it, even one that still had something to tell a database in vain.
    awaitNoWorkers();
  }

  /** Stops on a thread of its own; what it returned, or how it failed. */
  private static CompletableFuture<Boolean> stopping(PgOnce pgonce, Duration deadline) {
    var result = new CompletableFuture<Boolean>();
    var thread =
        new Thread(
            () -> {
              try {
                result.complete(pgonce.stop(deadline));
              } catch (InterruptedException | RuntimeException e) {
                result.completeExceptionally(e);
              }
            },
            "stopping");
    thread.setDaemon(true);
    thread.start();
    return result;
  }

  private PgOnce busyOverProxy(FaultProxy proxy) throws Exception {
    var pool = stage.database.login().through(proxy).pooled(6);
    var inside = new CountDownLatch(4);
    var pgonce = stage.pgonce(pool);
    pgonce
        .listen(
            ORDERS,
            QUICK.withConcurrency(4),
            (order, tx) -> {
              inside.countDown();
              tx.query("select pg_sleep(3600)", row -> 1);
            })
        .start();
    stage.publish(4);
    Stage.awaitSoon(inside);
    await()
        .atMost(SOON)
        .until(() -> stage.database.backends().running("pg_sleep(3600)").size() == 4);
    return pgonce;
  }

  @Test
  void h85_aFrozenServerDoesNotHoldUpTheStop() throws Exception {
    try (var proxy = FaultProxy.to(stage.database)) {
      var pgonce = busyOverProxy(proxy);
      proxy.stall();
      var stop = stopping(pgonce, Duration.ofMillis(300));
      assertThat(stop.get(GRACE.plusMillis(300).toMillis(), TimeUnit.MILLISECONDS)).isFalse();
      assertThat(pgonce.status().state()).isEqualTo(Status.State.STOPPED);
      // Not only has it stopped waiting: the handlers come out of their calls, with no server.
      await().atMost(SOON).until(() -> pgonce.status().channels().get(0).working() == 0);
    }
  }

  private static void awaitNoWorkers() {
    await("end of the workers")
        .atMost(SOON)
        .untilAsserted(() -> assertThat(workers()).as("workers and where they are").isEmpty());
  }

  private static Map<Thread, List<StackTraceElement>> workers() {
    return Thread.getAllStackTraces().entrySet().stream()
        .filter(one -> one.getKey().getName().startsWith("pgonce-worker"))
        .collect(Collectors.toMap(Map.Entry::getKey, one -> List.of(one.getValue())));
  }

  @Test
  void h85_aScanThatWaitsForAConnectionDoesNotOutliveTheStop() throws Exception {
    var pool = stage.database.pooled(1);
    var pgonce = stage.pgonce(pool).listen(ORDERS, Stage::effect);
    pgonce.start();
    try (var taken = pool.getConnection()) {
      await()
          .atMost(SOON)
          .until(() -> pool.getHikariPoolMXBean().getThreadsAwaitingConnection() > 0);
      pgonce.stop(Duration.ofMillis(100));
      awaitNoWorkers();
      assertThat(taken.isClosed()).isFalse();
    }
  }

  @Tag("all")
  @Test
  void h85_aPollThatIsNotAnsweredDoesNotHoldUpTheStopAndEndsByItsBound() throws Exception {
    try (var proxy = FaultProxy.to(stage.database)) {
      var pool = stage.database.login().through(proxy).pooled(2);
      var pgonce = stage.pgonce(PgOnce.builder(pool).wakeUpBy()).listen(ORDERS, Stage::effect);
      pgonce.start();
      proxy.holdAnswerTo("pgonce.poll(").awaitSprung(SOON);
      var stop = stopping(pgonce, Duration.ofMillis(100));
      stop.get(GRACE.plusMillis(100).toMillis(), TimeUnit.MILLISECONDS);
      awaitNoWorkers();
    }
  }

  /** Such as one behind its last row: its claim has no handler to interrupt. */
  @Test
  void h85_aWorkerWithoutAHandlerIsNotOneThatWasInterrupted() throws Exception {
    try (var proxy = FaultProxy.to(stage.database)) {
      var pool = stage.database.login().through(proxy).pooled(4);
      var pgonce = stage.pgonce(pool).listen(ORDERS, Stage::effect).start();
      var claim = proxy.holdAnswerTo("FOR UPDATE SKIP LOCKED");
      stage.publish(1);
      claim.awaitSprung(SOON);
      assertThat(pgonce.status().channels().get(0).working()).isEqualTo(1);
      assertThat(pgonce.stop(Duration.ZERO)).isTrue();
    }
  }

  @Test
  void h85_aServerThatIsDownDoesNotHoldUpTheStop() throws Exception {
    try (var proxy = FaultProxy.to(stage.database)) {
      var pgonce = busyOverProxy(proxy);
      proxy.refuseConnections();
      var stop = stopping(pgonce, Duration.ofMillis(300));
      assertThat(stop.get(GRACE.plusMillis(300).toMillis(), TimeUnit.MILLISECONDS)).isFalse();
      assertThat(pgonce.status().channels().get(0).working()).isZero();
    }
  }

  @Test
  void h85_releasedHandlersAreEndedInTheServerToo() throws Exception {
    try (var proxy = FaultProxy.to(stage.database)) {
      var pgonce = busyOverProxy(proxy);
      assertThat(pgonce.stop(Duration.ofMillis(100))).isFalse();
      assertThat(stage.database.queryLong("select count(*) from pgonce.listener")).isZero();
      assertThat(stage.deadLetters()).isZero();
      // The server has been told; its processes take a moment.
      await()
          .atMost(SOON)
          .until(() -> stage.database.backends().running("pg_sleep(3600)").isEmpty());
    }
  }

  @Test
  void h85_whatCannotBeSaidOfOneHandlerIsSaidOfTheOthersAndOnlyThatIsTold() throws Exception {
    var once = Channel.of("once", Order.class, Mode.AT_MOST_ONCE);
    PgOnce.using(stage.dataSource).install(once);
    stage.database.execute(
        """
        create function refuse() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$;
        create trigger refuse before insert on pgonce.dead_letter for each row when (new.payload ->> 'id' = '2') execute function refuse();
        """);
    var told = new CopyOnWriteArrayList<Long>();
    var inside = new CountDownLatch(3);
    var pgonce =
        stage.pgonce(
            PgOnce.builder(stage.dataSource)
                .observer(
                    event -> {
                      if (event instanceof Event.Dead said) {
                        told.add(said.about().id());
                      }
                    }));
    pgonce
        .listen(
            once,
            QUICK.withConcurrency(3),
            (order, tx) -> {
              inside.countDown();
              goOn.await();
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard()
          .publishAll(
              connection, once, List.of(new Order(1, "x"), new Order(2, "x"), new Order(3, "x")));
    }
    Stage.awaitSoon(inside);
    assertThat(pgonce.stop(Duration.ZERO)).isFalse();
    assertThat(
            stage.database.queryString(
                "select string_agg(payload ->> 'id', ',' order by id) from pgonce.dead_letter"))
        .isEqualTo("1,3");
    assertThat(
            stage.database.queryString(
                "select string_agg(id::text, ',' order by id) from pgonce.dead_letter"))
        .isEqualTo(told.stream().sorted().map(String::valueOf).collect(Collectors.joining(",")));
  }

  /** Its claim was given up once, so its only attempt is counted before it begins. */
  @Test
  void h85_whatIsReleasedHasItsAttemptBackThoughItWasCountedAhead() throws Exception {
    stage.publish(1);
    try (var connection = stage.dataSource.getConnection();
        var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute("select from pgonce.notification where subscription_id > 0 for update");
      connection.rollback();
    }
    var inside = new CountDownLatch(1);
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            ORDERS,
            QUICK.withMaxAttempts(1),
            (order, tx) -> {
              inside.countDown();
              tx.query("select pg_sleep(3600)", row -> 1);
            })
        .start();
    Stage.awaitSoon(inside);
    assertThat(
            stage.database.queryLong(
                "select attempts from pgonce.scheduled where subscription_id > 0"))
        .isEqualTo(1);
    assertThat(pgonce.stop(Duration.ZERO)).isFalse();
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.scheduled where subscription_id > 0 and attempts = 0 and token is null"))
        .isEqualTo(1);
    stage.pgonce().listen(ORDERS, QUICK.withMaxAttempts(1), Stage::effect).start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(1)).isTrue();
  }

  @Test
  void h85_stopWaitsForBroadcastHandlers() throws Exception {
    var inside = new CountDownLatch(1);
    var pgonce = stage.pgonce().install(NEWS);
    pgonce
        .listen(
            NEWS,
            (news, tx) -> {
              inside.countDown();
              goOn.await();
              tx.update("insert into effect values (1, 'news')");
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, NEWS, "one");
    }
    Stage.awaitSoon(inside);
    var stop = stopping(pgonce, Duration.ofSeconds(30));
    await().atMost(SOON).until(() -> pgonce.status().state() == Status.State.STOPPING);
    goOn.countDown();
    assertThat(stop.get(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(stage.effects()).isEqualTo(1);
  }

  @Test
  void h85_broadcastHandlersThatOverrunTheStopAreCutOff() throws Exception {
    var inside = new CountDownLatch(2);
    var outcome = new CopyOnWriteArrayList<String>();
    var pgonce = stage.pgonce().install(NEWS);
    pgonce
        .listen(
            NEWS,
            QUICK.withConcurrency(2),
            (news, tx) -> {
              if (news.payload().equals("willing")) {
                tx.update("insert into effect values (1, 'before the stop')");
                inside.countDown();
                try {
                  new CountDownLatch(1).await();
                } finally {
                  outcome.add("interrupted");
                }
              } else {
                inside.countDown();
                Unwilling.await(goOn);
                try {
                  tx.update("insert into effect values (1, 'after the stop')");
                } finally {
                  outcome.add("went on");
                }
              }
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, NEWS, "willing");
      pgonce.publisher().publish(connection, NEWS, "unwilling");
    }
    Stage.awaitSoon(inside);
    var stop = stopping(pgonce, Duration.ofMillis(200));
    assertThat(stop.get(GRACE.toMillis(), TimeUnit.MILLISECONDS)).isFalse();
    assertThat(outcome).containsExactly("interrupted");
    goOn.countDown();
    await().atMost(SOON).until(() -> outcome.size() == 2);
    await().atMost(SOON).until(() -> pgonce.status().channels().get(0).working() == 0);
    assertThat(stage.effects()).isZero();
  }

  private PgOnce waitingHandler(AtomicReference<String> end) throws Exception {
    var inside = new CountDownLatch(1);
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              inside.countDown();
              try {
                goOn.await();
                end.set("by itself");
              } catch (InterruptedException e) {
                end.set("interrupted");
                throw e;
              }
            })
        .start();
    stage.publish(1);
    Stage.awaitSoon(inside);
    return pgonce;
  }

  @Test
  void h85_aStopThatIsInterruptedReleasesTheHandlersAtOnce() throws Exception {
    var end = new AtomicReference<String>();
    var pgonce = waitingHandler(end);
    var thrown = new CompletableFuture<Throwable>();
    var stopping =
        new Thread(
            () -> {
              try {
                pgonce.stop(Duration.ofHours(1));
                thrown.complete(new AssertionError("it was not interrupted"));
              } catch (InterruptedException e) {
                thrown.complete(e);
              }
            });
    stopping.start();
    await().atMost(SOON).until(() -> stopping.getState() == Thread.State.TIMED_WAITING);
    await().atMost(SOON).until(() -> pgonce.status().state() == Status.State.STOPPING);
    stopping.interrupt();
    assertThat(thrown.get(SOON.toSeconds(), TimeUnit.SECONDS))
        .isInstanceOf(InterruptedException.class);
    assertThat(end.get()).isEqualTo("interrupted");
    assertThat(pgonce.status().state()).isEqualTo(Status.State.STOPPED);
    assertThat(stage.database.queryLong("select count(*) from pgonce.listener")).isZero();
    assertThat(pgonce.stop(Duration.ofSeconds(1))).isFalse();
  }

  @Test
  void h85_aDeadlineWithoutEndIsADeadline() throws Exception {
    var end = new AtomicReference<String>();
    var pgonce = waitingHandler(end);
    var stop = stopping(pgonce, Duration.ofSeconds(Long.MAX_VALUE));
    await().atMost(SOON).until(() -> pgonce.status().state() == Status.State.STOPPING);
    goOn.countDown();
    assertThat(stop.get(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(end.get()).isEqualTo("by itself");
    assertThat(stage.database.queryLong("select count(*) from pgonce.listener")).isZero();
  }

  @Test
  void h85_aLaterStopWithAnEarlierDeadlineCounts() throws Exception {
    var end = new AtomicReference<String>();
    var pgonce = waitingHandler(end);
    var first = stopping(pgonce, Duration.ofHours(1));
    await().atMost(SOON).until(() -> pgonce.status().state() == Status.State.STOPPING);
    assertThat(stopping(pgonce, Duration.ofMillis(100)).get(SOON.toSeconds(), TimeUnit.SECONDS))
        .isFalse();
    // Both learn the same.
    assertThat(first.get(SOON.toSeconds(), TimeUnit.SECONDS)).isFalse();
    assertThat(end.get()).isEqualTo("interrupted");
    assertThat(pgonce.stop(Duration.ofSeconds(1))).isFalse();
  }

  @Test
  void h85_aHandlerThatStopsItsOwnListenerIsToldSo() throws Exception {
    var told = new CompletableFuture<Throwable>();
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              try {
                pgonce.close();
                told.complete(new AssertionError("it stopped"));
              } catch (IllegalStateException e) {
                told.complete(e);
              }
              Stage.effect(order, tx);
            })
        .start();
    stage.publish(1);
    assertThat(told.get(SOON.toSeconds(), TimeUnit.SECONDS))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("from a handler")
        .hasMessageContaining("another thread");
    // It goes on as if nothing had been said.
    await().atMost(SOON).until(() -> stage.effects() == 1);
    assertThat(pgonce.status().state()).isEqualTo(Status.State.RUNNING);
    assertThat(pgonce.stop(Duration.ofSeconds(5))).isTrue();
  }

  @Test
  void h85_whatIsClaimedWhileItStopsIsGivenBackUnhandled() throws Exception {
    try (var proxy = FaultProxy.to(stage.database)) {
      var pool = stage.database.login().through(proxy).pooled(3);
      var handled = new AtomicInteger();
      var pgonce = stage.pgonce(PgOnce.builder(pool).wakeUpBy());
      pgonce.listen(ORDERS, QUICK, (order, tx) -> handled.incrementAndGet()).start();
      var claim = proxy.holdAnswerTo("FOR UPDATE SKIP LOCKED");
      stage.publish(1);
      claim.awaitSprung(SOON);
      var stop = stopping(pgonce, SOON);
      await().atMost(SOON).until(() -> pgonce.status().state() == Status.State.STOPPING);
      claim.release();
      assertThat(stop.get(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
      assertThat(handled.get()).isZero();
      assertThat(stage.claimable()).isEqualTo(1);
    }
  }
}
