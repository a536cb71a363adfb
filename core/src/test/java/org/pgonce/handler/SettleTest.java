package org.pgonce.handler;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;
import static org.pgonce.stage.Stage.SOON;

import java.io.PrintStream;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.RejectedException;
import org.pgonce.spi.Event;
import org.pgonce.spi.ListenAddress;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/** Station 5 where it is hard to record that an attempt failed: it is counted all the same. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class SettleTest {

  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  private void awaitDeadLetter(String error) throws SQLException {
    await().atMost(SOON).until(() -> stage.deadLetters() == 1);
    assertThat(stage.database.queryString("select error from pgonce.dead_letter")).contains(error);
    assertThat(stage.waiting()).isZero();
  }

  @Test
  void h49_aSessionWhoseLossOnlyTheClientNoticedIsEndedAndItsAttemptCounted() throws Exception {
    var database = stage.database;
    try (var proxy = FaultProxy.to(database);
        var pool = database.login().through(proxy).pooled(2)) {
      var direct =
          new ListenAddress(
              database.host(), database.port(), database.name(), database.user(), null, Map.of());
      stage
          .pgonce(PgOnce.builder(pool).listenAddress(direct))
          .listen(
              ORDERS,
              // Of several workers another may claim the row as soon as its session has ended, and
              // count the attempt in place of the one that records it.
              QUICK.withConcurrency(1),
              (order, tx) -> {
                Stage.effect(order, tx);
                if (order.attempt() == 1) {
                  // At work, its session reads nothing from its socket.
                  tx.query("select pg_sleep(3600)", row -> 1);
                }
              })
          .start();
      stage.publish(1);
      database.backends().awaitRunning("pg_sleep(3600)");
      proxy.cutAll();
      stage.awaitNothingWaits();
      assertThat(database.queryString("select note from effect")).isEqualTo("attempt 2");
      // Its locks go a moment before it does.
      stage.awaitSoon(() -> database.backends().running("pg_sleep(3600)").isEmpty());
      stage.close();
    }
  }

  @Test
  void h45_anOverrunIsCountedThoughTheLoginActsAsAnotherRole() throws Exception {
    var app = stage.database.loginRole("app", "pgonce_listener").user();
    var login = stage.database.loginRole("login", app);
    stage.database.execute("alter role \"%s\" set role \"%s\"".formatted(login.user(), app));
    try (var pool = login.pooled(4)) {
      stage
          .pgonce(pool)
          .listen(
              ORDERS,
              QUICK.withMaxAttempts(2).withHandlerTimeout(Duration.ofMillis(300)),
              (order, tx) -> tx.query("select pg_sleep(3600)", row -> 1))
          .start();
      stage.publish(1);
      awaitDeadLetter("did not return within 300 ms");
      await()
          .atMost(SOON)
          .until(() -> stage.database.backends().running("pg_sleep(3600)").isEmpty());
      stage.close();
    }
  }

  @Test
  void h45_anOverrunIsCountedThoughItsSessionMayNotBeEnded() throws Exception {
    stage.database.execute(
        "revoke execute on function pg_terminate_backend(integer, bigint) from public");
    var login = stage.database.loginRole("worker", "pgonce_listener");
    var release = new CountDownLatch(1);
    try (var pool = login.pooled(4)) {
      stage
          .pgonce(pool)
          .listen(
              ORDERS,
              QUICK.withMaxAttempts(1).withHandlerTimeout(Duration.ofMillis(300)),
              (order, tx) -> {
                tx.query("select 1", row -> 1);
                release.await();
              })
          .start();
      stage.publish(1);
      awaitDeadLetter("did not return within 300 ms");
      stage.close();
    } finally {
      release.countDown();
    }
  }

  @Test
  void h45_failuresAreRecordedInADatabaseThatIsNotUtf8() throws Exception {
    try (var latin = TestServer.shared().createDatabase("LATIN1");
        var there = new Stage(latin)) {
      there
          .pgonce()
          .listen(
              ORDERS,
              QUICK.withMaxAttempts(2),
              (order, tx) -> {
                throw new IllegalStateException("\u20AC \uD83D\uDE00 \u00FC");
              })
          .start();
      there.publish(1);
      await().atMost(SOON).until(() -> there.deadLetters() == 1);
      assertThat(latin.queryString("select error from pgonce.dead_letter"))
          .isEqualTo("java.lang.IllegalStateException: \\u20AC \\uD83D\\uDE00 \\u00FC");
      assertThat(PgOnce.migration(ORDERS)).as("any database can store it").isASCII();
    }
  }

  @Test
  void h15_failuresThatNoDatabaseCouldStoreAreRecorded() throws Exception {
    var smiles = "\uD83D\uDE00".repeat(3_000);
    var words =
        List.of("nul \0 and lone \uD800 and \uDC00.", "x" + smiles, smiles + "\uD83D", "\u20AC");
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK.withMaxAttempts(1),
            (order, tx) -> {
              throw new IllegalStateException(words.get((int) order.payload().id() - 1));
            })
        .start();
    stage.publish(words.size());
    await().atMost(SOON).until(() -> stage.deadLetters() == words.size());
    assertThat(stage.database.queryString("select error from pgonce.dead_letter where id = 1"))
        .isEqualTo("java.lang.IllegalStateException: nul   and lone ? and ?.");
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.dead_letter where length(error) = 2003 and error like '%...'"))
        .isEqualTo(2);
    assertThat(stage.database.queryString("select error from pgonce.dead_letter where id = 4"))
        .endsWith("\u20AC");
  }

  @Test
  void h45_anExceptionWithoutWordsIsRecorded() throws Exception {
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK.withMaxAttempts(2),
            (order, tx) -> {
              throw new Mute();
            })
        .start();
    stage.publish(1);
    awaitDeadLetter("Mute: without words, as its message could not be had: java.lang.Unsupported");
  }

  @Tag("all")
  @Test
  void h03_aPayloadAboveTheLimitIsBuriedWithoutBeingFetched() throws Exception {
    stage.database.execute(
        """
        insert into pgonce.notification (subscription_id, payload)
        select s.id, ('{"id": 1, "item": "' || repeat('x', 100 * 1024 * 1024) || '"}')::json from pgonce.subscription s
        """);
    var small = stage.database.dataSource();
    small.setMaxResultBuffer("8M"); // More in one answer, and the driver gives up.
    stage.pgonce(small).listen(ORDERS, QUICK, Stage::effect).start();
    awaitDeadLetter("its payload of 104857621 bytes is longer than 104857600 and was not fetched");
    assertThat(stage.database.queryString("select reason || attempts from pgonce.dead_letter"))
        .isEqualTo("UNREADABLE1");
  }

  @Tag("all")
  @Test
  void h45_aPayloadThatTakesTooMuchToFetchFailsItsAttempts() throws Exception {
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, ORDERS, new Stage.Order(1, "x".repeat(5_000_000)));
    }
    stage.publish(1);
    var small = stage.database.dataSource();
    small.setMaxResultBuffer("2M");
    stage.pgonce(small).listen(ORDERS, QUICK, Stage::effect).start();
    await().atMost(SOON).until(() -> stage.waiting() == 0 && stage.deadLetters() == 1);
    assertThat(stage.database.queryLong("select attempts from pgonce.dead_letter")).isEqualTo(3);
    assertThat(stage.effects()).isEqualTo(1);
  }

  @Test
  void h46_aLateRecordLeavesARowAloneThatSomebodyHasCountedSince() throws Exception {
    stage.database.execute(
        """
        insert into pgonce.scheduled
        select s.id, 1000, clock_timestamp() + interval '15 min', 3, clock_timestamp(), 'theirs', '{}' from pgonce.subscription s
        """);
    assertThat(
            stage.database.queryString(
                """
                select pgonce.schedule(s.id, 1000, 0, null, 1, null, 10, 'late') || ' ' || pgonce.schedule(s.id, 1000, 2, null, 3, null, 10, 'late')
                  || ' ' || pgonce.bury(s.id, 1000, 2, null, 3, 'REJECTED', 'late')
                  from pgonce.subscription s
                """))
        .isEqualTo("false false false");
    assertThat(
            stage.database.queryString(
                """
                select format('%s %s %s', attempts, last_error, due_at > clock_timestamp() + interval '14 min')
                  from pgonce.scheduled where subscription_id > 0
                """))
        .isEqualTo("3 theirs t");
    assertThat(
            stage.database.queryString(
                "select pgonce.bury(s.id, 1000, 3, null, 4, 'REJECTED', 'now')::text from pgonce.subscription s"))
        .isEqualTo("true");
    assertThat(stage.database.queryLong("select attempts from pgonce.dead_letter")).isEqualTo(4);
  }

  @Test
  void example_discardDropsDeadLetters() throws Exception {
    var handled = new AtomicInteger();
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            ORDERS,
            (order, tx) -> {
              handled.incrementAndGet();
              throw new RejectedException("nobody wants it");
            })
        .start();
    stage.publish(3);
    await().atMost(SOON).until(() -> stage.deadLetters() == 3);
    var letters = stage.onCall();
    assertThat(letters.discard(ORDERS, List.of(letters.deadLetters(ORDERS, 1).get(0).id(), 999L)))
        .isEqualTo(1);
    assertThat(letters.discard(ORDERS)).isEqualTo(2);
    assertThat(letters.deadLetters(ORDERS, 10)).isEmpty();
    assertThat(letters.redrive(ORDERS)).isZero();
    assertThat(handled.get()).isEqualTo(3);
  }

  @Test
  void redrivenRowsAreTakenWithoutWaitingForTheScan() throws Exception {
    var mended = new AtomicBoolean();
    stage.somebodyListens();
    try (var pgonce =
        PgOnce.builder(stage.dataSource).pollInterval(Duration.ofMinutes(5)).build()) {
      pgonce
          .listen(
              ORDERS,
              (order, tx) -> {
                if (!mended.get()) {
                  throw new RejectedException("not yet");
                }
                Stage.effect(order, tx);
              })
          .start();
      stage.publish(3);
      await().atMost(SOON).until(() -> stage.deadLetters() == 3);
      mended.set(true);
      assertThat(stage.onCall().redrive(ORDERS)).isEqualTo(3);
      stage.awaitNothingWaits();
    }
    assertThat(stage.eachOnce(3)).isTrue();
  }

  /** Behind it stands a handler that has begun, with a lease or a transaction, and a deadline. */
  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h45_aLogThatThrowsLosesNeitherARowNorAPlace(Mode mode) throws Exception {
    var channel = Channel.of("unlogged", Stage.Order.class, mode);
    var out = System.out;
    var isFull = new AtomicBoolean(true);
    System.setOut(
        new PrintStream(out, true) {
          @Override
          public void write(byte[] bytes, int from, int length) {
            if (new String(bytes, from, length, UTF_8).contains("the observer")
                && isFull.compareAndSet(true, false)) {
              throw new IllegalStateException("the log is full");
            }
            super.write(bytes, from, length);
          }
        });
    try {
      var pgonce =
          stage.pgonce(
              PgOnce.builder(stage.dataSource)
                  .observer(
                      event -> {
                        if (event instanceof Event.Claimed) {
                          throw new IllegalStateException("an observer that breaks");
                        }
                      }));
      pgonce
          .install(channel)
          .listen(
              channel,
              QUICK.withConcurrency(1).withHandlerTimeout(Duration.ofMillis(500)),
              (order, tx) -> {
                Stage.effect(order, tx);
                if (order.payload().id() == 2) {
                  new CountDownLatch(1).await();
                }
              })
          .start();
      for (var id = 1; id <= 2; id++) {
        try (var connection = stage.dataSource.getConnection()) {
          Publisher.standard().publish(connection, channel, new Stage.Order(id, "item"));
        }
        stage.awaitNothingWaits();
      }
      assertThat(isFull).isFalse();
      assertThat(stage.database.queryString("select string_agg(id::text, ',') from effect"))
          .isEqualTo("1");
      // The first one's deadline was before those of the second one.
      stage.awaitSoon(() -> pgonce.status().channels().get(0).working() == 0);
      assertThat(pgonce.status().channels().get(0).stuck()).isZero();
    } finally {
      System.setOut(out);
    }
  }
}
