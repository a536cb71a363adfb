package org.pgonce.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.stage.ListenerProcess;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.Seed;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;
import org.pgonce.wakeup.RandomWriter.Course;

/**
 * Writers do not notify while the gate is open, listeners die and freeze, the server crashes: each
 * row that is committed is handled, once; and soon where all is well again.
 */
@Tag("all")
@PgTest(PgOnceInstalled.class)
class WakeUpsCampaignTest {

  /** For a soak: -Dpgonce.test.wakeups.seconds=3600. */
  private static final Duration LENGTH =
      Duration.ofSeconds(Long.getLong("pgonce.test.wakeups.seconds", 15));

  private static final Duration BOUND = Duration.ofSeconds(90);
  // Of a row that was committed while all is well, though its writer has read an open gate long
  // ago.
  private static final Duration LATEST = Duration.ofMillis(1_500);
  private static final Duration BETWEEN_CALMS = Duration.ofSeconds(30);
  private static final int MUCH = 5_000;
  private static final int WRITERS = 6;
  private static final int LISTENERS = 3;

  private static final String CLOSED = "select pgonce.needs_notify(pgonce.gate_of('orders'))::int";

  private final Course course = new Course();
  private final List<JvmProcess> listeners = new ArrayList<>();
  private int kept;
  private int calms;
  private long latest;

  @Test
  void h49_whatIsCommittedIsHandledOnce() throws Exception {
    var random = Seed.random();
    try (var server = TestServer.start(Map.of("max_prepared_transactions", "20"));
        var database = server.createDatabase();
        var stage = new Stage(database)) {
      database.execute("create table written (id bigint primary key)");
      var ids = new AtomicLong();
      var writers =
          IntStream.range(0, WRITERS)
              .mapToObj(
                  n ->
                      new RandomWriter(
                          database.dataSource(), random.nextLong(), "w" + n, ids, course))
              .toList();
      for (var n = 0; n < LISTENERS; n++) {
        listeners.add(ListenerProcess.begin(database));
      }
      var running =
          writers.stream()
              .map(one -> CompletableFuture.runAsync(one, task -> new Thread(task).start()))
              .toList();
      faults(random, server, stage);
      course.stop();
      running.forEach(CompletableFuture::join);
      commitWhatIsPrepared(database);

      awaitAllHandled(stage);
      assertThat(database.queryString(Stage.NOT_ONCE)).as("id and how often handled").isNull();
      var all = writers.stream().mapToLong(RandomWriter::transactions).sum();
      var unannounced = writers.stream().mapToLong(RandomWriter::unannounced).sum();
      System.out.printf(
          "%d committed; of %d transactions %d had read an open gate, %d of them stayed open until it was closed and were handled within %d ms%n",
          database.queryLong("select count(*) from written"), all, unannounced, kept, latest);
      // How many there are besides, the machine decides: slow writers are not spared.
      assertThat(kept).isGreaterThanOrEqualTo(calms).isPositive();
    } finally {
      course.stop();
      listeners.forEach(JvmProcess::close);
    }
  }

  /** However much there is: it fails when nothing more is handled for as long as the bound. */
  private static void awaitAllHandled(Stage stage) throws SQLException {
    var waiting = stage.waiting();
    while (waiting > 0) {
      var before = waiting;
      stage.awaitWithin(BOUND, () -> stage.waiting() < before);
      waiting = stage.waiting();
    }
  }

  private void faults(Random random, TestServer server, Stage stage)
      throws InterruptedException, SQLException {
    var database = stage.database;
    var calm = System.nanoTime() + BETWEEN_CALMS.toNanos();
    var end = System.nanoTime() + LENGTH.toNanos();
    var crashes = 0;
    while (System.nanoTime() < end) {
      course.requireWriters();
      if (System.nanoTime() - calm > 0) {
        calm(stage);
        calm = System.nanoTime() + BETWEEN_CALMS.toNanos();
      }
      RandomWriter.pause(random.nextInt(500));
      course.rest(random.nextInt(3) == 0 || isBehind(database));
      var victim = random.nextInt(LISTENERS);
      switch (random.nextInt(8)) {
        case 0, 1 -> {
          listeners.get(victim).kill9();
          listeners.set(victim, ListenerProcess.begin(database));
        }
        case 2, 3 -> {
          listeners.get(victim).sigstop();
          RandomWriter.pause(random.nextInt(1_500));
          listeners.get(victim).sigcont();
        }
        case 4 -> {
          if (crashes++ < LENGTH.toSeconds() / 10) {
            server.stopImmediately();
            server.restart();
          }
        }
        default -> {}
      }
    }
    calm(stage);
  }

  /**
   * Nothing else happens that would have a listener claim: transactions that have read an open gate
   * are committed when it is closed. The poll finds their rows.
   */
  private void calm(Stage stage) throws SQLException {
    course.rest(false);
    course.keepOpen(true);
    if (!someAreKeptOpen(stage.database)) {
      System.out.println("no calm: the machine is too slow by now for the gate to open");
      course.keepOpen(false);
      return;
    }
    course.rest(true);
    requireListeners(stage);
    awaitAllHandled(stage);
    stage.awaitWithin(BOUND, () -> stage.database.queryLong(CLOSED) == 1);
    kept += course.open();
    calms++;
    course.keepOpen(false);
    assertHandledSoon(stage);
    // What a crash left prepared would keep each deleted row for all polls that follow.
    commitWhatIsPrepared(stage.database);
    awaitAllHandled(stage);
    course.rest(false);
  }

  private void assertHandledSoon(Stage stage) throws SQLException {
    var end = System.nanoTime() + BOUND.toNanos();
    while (course.open() > 0 && System.nanoTime() < end) {
      RandomWriter.pause(1);
    }
    var committed = System.nanoTime();
    while (stage.waiting() > 0 && System.nanoTime() < end) {
      RandomWriter.pause(5);
    }
    var took = Duration.ofNanos(System.nanoTime() - committed);
    latest = Math.max(latest, took.toMillis());
    assertThat(took).as("behind the commit").isLessThanOrEqualTo(LATEST);
  }

  private boolean someAreKeptOpen(TestDatabase database) throws SQLException {
    var end = System.nanoTime() + BOUND.toNanos();
    while (System.nanoTime() < end) {
      course.requireWriters();
      startAgain(database);
      // Those who are left may be too few, and the machine too slow, for the gate to open again.
      if (course.open() > WRITERS / 3 || (course.open() > 0 && database.queryLong(CLOSED) == 1)) {
        return true;
      }
      RandomWriter.pause(100);
    }
    return course.open() > 0;
  }

  /**
   * Whoever found no server when it began has ended, as it must; others do not end by themselves.
   */
  private void startAgain(TestDatabase database) {
    for (var n = 0; n < LISTENERS; n++) {
      var one = listeners.get(n);
      if (!one.isAlive()) {
        assertThat(one.lines()).as("had begun, and ended by itself").doesNotContain("started");
        listeners.set(n, ListenerProcess.begin(database));
      }
    }
  }

  /** Before nobody looks after them: each one listens. */
  private void requireListeners(Stage stage) {
    stage.awaitWithin(
        BOUND,
        () -> {
          startAgain(stage.database);
          return listeners.stream().allMatch(one -> one.lines().contains("started"));
        });
  }

  /** Writers wait for listeners then: with a long backlog nobody needs a wake-up. */
  private static boolean isBehind(TestDatabase database) {
    try {
      return database.queryLong("select count(*) from pgonce.notification") > MUCH;
    } catch (SQLException e) {
      return false; // the server comes up
    }
  }

  private static void commitWhatIsPrepared(TestDatabase database) throws SQLException {
    for (var id = prepared(database); id != null; id = prepared(database)) {
      database.execute("commit prepared '" + id + "'");
    }
  }

  private static @Nullable String prepared(TestDatabase database) throws SQLException {
    return database.queryString("select min(gid) from pg_prepared_xacts");
  }
}
