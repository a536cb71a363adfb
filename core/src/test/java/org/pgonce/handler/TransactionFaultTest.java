package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.pgonce.stage.Stage.QUICK;

import java.io.InputStream;
import java.lang.reflect.Proxy;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.Tx;
import org.pgonce.spi.Event;
import org.pgonce.stage.Events;
import org.pgonce.stage.Logged;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What the database does to a transaction is retried, in the modes that retry. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class TransactionFaultTest {

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private static Channel<Order> channel(Mode mode) {
    return Channel.of("faulty", Order.class, mode);
  }

  private void run(Mode mode, ListenOptions options, int count, Handler<Order> handler)
      throws Exception {
    var channel = channel(mode);
    PgOnce.using(stage.dataSource).install(channel);
    stage.pgonce().listen(channel, options, handler).start();
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard()
          .publishAll(
              connection,
              channel,
              LongStream.rangeClosed(1, count).mapToObj(id -> new Order(id, "item")).toList());
    }
    stage.awaitNothingWaits();
    assertThat(stage.deadLetters()).isZero();
  }

  /** Its first attempt meets the fault behind its effect; the second one succeeds. */
  private void failsOnce(Mode mode, Handler<Order> fault) throws Exception {
    var state = new AtomicInteger();
    run(
        mode,
        // Another worker could take a row that is freed before the failure is recorded.
        QUICK.withConcurrency(1),
        1,
        (order, tx) -> {
          Stage.effect(order, tx);
          if (order.attempt() == 1) {
            state.incrementAndGet();
            fault.handle(order, tx);
          }
        });
    assertThat(state).hasValue(1);
    assertThat(stage.database.queryString("select string_agg(note, ',') from effect"))
        .isEqualTo("attempt 2");
  }

  @ParameterizedTest(name = "{0}")
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h48_aSerializationFailureIsRetriedAndTakesEffectOnce(Mode mode) throws Exception {
    var runs = new AtomicInteger();
    run(
        mode,
        QUICK.withConcurrency(1),
        1,
        (order, tx) -> {
          Stage.effect(order, tx);
          if (runs.incrementAndGet() == 1) {
            tx.update("do $$ begin raise exception 'as if' using errcode = '40001'; end $$");
          }
        });
    assertThat(runs).hasValue(2);
    // Where the transaction keeps the row, it runs again at once, and that is not counted.
    assertThat(stage.database.queryString("select string_agg(note, ',') from effect"))
        .isEqualTo(mode == Mode.EXACTLY_ONCE ? "attempt 1" : "attempt 2");
  }

  /** The driver would send the next statement as the rest of the message, and wait for ever. */
  @ParameterizedTest(name = "{0}")
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h45_anErrorAmidAMessageOfTheDriverFailsTheAttemptAtOnce(Mode mode) throws Exception {
    failsOnce(mode, (order, tx) -> breakOff(tx, new StackOverflowError("as if")));
  }

  @ParameterizedTest(name = "{0}")
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h43_anErrorAmidAMessageIsAFailureThoughItIsSwallowed(Mode mode) throws Exception {
    failsOnce(
        mode,
        (order, tx) -> {
          try {
            breakOff(tx, new IllegalStateException("as if"));
          } catch (IllegalStateException swallowed) {
            assertThatThrownBy(() -> Stage.effect(order, tx)).hasMessageContaining("broke off");
          }
        });
  }

  private static void breakOff(Tx tx, Throwable amid) throws SQLException {
    var stream =
        new InputStream() {
          private int left = 10;

          @Override
          public int read() {
            if (left-- == 0) {
              if (amid instanceof Error error) {
                throw error;
              }
              throw (RuntimeException) amid;
            }
            return 'x';
          }

          @Override
          public int read(byte[] into, int from, int most) {
            into[from] = (byte) read();
            return 1;
          }
        };
    try (var statement = tx.connection().prepareStatement("select octet_length(?)")) {
      statement.setBinaryStream(1, stream, 1_000);
      statement.execute();
    }
  }

  @ParameterizedTest(name = "{0}")
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h48_aStatementTimeoutIsRetriedAndTakesEffectOnce(Mode mode) throws Exception {
    failsOnce(
        mode,
        (order, tx) -> {
          tx.update("set local statement_timeout = '5ms'");
          tx.query("select pg_sleep(10)", row -> 1);
        });
  }

  @ParameterizedTest(name = "{0}")
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h48_anIdleTimeoutIsRetriedAndTakesEffectOnce(Mode mode) throws Exception {
    failsOnce(
        mode,
        (order, tx) -> {
          tx.update("set local idle_in_transaction_session_timeout = '20ms'");
          stage.awaitSoon(
              () ->
                  stage
                      .database
                      .backends()
                      .running("idle_in_transaction_session_timeout = '20ms'")
                      .isEmpty());
        });
  }

  @ParameterizedTest(name = "{0} {1}")
  @CsvSource({
    "EXACTLY_ONCE, idle_in_transaction_session_timeout",
    "AT_LEAST_ONCE, idle_in_transaction_session_timeout",
    "EXACTLY_ONCE, transaction_timeout",
    "AT_LEAST_ONCE, transaction_timeout"
  })
  void h77_aFailureNamesTheTimeoutThatHasEndedTheSession(Mode mode, String timeout)
      throws Exception {
    Login.assumePgjdbc("pgjdbc-ng does not tell why the server has ended a session");
    assumeTrue(
        stage.database.queryLong(
                "select count(*) from pg_settings where name = '%s'".formatted(timeout))
            == 1,
        "the server is older than the setting " + timeout);
    var channel = channel(mode);
    PgOnce.using(stage.dataSource).install(channel);
    var statement = "set local %s = '20ms'".formatted(timeout);
    stage
        .pgonce()
        .listen(
            channel,
            QUICK.withMaxAttempts(1),
            (order, tx) -> {
              tx.update(statement);
              stage.awaitSoon(() -> stage.database.backends().running(statement).isEmpty());
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, channel, new Order(1, "item"));
    }
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(stage.database.queryString("select error from pgonce.dead_letter"))
        .contains("longer than " + timeout + ", so the server has ended its session. Instead: ");
  }

  /** By the handler itself, as nobody else can: what is not there to be deleted is no success. */
  @ParameterizedTest(name = "batches of {0}")
  @ValueSource(ints = {1, 3})
  void h43_whatIsDeletedByHandIsNotTakenForSuccess(int batch) throws Exception {
    var channel = channel(Mode.EXACTLY_ONCE);
    PgOnce.using(stage.dataSource).install(channel);
    var calls = new AtomicInteger();
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard()
          .publishAll(
              connection,
              channel,
              LongStream.rangeClosed(1, 3).mapToObj(id -> new Order(id, "item")).toList());
    }
    stage
        .pgonce()
        .listen(
            channel,
            QUICK.withConcurrency(1).withBatch(batch),
            (order, tx) -> {
              Stage.effect(order, tx);
              if (order.payload().id() == 2 && calls.incrementAndGet() == 1) {
                tx.update("delete from pgonce.notification where id = ?", order.id());
              }
            })
        .start();
    stage.awaitSoon(() -> calls.get() == 2);
    stage.awaitNothingWaits();
    assertThat(stage.deadLetters()).isZero();
    assertThat(
            stage.database.queryString("select string_agg(id::text, ',' order by id) from effect"))
        .isEqualTo("1,2,3");
  }

  @ParameterizedTest(name = "{0}")
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h48_aDeadlockIsRetriedAndBothTakeEffectOnce(Mode mode) throws Exception {
    stage.database.execute(
        "create table pair (id int primary key, n int); insert into pair values (1, 0), (2, 0)");
    var bothHoldOne = new CountDownLatch(2);
    var deadlocks = new AtomicInteger();
    run(
        mode,
        QUICK.withConcurrency(2),
        2,
        (order, tx) -> {
          var first = (int) order.payload().id();
          tx.update("set local deadlock_timeout = '5ms'");
          tx.update("update pair set n = n + 1 where id = ?", first);
          bothHoldOne.countDown();
          bothHoldOne.await(10, TimeUnit.SECONDS);
          try {
            tx.update("update pair set n = n + 1 where id = ?", 3 - first);
          } catch (SQLException e) {
            deadlocks.addAndGet("40P01".equals(e.getSQLState()) ? 1 : 0);
            throw e;
          }
        });
    assertThat(deadlocks.get()).isPositive();
    assertThat(stage.database.queryString("select string_agg(n::text, ',') from pair"))
        .isEqualTo("2,2");
  }

  @ParameterizedTest(name = "{0}")
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void h82_aLowerIdThatCommitsLaterIsHandled(Mode mode) throws Exception {
    var channel = channel(mode);
    PgOnce.using(stage.dataSource).install(channel);
    stage.pgonce().listen(channel, QUICK, (order, tx) -> Stage.effect(order, tx)).start();
    try (var slow = stage.dataSource.getConnection();
        var quick = stage.dataSource.getConnection()) {
      slow.setAutoCommit(false);
      var lower = Publisher.standard().publish(slow, channel, new Order(1, "item"));
      var higher = Publisher.standard().publish(quick, channel, new Order(2, "item"));
      assertThat(lower).isLessThan(higher);
      stage.awaitSoon(() -> stage.effects() == 1);
      stage.awaitNothingWaits();
      slow.commit();
      stage.awaitSoon(() -> stage.effects() == 2);
    }
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(2)).isTrue();
  }

  /** The claim finds its row each time, and what is to be written of it is refused. */
  @ParameterizedTest(name = "{0}")
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h70_whileTheDiskIsFullItIsTriedAgainEachTimeLater(Mode mode) throws Exception {
    var channel = channel(mode);
    PgOnce.using(stage.dataSource).install(channel);
    stage.database.execute(
        """
        create function full() returns trigger language plpgsql as $$ begin
          raise exception 'No space left on device' using errcode = '53100';
        end $$;
        create trigger full_ before delete on pgonce.notification for each row execute function full();
        create trigger full_ before insert or update on pgonce.scheduled for each row execute function full();
        """);
    var troubles = new ConcurrentLinkedDeque<Long>();
    try (var logged = new Logged()) {
      stage
          .pgonce(
              PgOnce.builder(stage.dataSource)
                  .observer(
                      event -> {
                        if (event instanceof Event.DatabaseTrouble trouble
                            && trouble.channel().equals(channel.name())) {
                          troubles.add(System.nanoTime());
                        }
                      }))
          .listen(channel, QUICK.withConcurrency(1), Stage::effect)
          .start();
      try (var connection = stage.dataSource.getConnection()) {
        Publisher.standard().publish(connection, channel, new Order(1, "item"));
      }
      stage.awaitSoon(() -> troubles.size() >= 8);
      // Half of 100, 200, 400, 800, 1000, 1000 and 1000 ms at the least.
      var eighth = troubles.stream().skip(7).findFirst().orElseThrow();
      assertThat(Duration.ofNanos(eighth - troubles.getFirst()))
          .isGreaterThan(Duration.ofSeconds(2));
      var seconds = Duration.ofNanos(troubles.getLast() - troubles.getFirst()).toSeconds();
      assertThat(logged.count("cannot claim")).isBetween(1, (int) (2 + seconds / 10));
    }
    stage.database.execute("drop function full cascade");
    stage.awaitNothingWaits();
    assertThat(stage.effects()).isEqualTo(1);
  }

  /** As of a class that is not there, or without memory: nothing mends it within a moment. */
  @ParameterizedTest(name = "{0}")
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h45_anErrorOnTheWayToAClaimIsTriedAgainEachTimeLater(Mode mode) throws Exception {
    var channel = Stage.wokenAlways("faulty", mode);
    PgOnce.using(stage.dataSource).install(channel);
    var isBroken = new AtomicBoolean();
    var asked = new AtomicInteger();
    var events = new Events();
    var breaking =
        (DataSource)
            Proxy.newProxyInstance(
                DataSource.class.getClassLoader(),
                new Class<?>[] {DataSource.class},
                (proxy, method, arguments) -> {
                  if (isBroken.get()) {
                    asked.incrementAndGet();
                    throw new NoClassDefFoundError("org/example/Gone");
                  }
                  return method.invoke(stage.dataSource, arguments);
                });
    var pgonce = stage.pgonce(PgOnce.builder(breaking).observer(events));
    pgonce.listen(channel, QUICK.withConcurrency(1), Stage::effect).start();
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, channel, new Order(1, "item"));
      stage.awaitNothingWaits();
      stage.awaitSoon(() -> pgonce.status().channels().get(0).working() == 0);
      isBroken.set(true);
      Publisher.standard().publish(connection, channel, new Order(2, "item"));
    }
    stage.awaitSoon(() -> asked.get() > 500 || ofClaims(events, channel) >= 5);
    assertThat(asked).hasValueLessThan(500);
    isBroken.set(false);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(2)).isTrue();
  }

  private static long ofClaims(Events events, Channel<?> channel) {
    return events.of(Event.DatabaseTrouble.class).stream()
        .filter(trouble -> trouble.channel().equals(channel.name()))
        .filter(trouble -> trouble.reason().contains("NoClassDefFoundError"))
        .count();
  }
}
