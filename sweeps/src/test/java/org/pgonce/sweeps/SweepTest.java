package org.pgonce.sweeps;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.DeliveryKey;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.Tx;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** S9: what is overdue is published once, however many sweep for it. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class SweepTest {

  record Overdue(long todo) {}

  private static final Channel<Overdue> OVERDUE =
      Channel.of(
          "overdue",
          Overdue.class,
          Mode.AT_LEAST_ONCE,
          ChannelOptions.DEFAULT.withKeyMemory(Duration.ofDays(1)));
  private static final String FIND = "select id from todo where due_at < now() order by random()";
  private static final Tx.RowMapper<Message<Overdue>> MESSAGE =
      row ->
          new Message<>(
              new Overdue(row.getLong(1)),
              PublishOptions.DEFAULT.withDeliveryKey(DeliveryKey.of("todo", row.getString(1))));

  private static final String WAITING_FOR_A_LOCK =
      "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

  private static final String SESSION = "select count(*) from pg_stat_activity where pid = %d";

  private static final Duration OFTEN = Duration.ofMillis(100);

  private final List<Sweep<?>> opened = new ArrayList<>();
  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(OVERDUE);
    database.execute("create table todo (id bigint, due_at timestamptz)");
    database.execute(
        "insert into todo select g, now() - interval '1 hour' from generate_series(1, 20) g; insert into todo values (21, 'infinity')");
  }

  @AfterEach
  void tearDown() {
    opened.forEach(Sweep::close);
    stage.close();
  }

  /** One that does not run by itself yet; closed after the test. */
  private <T> Sweep<T> sweep(Channel<T> channel, String sql, Tx.RowMapper<Message<T>> mapper) {
    var sweep = Sweep.of(stage.dataSource, Publisher.standard(), channel, sql, mapper);
    opened.add(sweep);
    return sweep;
  }

  private Sweep<Overdue> sweepOften() {
    return sweep(OVERDUE, FIND, MESSAGE).every(OFTEN);
  }

  private static void effect(Notification<Overdue> overdue, Tx tx) throws SQLException {
    tx.update("insert into effect values (?, ?)", overdue.payload().todo(), overdue.deliveryKey());
  }

  @Test
  void example_oneNotificationPerOverdueTodo() throws Exception {
    stage.pgonce().listen(OVERDUE, SweepTest::effect).start();
    try (var sweep =
        Sweep.of(
            stage.dataSource,
            Publisher.standard(),
            OVERDUE,
            "select id from todo where due_at < now()",
            row ->
                new Message<>(
                    new Overdue(row.getLong("id")),
                    PublishOptions.DEFAULT.withDeliveryKey(
                        DeliveryKey.of("todo", row.getString("id")))))) {
      sweep.every(Duration.ofMillis(100));
      stage.awaitSoon(() -> stage.effects() == 20);
      stage.database.execute("insert into todo values (22, now())"); // found by a later run
      stage.awaitSoon(() -> stage.effects() == 21);
      assertThat(sweep.run()).isZero();
    }
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(21)).isTrue();
  }

  @Test
  void s09_aHundredOverlappingSweepsPublishEachOnce() throws Exception {
    stage.pgonce().listen(OVERDUE, SweepTest::effect).start();
    var threads = Executors.newFixedThreadPool(10);
    try {
      var runs = new ArrayList<Callable<Long>>();
      for (var instance = 0; instance < 10; instance++) {
        var sweep = sweep(OVERDUE, FIND, MESSAGE).every(Duration.ofMillis(200));
        for (var run = 0; run < 10; run++) {
          runs.add(sweep::run);
        }
      }
      for (var run : threads.invokeAll(runs)) {
        run.get();
      }
    } finally {
      threads.shutdownNow();
    }
    stage.awaitSoon(() -> stage.effects() >= 20);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(20)).isTrue();
  }

  @Test
  void s09_aRunThatFailsIsToldAndTheNextOneRuns() throws Exception {
    stage.database.execute("alter table todo rename to gone");
    var sweep = sweepOften();
    assertThatThrownBy(sweep::run)
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("cannot sweep for channel overdue")
        .hasMessageContaining("todo");
    stage.database.execute("alter table gone rename to todo");
    stage.awaitSoon(() -> stage.waiting() == 20);
    assertThatThrownBy(() -> sweep.every(OFTEN)).isInstanceOf(IllegalStateException.class);
    sweep.close();
    assertThatThrownBy(() -> sweep.every(OFTEN)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void s09_whateverTheMapperThrowsFailsItsRunAndNotTheNext() throws Exception {
    var runs = new AtomicInteger();
    var sweep =
        sweep(
                OVERDUE,
                FIND,
                row -> {
                  if (runs.incrementAndGet() == 1) {
                    throw new AssertionError("an Error");
                  }
                  return MESSAGE.map(row);
                })
            .every(OFTEN);
    stage.awaitSoon(() -> stage.waiting() == 20);
    assertThat(sweep.run()).isZero();
  }

  @Test
  void s09_anInterruptThatTheMapperLeavesDoesNotEndTheSweep() throws Exception {
    var runs = new AtomicInteger();
    sweep(
            OVERDUE,
            "select 1",
            row -> {
              runs.incrementAndGet();
              Thread.currentThread().interrupt();
              throw new IllegalStateException("a mapper that leaves an interrupt");
            })
        .every(OFTEN);
    stage.awaitSoon(() -> runs.get() >= 3);
  }

  @Test
  void s09_whoClosesASweepEndsIt() throws Exception {
    var sweep = sweepOften();
    stage.awaitSoon(() -> stage.waiting() == 20);
    assertThat(sweepThreads()).isNotEmpty();
    sweep.close();
    stage.awaitSoon(() -> sweepThreads().isEmpty());
    sweep.close();
  }

  @Test
  void s09_whoClosesASweepWaitsForItsRun() throws Exception {
    var inRun = new CountDownLatch(1);
    var goOn = new CountDownLatch(1);
    var sweep =
        sweep(
                OVERDUE,
                FIND,
                row -> {
                  inRun.countDown();
                  try {
                    goOn.await();
                  } catch (InterruptedException e) {
                    throw new SQLException("interrupted", e);
                  }
                  return MESSAGE.map(row);
                })
            .every(OFTEN);
    Stage.awaitSoon(inRun);
    var closing = new Thread(sweep::close);
    closing.start();
    stage.awaitSoon(() -> closing.getState() == Thread.State.TIMED_WAITING);
    goOn.countDown();
    closing.join(Stage.SOON.toMillis());
    assertThat(closing.isAlive()).isFalse();
    assertThat(stage.waiting()).isEqualTo(20);
    stage.awaitSoon(() -> sweepThreads().isEmpty());
  }

  private static List<Thread> sweepThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("pgonce-sweep-overdue"))
        .toList();
  }

  @Test
  void s09_whatWouldBePublishedByEachRunIsRefused() throws Exception {
    var live = Channel.of("live", Overdue.class, Mode.BROADCAST);
    assertThatThrownBy(() -> sweep(live, FIND, MESSAGE))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("keeps no keys");
    var tooOften = Duration.ofMillis(99);
    assertThatThrownBy(() -> sweep(OVERDUE, FIND, MESSAGE).every(tooOften))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("not between 100 ms and 365 days");
    var sweep = sweep(OVERDUE, FIND, row -> new Message<>(new Overdue(row.getLong(1))));
    assertThatThrownBy(sweep::run)
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("a message has no delivery key");
    assertThat(stage.waiting()).isZero();
  }

  @Tag("all")
  @Test
  void s09_aRunThatHangsIsCutOffByTheClose() throws Exception {
    try (var locker = stage.database.dataSource().getConnection()) {
      locker.setAutoCommit(false);
      locker.createStatement().execute("lock table todo");
      var sweep = sweepOften();
      stage.awaitSoon(() -> stage.database.queryLong(WAITING_FOR_A_LOCK) == 1);
      sweep.close();
      // It still waits for the lock, so it is not the lock that ended it.
      stage.awaitSoon(() -> sweepThreads().isEmpty());
      locker.rollback();
    }
    assertThat(stage.waiting()).isZero();
  }

  @Test
  void s09_aSweepThatClosesItselfIsNotWaitedFor() throws Exception {
    var self = new AtomicReference<Sweep<Overdue>>();
    var closed = new AtomicInteger();
    Tx.RowMapper<Message<Overdue>> closing =
        row -> {
          stage.awaitSoon(() -> self.get() != null);
          self.get().close();
          closed.incrementAndGet();
          return MESSAGE.map(row);
        };
    self.set(sweep(OVERDUE, FIND, closing).every(OFTEN));
    stage.awaitSoon(() -> stage.waiting() == 20);
    // Each row is looked at once more when it is published.
    assertThat(closed).hasValue(40);
    stage.awaitSoon(() -> sweepThreads().isEmpty());
  }

  /** What is due and not yet marked by its handler, on a channel that remembers no keys. */
  private static Channel<Overdue> forgetful(Mode mode) {
    return Channel.of(
        "forgetful", Overdue.class, mode, ChannelOptions.DEFAULT.withSubscriptions("one", "two"));
  }

  private static void mark(Notification<Overdue> overdue, Tx tx) throws SQLException {
    tx.update("update todo set due_at = null where id = ?", overdue.payload().todo());
    effect(overdue, tx);
  }

  /** Publishes the first row, which another sweep has found already, and waits for its end. */
  private Tx.RowMapper<Message<Overdue>> afterTheFirstIsHandled(Sweep<Overdue> other) {
    var first = new AtomicBoolean(true);
    return row -> {
      if (first.getAndSet(false)) {
        assertThat(other.run()).isEqualTo(1);
        stage.awaitSoon(() -> stage.effects() == 2 && stage.waiting() == 0 && keys() == 0);
      }
      return MESSAGE.map(row);
    };
  }

  private long keys() throws SQLException {
    return stage.database.queryLong("select count(*) from pgonce.delivery_key");
  }

  @ParameterizedTest
  @CsvSource({
    "EXACTLY_ONCE, read committed",
    "AT_LEAST_ONCE, read committed",
    "EXACTLY_ONCE, repeatable read"
  })
  void s09_whatIsHandledBetweenTheQueryAndThePublishingIsNotPublishedAgain(
      Mode mode, String isolation) throws Exception {
    var channel = forgetful(mode);
    PgOnce.using(stage.dataSource).install(channel);
    stage.database.execute(
        "alter database %s set default_transaction_isolation = '%s'"
            .formatted(stage.database.name(), isolation));
    var other = stage.database.pooled(12); // with the isolation that was set
    stage
        .pgonce(other)
        .listen(channel, "one", Stage.QUICK, SweepTest::mark)
        .listen(channel, "two", Stage.QUICK, SweepTest::mark)
        .start();
    var quick = sweep(channel, "select 1 from todo where id = 1", MESSAGE);
    // The third and later ones are not within the limit before the first is gone.
    var sql = "select id from todo where due_at < now() order by id limit 2";
    var slow = Sweep.of(other, Publisher.standard(), channel, sql, afterTheFirstIsHandled(quick));
    assertThat(slow.run()).isEqualTo(1);
    stage.awaitSoon(() -> stage.effects() == 4 && stage.waiting() == 0 && keys() == 0);
    assertThat(slow.run()).isEqualTo(2);
    stage.awaitNothingWaits();
    assertThat(
            stage.database.queryString(
                "select string_agg(id || ' x' || n, ',' order by id) from (select id, count(*) n from effect group by id) e"))
        .isEqualTo("1 x2,2 x2,3 x2,4 x2"); // by each subscription once
  }

  @Test
  void s09_whatIsNotDueYetIsTakenOutTheSame() throws Exception {
    var looks = new AtomicInteger();
    Tx.RowMapper<Message<Overdue>> later =
        row -> {
          // Not found by the second look.
          stage.database.execute("update todo set due_at = null where id <= 2");
          looks.incrementAndGet();
          var message = MESSAGE.map(row);
          var id = message.payload().todo();
          return new Message<>(
              message.payload(),
              id % 2 == 0 ? message.options().withDelay(Duration.ofHours(1)) : message.options());
        };
    var sql = "select id from todo where due_at < now() and id <= 4 order by id";
    var sweep = sweep(OVERDUE, sql, later);
    assertThat(sweep.run()).isEqualTo(2);
    assertThat(looks).hasValue(4 + 2);
    assertThat(stage.waiting()).isEqualTo(2);
    assertThat(keys()).isEqualTo(2);
    assertThat(sweep.run()).isZero(); // and looks once only, since nothing is new
    assertThat(looks).hasValue(4 + 2 + 2);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "update todo set due_at = null where due_at < now() returning id",
        "select id from todo where due_at < now() for update skip locked"
      })
  void s09_aQueryThatChangesOrLocksWhatItFindsIsRunOnce(String sql) throws Exception {
    var sweep = sweep(OVERDUE, sql, MESSAGE);
    assertThat(sweep.run()).isEqualTo(20);
    assertThat(stage.waiting()).isEqualTo(20);
  }

  @Test
  void s09_aPublisherTakesOutNothingButItsOwn() throws Exception {
    assertThat(sweep(OVERDUE, FIND, MESSAGE).run()).isEqualTo(20);
    try (var connection =
        stage.database.loginRole("writer", "pgonce_publisher").unpooled().getConnection()) {
      connection.setAutoCommit(false);
      Publisher.standard()
          .publish(
              connection, OVERDUE, new Overdue(99), PublishOptions.DEFAULT.withDeliveryKey("mine"));
      try (var row =
          connection
              .createStatement()
              .executeQuery(
                  "select pgonce.take_back('overdue', '[\"todo:1\", \"todo:2\", \"mine\"]')")) {
        row.next();
        assertThat(row.getLong(1)).isEqualTo(1);
      }
      connection.commit();
    }
    assertThat(stage.waiting()).isEqualTo(20);
    assertThat(keys()).isEqualTo(20);
  }

  /**
   * Its locks are free some time after its process froze, and its commit is not lost in a crash.
   */
  @Test
  void h49_aRunMayNotIdleAndCommitsSynchronously() throws Exception {
    stage.database.execute(
        "alter database %s set synchronous_commit = off".formatted(stage.database.name()));
    var settings =
        "select 1, current_setting('idle_in_transaction_session_timeout'), current_setting('synchronous_commit')";
    var seen = new ArrayList<String>();
    Tx.RowMapper<Message<Overdue>> looking =
        row -> {
          seen.add(row.getString(2) + " " + row.getString(3));
          return MESSAGE.map(row);
        };
    var own = stage.database.pooled(2);
    assertThat(Sweep.of(own, Publisher.standard(), OVERDUE, settings, looking).run()).isEqualTo(1);
    assertThat(seen).containsOnly("30s on");
  }

  @Test
  void s09_aMapperThatTakesLongerThanASessionMayIdleIsNamed() throws Exception {
    stage.database.execute(
        "alter database %s set idle_in_transaction_session_timeout = '100ms'"
            .formatted(stage.database.name()));
    Tx.RowMapper<Message<Overdue>> slow =
        row -> {
          var session = SESSION.formatted(row.getInt(2));
          stage.awaitSoon(() -> stage.database.queryLong(session) == 0);
          return MESSAGE.map(row);
        };
    // By pgjdbc: pgjdbc-ng does not say why the session ended.
    var own = stage.database.dataSource();
    var sweep = Sweep.of(own, Publisher.standard(), OVERDUE, "select 1, pg_backend_pid()", slow);
    assertThatThrownBy(sweep::run)
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("cannot sweep for channel overdue")
        .hasMessageContaining("Mapping and encoding the rows took longer")
        .hasMessageContaining("give the query a LIMIT");
    assertThat(stage.waiting()).isZero();
  }
}
