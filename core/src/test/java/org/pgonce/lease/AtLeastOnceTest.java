package org.pgonce.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import java.lang.reflect.Proxy;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.Status;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * AT_LEAST_ONCE within one process; its column of the crash matrix is in CrashMatrixHandlerTest.
 */
@PgTest(PgOnceInstalled.class)
class AtLeastOnceTest {

  private static final Channel<Order> CALLS = Channel.of("calls", Order.class, Mode.AT_LEAST_ONCE);
  // A busy machine does not use it up between two renewals.
  private static final ListenOptions SHORT = QUICK.withLease(Duration.ofSeconds(5));

  private static final String LEASED =
      "select count(*) from pgonce.scheduled where token is not null";

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(CALLS);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private void publish(long... ids) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      for (var id : ids) {
        Publisher.standard().publish(connection, CALLS, new Order(id, "item"));
      }
    }
  }

  /** A call to another system: it takes its time, and no connection is held meanwhile. */
  @Test
  void example_aCallToAnotherSystemHoldsNoTransaction() throws Exception {
    var keys = new CopyOnWriteArrayList<String>();
    var calling = new CountDownLatch(1);
    var answer = new CountDownLatch(1);
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            CALLS,
            (call, tx) -> {
              keys.add(call.deliveryKey()); // the other side drops repeats by it
              calling.countDown();
              answer.await();
            })
        .start();
    publish(1);
    Stage.awaitSoon(calling);
    assertThat(stage.database.queryLong(LEASED)).isEqualTo(1);
    // A scan is in a transaction for a moment, and not for as long as the call takes.
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select count(*) from pg_stat_activity where datname = current_database()"
                        + " and state like 'idle in transaction%'")
                == 0);
    answer.countDown();
    stage.awaitNothingWaits();
    assertThat(keys).hasSize(1);
  }

  @Test
  void whatTheHandlerWritesCommitsWithTheEndOfTheLease() throws Exception {
    var attempts = new AtomicInteger();
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            CALLS,
            QUICK,
            (call, tx) -> {
              Stage.effect(call, tx);
              if (attempts.incrementAndGet() == 1) {
                throw new IllegalStateException("after its write");
              }
            })
        .start();
    publish(1);
    stage.awaitNothingWaits();
    assertThat(stage.database.queryString("select string_agg(note, ' ') from effect"))
        .isEqualTo("attempt 2");
  }

  @Test
  void s9_aLeaseIsRenewedWhileItsHandlerRuns() throws Exception {
    var calls = new AtomicInteger();
    var end = new CountDownLatch(1);
    for (var listener = 0; listener < 2; listener++) {
      stage
          .pgonce()
          .listen(
              CALLS,
              SHORT,
              (call, tx) -> {
                calls.incrementAndGet();
                end.await();
              })
          .start();
    }
    publish(1);
    stage.awaitSoon(() -> calls.get() == 1);
    var before =
        stage.database.queryString(
            "select due_at::text from pgonce.scheduled where token is not null");
    // A term later it is the same claim.
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select count(*) from pgonce.scheduled where due_at > '"
                        + before
                        + "'::timestamptz + interval '5 s' and attempts = 1")
                == 1);
    assertThat(calls).hasValue(1);
    end.countDown();
    stage.awaitNothingWaits();
    assertThat(calls).hasValue(1);
  }

  /** They compute: virtual threads, which JDK 21 and later have, would keep the processors. */
  @Test
  void s9_leasesAreRenewedWhileHandlersKeepAllProcessorsBusy() throws Exception {
    var busy = Runtime.getRuntime().availableProcessors();
    var begun = new CountDownLatch(busy);
    var end = new AtomicBoolean();
    stage
        .pgonce()
        .listen(
            CALLS,
            SHORT.withConcurrency(busy),
            (call, tx) -> {
              begun.countDown();
              while (!end.get()) {
                Thread.onSpinWait();
              }
            })
        .start();
    try {
      publish(LongStream.rangeClosed(1, busy).toArray());
      Stage.awaitSoon(begun);
      var first =
          stage.database.queryString(
              "select max(due_at)::text from pgonce.scheduled where token is not null");
      stage.awaitSoon(
          () ->
              stage.database.queryLong(
                      "select count(*) from pgonce.scheduled where token is not null and due_at > '"
                          + first
                          + "' and attempts = 1")
                  == busy);
    } finally {
      end.set(true);
    }
    stage.awaitNothingWaits();
  }

  @Tag("all")
  @Test
  void s9_aRenewalThatFailsIsTriedAgainWhileTheLeaseHolds() throws Exception {
    var calls = new AtomicInteger();
    var end = new CountDownLatch(1);
    try (var proxy = FaultProxy.to(stage.database);
        var pool = stage.database.login().through(proxy).pooled(4)) {
      var cut = proxy.cutBeforeForwarding("pgonce.renew(");
      var pgonce = stage.pgonce(pool);
      pgonce
          .listen(
              CALLS,
              SHORT,
              (call, tx) -> {
                calls.incrementAndGet();
                end.await();
              })
          .start();
      publish(1);
      stage.awaitSoon(() -> calls.get() == 1);
      var before =
          stage.database.queryString(
              "select due_at::text from pgonce.scheduled where token is not null");
      cut.awaitSprung(Stage.SOON);
      stage.awaitSoon(
          () ->
              stage.database.queryLong(
                      "select count(*) from pgonce.scheduled where due_at > '"
                          + before
                          + "'::timestamptz and attempts = 1")
                  == 1);
      end.countDown();
      stage.awaitNothingWaits();
      pgonce.close();
    } finally {
      end.countDown();
    }
    assertThat(calls).hasValue(1);
  }

  @Test
  void h46_itFailsAsOftenAsItMayAndBecomesADeadLetter() throws Exception {
    var attempts = new CopyOnWriteArrayList<Integer>();
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            CALLS,
            QUICK,
            (call, tx) -> {
              attempts.add(call.attempt());
              throw new IllegalStateException("always");
            })
        .start();
    publish(1);
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(attempts).containsExactly(1, 2, 3);
    assertThat(
            stage.database.queryString(
                "select reason || ' ' || attempts || ' ' || error from pgonce.dead_letter"))
        .isEqualTo("ATTEMPTS_USED_UP 3 java.lang.IllegalStateException: always");
  }

  /** As where a release allows fewer attempts than the one before. */
  @Test
  void h46_whatHasFailedAsOftenAsItMayByNowKeepsItsError() throws Exception {
    publish(1);
    stage.database.execute(
        """
        with failed as (delete from pgonce.notification where subscription_id > 0 returning *)
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, last_error, payload)
        select subscription_id, id, now(), 5, created_at, 'as always', payload from failed
        """);
    stage.pgonce().listen(CALLS, QUICK, (call, tx) -> {}).start();
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(
            stage.database.queryString(
                "select reason || ' ' || attempts || ' ' || error from pgonce.dead_letter"))
        .isEqualTo("ATTEMPTS_USED_UP 5 as always");
  }

  @Test
  void h45_aHandlerThatDoesNotReturnIsCutOffAndItsAttemptCounted() throws Exception {
    var attempts = new CopyOnWriteArrayList<Integer>();
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            CALLS,
            QUICK.withHandlerTimeout(Duration.ofSeconds(1)),
            (call, tx) -> {
              attempts.add(call.attempt());
              if (call.attempt() == 1) {
                new CountDownLatch(1).await();
              }
            })
        .start();
    publish(1);
    stage.awaitNothingWaits();
    // A later one may have been cut off as well, where the machine was busy.
    assertThat(attempts).startsWith(1, 2);
  }

  @Test
  void h85_whatAStoppedListenerHadBegunGoesBackUncounted() throws Exception {
    var begun = new CountDownLatch(1);
    var first = stage.pgonce();
    first
        .listen(
            CALLS,
            (call, tx) -> {
              begun.countDown();
              new CountDownLatch(1).await();
            })
        .start();
    publish(1);
    Stage.awaitSoon(begun);
    assertThat(first.stop(Duration.ZERO)).isFalse();
    assertThat(
            stage.database.queryString(
                "select attempts || ' ' || coalesce(token::text, 'free') from pgonce.scheduled where subscription_id > 0"))
        .isEqualTo("0 free");
    var attempts = new CopyOnWriteArrayList<Integer>();
    stage.pgonce().listen(CALLS, (call, tx) -> attempts.add(call.attempt())).start();
    stage.awaitNothingWaits();
    assertThat(attempts).isEqualTo(List.of(1));
  }

  @Test
  void h85_whatIsLeasedWhileItStopsIsGivenBackUnhandledAndUncounted() throws Exception {
    try (var proxy = FaultProxy.to(stage.database);
        var pool = stage.database.login().through(proxy).pooled(3)) {
      var handled = new AtomicInteger();
      var pgonce = stage.pgonce(PgOnce.builder(pool).wakeUpBy());
      pgonce.listen(CALLS, QUICK, (call, tx) -> handled.incrementAndGet()).start();
      var lease = proxy.holdAnswerTo("pgonce.lease(");
      publish(1);
      lease.awaitSprung(Stage.SOON);
      // With more time than it takes: it is stopping until the answer comes.
      var stopping = CompletableFuture.supplyAsync(() -> stopped(pgonce));
      stage.awaitSoon(() -> pgonce.status().state() == Status.State.STOPPING);
      lease.release();
      assertThat(stopping.get(Stage.SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
      assertThat(handled).hasValue(0);
      // Leased and given back, or never taken: free either way, and not in a lease's time only.
      assertThat(stage.waiting()).isEqualTo(1);
      assertThat(
              stage.database.queryLong(
                  "select count(*) from pgonce.scheduled where subscription_id > 0 and (token is not null or attempts > 0)"))
          .isZero();
    }
  }

  private static boolean stopped(PgOnce pgonce) {
    try {
      return pgonce.stop(Stage.SOON);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A cancellation for another subscription, in a transaction that goes on for long. */
  @ParameterizedTest
  @EnumSource(names = {"AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void h48_whatHasEndedWaitsForItsDeliveryKeyAndDoesNotRunAgain(Mode mode) throws Exception {
    var subscribed = ChannelOptions.DEFAULT.withSubscriptions("here", "elsewhere");
    var channel = Channel.of("keyed", Order.class, mode, subscribed);
    PgOnce.using(stage.dataSource).install(channel);
    var runs = new AtomicInteger();
    var begun = new CountDownLatch(1);
    var end = new CountDownLatch(1);
    stage
        .pgonce()
        .listen(
            channel,
            "here",
            ListenOptions.DEFAULT,
            (call, tx) -> {
              runs.incrementAndGet();
              begun.countDown();
              end.await();
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      var keyed = PublishOptions.DEFAULT.withDeliveryKey("order-1");
      Publisher.standard().publish(connection, channel, new Order(1, "item"), keyed);
      Stage.awaitSoon(begun);
      connection.setAutoCommit(false);
      try (var statement = connection.createStatement()) {
        statement.execute(
            "select pgonce.cancel('keyed', delivery_keys => array['order-1'], subscription_name => 'elsewhere')");
      }
      end.countDown();
      var waits =
          "select count(distinct pid) from pg_locks where not granted and locktype = 'transactionid'";
      stage.awaitSoon(() -> stage.database.queryLong(waits) == 1);
      stage.awaitSoon(() -> stage.database.queryLong(waits) == 0);
      connection.commit();
    }
    stage.awaitNothingWaits();
    // A try that waited for the cancellation leaves its row to the housekeeping: the key is free.
    assertThat(
            stage.database.queryLong("select coalesce(sum(waiting), 0) from pgonce.delivery_key"))
        .isZero();
    assertThat(runs).hasValue(1);
    assertThat(stage.deadLetters()).isZero();
  }

  @Test
  void h3_aLongPayloadIsFetched() throws Exception {
    var length = new AtomicInteger();
    var pgonce = stage.pgonce();
    pgonce.listen(CALLS, (call, tx) -> length.set(call.payload().item().length())).start();
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, CALLS, new Order(1, "x".repeat(6_000_000)));
    }
    stage.awaitNothingWaits();
    assertThat(length).hasValue(6_000_000);
  }

  /** The pool has none to give, and the handler, or a wrapper around it, passes over that. */
  @Test
  void h43_aHandlerThatGoesOnWithoutItsTransactionHasFailed() throws Exception {
    var isUsedUp = new ThreadLocal<Boolean>();
    var pool =
        (DataSource)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {DataSource.class},
                (proxy, method, args) -> {
                  if (isUsedUp.get() != null) {
                    throw new SQLTransientConnectionException("none is left");
                  }
                  return method.invoke(stage.dataSource, args);
                });
    var attempts = new AtomicInteger();
    stage
        .pgonce(PgOnce.builder(pool))
        .listen(
            CALLS,
            QUICK,
            (order, tx) -> {
              attempts.incrementAndGet();
              if (order.attempt() == 1) {
                isUsedUp.set(true);
                try {
                  tx.connection();
                } catch (SQLException e) {
                  return;
                } finally {
                  isUsedUp.remove();
                }
              }
              Stage.effect(order, tx);
            })
        .start();
    publish(1);
    stage.awaitNothingWaits();
    assertThat(attempts).hasValue(2);
    assertThat(stage.effects()).isEqualTo(1);
  }
}
