package org.pgonce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.Stage.SOON;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Stage.Order;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;

/**
 * Many listeners on one channel: one of them answers a wake-up, and the others where it does not.
 */
@PgTest(PgOnceInstalled.class)
class HerdTest {

  private static final int MANY = 8;
  private static final Channel<Order> HERD = Stage.wokenAlways("herd", Mode.EXACTLY_ONCE);

  private TestDatabase database;
  private Stage stage;
  private final List<PgOnce> listeners = new ArrayList<>();
  private final Semaphore handled = new Semaphore(0);

  @BeforeEach
  void prepare(TestDatabase prepared) throws SQLException {
    database = prepared;
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(HERD);
  }

  @AfterEach
  void close() {
    listeners.forEach(PgOnce::close);
    stage.close();
  }

  private void listener(Channel<Order> channel, int workers, Handler<Order> handler) {
    var pgonce =
        PgOnce.builder(stage.dataSource)
            .instance("listener " + listeners.size())
            .pollInterval(Duration.ofHours(1)) // what a wake-up is for, no scan finds
            .build();
    pgonce.listen(channel, Stage.QUICK.withConcurrency(workers), handler).start();
    listeners.add(pgonce);
  }

  /** Each knows of all the others, and which of them is the first. */
  private void listeners(Channel<Order> channel, int count, Handler<Order> handler) {
    for (var i = 0; i < count; i++) {
      listener(channel, 1, handler);
    }
  }

  private void store(Connection connection, Channel<Order> channel, long id) throws SQLException {
    Publisher.standard().publish(connection, channel, new Order(id, "item"));
  }

  private void storeAndAwait(Channel<Order> channel, int count) throws Exception {
    try (var writer = stage.dataSource.getConnection()) {
      for (var id = 1; id <= count; id++) {
        store(writer, channel, id);
        assertThat(handled.tryAcquire(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
      }
    }
  }

  private long claims() {
    return listeners.stream().mapToLong(pgonce -> pgonce.status().channels().get(0).claims()).sum();
  }

  private long first() throws SQLException {
    return database.queryLong(
        "select substr(instance, 10)::bigint from pgonce.listener where id = "
            + Stage.firstOf(HERD));
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void oneOfManyAnswersAWakeUp(Mode mode) throws Exception {
    var channel = Stage.wokenAlways("herd." + mode.name().toLowerCase(Locale.ROOT), mode);
    PgOnce.using(stage.dataSource).install(channel);
    for (var i = 0; i < MANY; i++) {
      listener(channel, 4, (order, tx) -> handled.release());
    }
    storeAndAwait(channel, 100);
    var before = claims();
    storeAndAwait(channel, 300);
    // One by one without a pause, so that those who stand by often meet one that is at work.
    assertThat(claims() - before).isLessThan(300 * MANY / 2);
  }

  @Test
  void h49_whereTheFirstIsLostTheOthersAnswer() throws Exception {
    listeners(HERD, MANY, (order, tx) -> handled.release());
    stage.aLostOneIsTheFirst(HERD);
    stage.awaitSoon(
        () ->
            database.queryLong(
                    "select count(*) from pgonce.listener l where seen_at > (select o.seen_at from pgonce.listener o where instance = 'lost')")
                == MANY);
    storeAndAwait(HERD, 100);
    assertThat(
            database.queryString(
                "select instance from pgonce.listener where id = " + Stage.firstOf(HERD)))
        .isEqualTo("lost");
  }

  /** It is on the list still, as nobody polls. */
  @Test
  void h49_whoIsKilledIsNotTheFirst() throws Exception {
    var processes = new ArrayList<JvmProcess>();
    try {
      for (var i = 0; i < 3; i++) {
        var process = JvmProcess.start(ListenerProcess.class, database.jdbcUrl(), database.user());
        processes.add(process);
        process.awaitLine("started", SOON);
      }
      stage.awaitSoon(
          () -> database.queryLong("select count(backend) from pgonce.listener_status") == 3);
      while (processes.size() > 1) {
        var first = firstProcess();
        var killed = processes.stream().filter(one -> one.pid() == first).findAny().orElseThrow();
        killed.kill9();
        processes.remove(killed);
        stage.awaitSoon(() -> firstProcess() != first);
        assertThat(processes).extracting(JvmProcess::pid).contains(firstProcess());
      }
      assertThat(
              database.queryLong(
                  "select count(*) from pgonce.listener where silence > now() - seen_at"))
          .isEqualTo(3);
    } finally {
      processes.forEach(JvmProcess::close);
    }
  }

  private long firstProcess() throws SQLException {
    return database.queryLong(
        "select substr(instance, 5)::bigint from pgonce.listener where id = "
            + Stage.firstOf(Stage.ORDERS));
  }

  @Test
  void theStatusTellsThePersonOnCallWhoIsTheFirst() throws Exception {
    listeners(HERD, 2, (order, tx) -> handled.release());
    stage.awaitSoon(() -> database.queryLong("select count(*) from pgonce.listener") == 2);
    assertThat(toldFirst()).isEqualTo("listener " + first());
    stage.aLostOneIsTheFirst(HERD);
    assertThat(toldFirst()).isEqualTo("lost");
  }

  private String toldFirst() throws SQLException {
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("set role pgonce_admin");
      try (var row =
          statement.executeQuery(
              "select string_agg(instance, ' ') from pgonce.listener_status where '%s' = any (first_for)"
                  .formatted(HERD.name()))) {
        row.next();
        return row.getString(1);
      }
    }
  }

  /** Each that announces it tells the others to look at the channel's word. */
  @Test
  void oneOfManyIsAwake() throws Exception {
    var channel = Channel.of("herd.asleep", Order.class, Mode.EXACTLY_ONCE);
    PgOnce.using(stage.dataSource).install(channel);
    listeners(channel, MANY, (order, tx) -> handled.release());
    // What tells them who is the first is the scan after the one that puts them on the list.
    var scanned =
        "select count(*) from pgonce.listener where seen_at > started_at + interval '1 millisecond'";
    stage.awaitSoon(() -> database.queryLong(scanned) == MANY);
    storeAndAwait(channel, MANY); // by now each knows that it is not the first
    try (var hearing = database.dataSource().getConnection();
        var statement = hearing.createStatement();
        var writer = stage.dataSource.getConnection()) {
      statement.execute("listen \"pgonce_herd.asleep\"");
      var isAwake =
          "select count(*) from pgonce.channel_status where channel = 'herd.asleep' and wakefulness = 'AWAKE'";
      stage.awaitSoon(
          () -> {
            for (var id = 1; id <= 50; id++) {
              store(writer, channel, id);
            }
            return database.queryLong(isAwake) == 1;
          });
      assertThat(payloads(hearing)).containsOnlyOnce("awake");
    }
  }

  @Test
  void whoHasMoreToDoThanHeCanAsksForHelp() throws Exception {
    var all = new CountDownLatch(MANY);
    listeners(
        HERD,
        MANY,
        (order, tx) -> {
          all.countDown();
          Stage.awaitSoon(all); // who is at it does nothing else until all are
          handled.release();
        });
    try (var hearing = database.dataSource().getConnection();
        var statement = hearing.createStatement();
        var writer = stage.dataSource.getConnection()) {
      statement.execute("listen pgonce_herd");
      for (var id = 1; id <= MANY; id++) {
        store(writer, HERD, id);
      }
      Stage.awaitSoon(all);
      assertThat(payloads(hearing)).contains("help");
    }
  }

  @Test
  void allTakePartWhereThereIsMuch() throws Exception {
    var busy = ConcurrentHashMap.<Thread>newKeySet();
    var all = new CountDownLatch(MANY);
    listeners(
        HERD,
        MANY,
        (order, tx) -> {
          if (busy.add(Thread.currentThread())) {
            all.countDown();
          }
          Stage.awaitSoon(all);
          handled.release();
        });
    try (var writer = stage.dataSource.getConnection()) {
      Publisher.standard()
          .publishAll(
              writer,
              HERD,
              Stream.iterate(1L, id -> id + 1)
                  .limit(100)
                  .map(id -> new Order(id, "item"))
                  .toList());
    }
    assertThat(handled.tryAcquire(100, SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
  }

  /** Its handler runs for longer than others need to hear of it. */
  @Test
  void h85_whoStopsHandsOverWhileItsHandlersRun() throws Exception {
    var first = new AtomicLong(-1);
    var holds = new CountDownLatch(1);
    var ends = new CountDownLatch(1);
    for (var i = 0; i < MANY; i++) {
      var own = i;
      listener(
          HERD,
          1,
          (order, tx) -> {
            if (own == first.get()) {
              holds.countDown();
              Stage.awaitSoon(ends);
            }
            handled.release();
          });
    }
    first.set(first());
    try (var writer = stage.dataSource.getConnection()) {
      stage.awaitSoon(
          () -> {
            store(writer, HERD, 0); // now and then another one is quicker
            return holds.getCount() == 0;
          });
      stage.awaitSoon(() -> stage.waiting() == 1);
      handled.drainPermits();
      var stops = CompletableFuture.runAsync(listeners.get((int) first.get())::close);
      stage.awaitSoon(() -> first() != first.get());
      storeAndAwait(HERD, 20);
      assertThat(stops).isNotDone();
      ends.countDown();
      stops.join();
      handled.drainPermits();
      storeAndAwait(HERD, 20);
    }
  }

  /** To whoever listens there, that would be a payload. */
  @Test
  void nobodyIsToldOfTheListenersOfABroadcast() throws Exception {
    var channel = Channel.of("herd.broadcast", Order.class, Mode.BROADCAST);
    PgOnce.using(stage.dataSource).install(channel);
    try (var hearing = database.dataSource().getConnection();
        var statement = hearing.createStatement()) {
      statement.execute("listen \"pgonce_herd.broadcast\"");
      listeners(channel, 3, (order, tx) -> handled.release());
      listeners.remove(0).close();
      try (var writer = stage.dataSource.getConnection()) {
        store(writer, channel, 1);
      }
      assertThat(handled.tryAcquire(2, SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
      assertThat(payloads(hearing)).hasSize(1).allMatch(payload -> payload.contains("item"));
    }
  }

  private static List<String> payloads(Connection hearing) throws SQLException {
    return Stream.of(hearing.unwrap(PGConnection.class).getNotifications(100))
        .map(one -> one.getParameter())
        .toList();
  }
}
