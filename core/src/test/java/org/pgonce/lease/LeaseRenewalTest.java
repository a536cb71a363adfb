package org.pgonce.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/** A renewal of a lease that meets the end of the same lease. */
@PgTest(PgOnceInstalled.class)
class LeaseRenewalTest {

  private static final int ROUNDS = 4;
  private static final String APPLICATION = "renews";
  // Renewed each third of that.
  private static final Duration LEASE = Duration.ofSeconds(3);

  private static final String RENEW =
      "select pgonce.renew(d.subscription_id, array[d.id], array[d.token], %d) from pgonce.scheduled d where d.token is not null";

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  /** A renewal that has read which leases are held, and has not reached the server yet. */
  private record Renewal(Thread thread, CountDownLatch goesOn) {

    boolean isOver() {
      return Stream.of(thread.getStackTrace())
          .noneMatch(frame -> frame.getClassName().endsWith(".Renewals"));
    }
  }

  /** Stops renewals on their way, while it is armed. */
  private static final class RenewalGate implements TappedSource.Tap {

    private final AtomicBoolean armed = new AtomicBoolean();
    private final BlockingQueue<Renewal> stopped = new LinkedBlockingQueue<>();

    @Override
    public String passes(String sql, Connection real) throws SQLException {
      if (sql.contains("pgonce.renew(") && armed.compareAndSet(true, false)) {
        var renewal = new Renewal(Thread.currentThread(), new CountDownLatch(1));
        stopped.add(renewal);
        try {
          renewal.goesOn.await();
        } catch (InterruptedException e) {
          throw new SQLException(e);
        }
      }
      return sql;
    }

    Renewal awaitStopped() throws InterruptedException {
      var renewal = stopped.poll(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
      assertThat(renewal).as("a renewal on its way").isNotNull();
      return renewal;
    }
  }

  private static final class Endings implements Observer {
    private final List<Integer> handled = new CopyOnWriteArrayList<>();
    private final List<String> others = new CopyOnWriteArrayList<>();

    @Override
    public void on(Event event) {
      if (event instanceof Event.Handled said) {
        handled.add(said.about().attempt());
      } else if (event instanceof Event.Failed || event instanceof Event.Dead) {
        others.add(event.toString());
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"AT_LEAST_ONCE", "AT_MOST_ONCE"})
  @Tag("all")
  void h59_aRenewalThatMeetsTheAcknowledgementOfItsLeaseLosesNothing(Mode mode) throws Exception {
    var channel = Channel.of("calls", Order.class, mode);
    PgOnce.using(stage.dataSource).install(channel);
    var gate = new RenewalGate();
    var endings = new Endings();
    try (var proxy = FaultProxy.to(stage.database);
        var pool = pool(proxy)) {
      var inside = new LinkedBlockingQueue<CountDownLatch>();
      var pgonce =
          stage.pgonce(PgOnce.builder(TappedSource.over(pool, gate)).observer(endings).wakeUpBy());
      pgonce
          .listen(
              channel,
              QUICK.withLease(LEASE).withConcurrency(1),
              (call, tx) -> {
                if (call.payload().id() % 2 == 0) {
                  Stage.effect(call, tx);
                }
                var returns = new CountDownLatch(1);
                inside.add(returns);
                returns.await();
              })
          .start();
      var sessions = new HashSet<Integer>();
      for (var round = 1; round <= ROUNDS; round++) {
        gate.armed.set(true);
        publish(channel, round);
        var returns = inside.poll(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
        var renewal = gate.awaitStopped();
        var acknowledgement = proxy.holdAnswerTo("DELETE FROM pgonce.scheduled");
        returns.countDown();
        acknowledgement.awaitSprung(Stage.SOON);
        renewal.goesOn().countDown();
        // The renewal has asked for a row that is not there any more, before the handler's thread
        // hears that it has deleted it.
        stage.awaitSoon(renewal::isOver);
        acknowledgement.release();
        var done = round;
        stage.awaitSoon(() -> endings.handled.size() == done || !endings.others.isEmpty());
        assertThat(endings.others).isEmpty();
        assertThat(pgonce.status().channels().get(0).stuck()).isZero();
        var now = sessions();
        assertThat(now).as("sessions that are there still").containsAll(sessions);
        sessions.addAll(now);
      }
      assertThat(endings.handled).hasSize(ROUNDS).containsOnly(1);
      assertThat(stage.effects()).isEqualTo(ROUNDS / 2);
    }
  }

  /** The other listener would take the row as soon as its lease is over. */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"AT_LEAST_ONCE", "AT_MOST_ONCE"})
  @Tag("all")
  void h60_aRenewalWhoseConnectionIsLostCostsNoLease(Mode mode) throws Exception {
    var channel = Channel.of("calls", Order.class, mode);
    PgOnce.using(stage.dataSource).install(channel);
    var options = QUICK.withLease(LEASE.multipliedBy(2)).withConcurrency(1);
    var endings = new Endings();
    var calls = new AtomicInteger();
    var returns = new CountDownLatch(1);
    try (var proxy = FaultProxy.to(stage.database);
        var pool = pool(proxy)) {
      stage
          .pgonce(PgOnce.builder(pool).observer(endings))
          .listen(
              channel,
              options,
              (call, tx) -> {
                calls.incrementAndGet();
                returns.await();
              })
          .start();
      var lost = proxy.holdAnswerTo("pgonce.renew(");
      publish(channel, 1);
      stage.awaitSoon(() -> calls.get() == 1);
      stage
          .pgonce(PgOnce.builder(stage.dataSource).observer(endings))
          .listen(channel, options, (call, tx) -> calls.incrementAndGet())
          .start();
      var leasedUntil = leasedUntil();
      lost.awaitSprung(Stage.SOON);
      stage.awaitSoon(() -> leasedUntil() != leasedUntil);
      returns.countDown();
      stage.awaitNothingWaits();
      stage.awaitSoon(() -> endings.handled.size() + endings.others.size() > 0);
      assertThat(endings.others).isEmpty();
      assertThat(endings.handled).containsExactly(1);
      assertThat(calls).hasValue(1);
    }
  }

  /** Each third of a lease from there on would be too late. */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void h65_aLeaseWhoseAnswerComesLateIsRenewedBeforeItsHandlerBegins(Mode mode) throws Exception {
    var channel = Channel.of("calls", Order.class, mode);
    PgOnce.using(stage.dataSource).install(channel);
    var left = new CompletableFuture<Long>();
    try (var proxy = FaultProxy.to(stage.database);
        var pool = pool(proxy)) {
      stage
          .pgonce(pool)
          .listen(
              channel, QUICK.withLease(LEASE.multipliedBy(2)), (call, tx) -> left.complete(left()))
          .start();
      var answer = proxy.holdAnswerTo("pgonce.lease(");
      publish(channel, 1);
      answer.awaitSprung(Stage.SOON);
      var leased = System.nanoTime();
      stage.awaitSoon(() -> System.nanoTime() - leased > LEASE.toNanos() * 3 / 2);
      answer.release();
      assertThat(left.get(Stage.SOON.toSeconds(), TimeUnit.SECONDS))
          .isGreaterThan(LEASE.toMillis());
      stage.awaitNothingWaits();
    }
    assertThat(stage.deadLetters()).isZero();
  }

  /** Milliseconds of the lease. */
  private long left() throws SQLException {
    return stage.database.queryLong(
        "select (extract(epoch from due_at - clock_timestamp()) * 1000)::bigint from pgonce.scheduled where token is not null");
  }

  private long leasedUntil() throws SQLException {
    return stage.database.queryLong(
        "select coalesce(max((extract(epoch from due_at) * 1000)::bigint), 0) from pgonce.scheduled where subscription_id > 0");
  }

  private HikariDataSource pool(FaultProxy proxy) {
    var login = stage.database.login().through(proxy);
    var pool = new HikariDataSource();
    pool.setJdbcUrl(login.jdbcUrl() + "?ApplicationName=" + APPLICATION);
    pool.setUsername(login.user());
    pool.setPassword(login.password());
    pool.setMaximumPoolSize(6);
    return pool;
  }

  private List<Integer> sessions() throws SQLException {
    return stage.database.backends().named(APPLICATION);
  }

  private void publish(Channel<Order> channel, long id) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, channel, new Order(id, "item"));
    }
  }

  /** Of a row with a key, too: else it returns at once, with nothing prolonged. */
  @ParameterizedTest
  @EnumSource(KeyOrder.class)
  void h65_aRenewalWaitsForOneThatGotNoAnswer(KeyOrder order) throws Exception {
    var ordered = ChannelOptions.DEFAULT.withOrder(order);
    PgOnce.using(stage.dataSource)
        .install(Channel.of("calls", Order.class, Mode.AT_LEAST_ONCE, ordered));
    stage.database.execute(
        "select pgonce.publish('calls', '{\"id\": 1, \"item\": \"x\"}', order_key => 'k');"
            + " select pgonce.lease(s.id, false, gen_random_uuid(), 20000, 10, '"
            + order
            + "', 'AT_LEAST_ONCE') from pgonce.subscription s where s.of_channel = 'calls'");
    try (var frozen = stage.database.dataSource().getConnection();
        var statement = frozen.createStatement()) {
      frozen.setAutoCommit(false);
      statement.execute(RENEW.formatted(25_000));
      var next =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  stage.database.execute(RENEW.formatted(600_000));
                  return "";
                } catch (SQLException e) {
                  return e.getMessage();
                }
              });
      stage.awaitSoon(
          () ->
              next.isDone()
                  || stage.database.queryLong(
                          "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
                      == 1);
      assertThat(next).as("it waits").isNotDone();
      frozen.rollback();
      assertThat(next.get(30, TimeUnit.SECONDS)).isEmpty();
    }
  }
}
