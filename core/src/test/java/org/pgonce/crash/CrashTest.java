package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.spi.ListenAddress;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.Seed;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/**
 * The crash matrix in EXACTLY_ONCE: whoever dies, and wherever, the effect in the database is there
 * once.
 */
@PgTest(PgOnceInstalled.class)
class CrashTest {

  private static final Duration BOUND = Duration.ofSeconds(60);

  /**
   * A listener in a process of its own: one effect per order, slowly enough to be killed inside.
   */
  static final class ListenerProcess {
    // No handler here takes long: those that are killed are not waited for.
    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    // With a fourth argument, all that run are waited for.
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      var timeout = arguments.length > 3 ? PATIENCE : TIMEOUT;
      try (var pool = Stage.pooled(arguments, 6);
          var pgonce =
              PgOnce.builder(pool)
                  .pollInterval(Duration.ofMillis(500))
                  .stopTimeout(PATIENCE)
                  .build()) {
        pgonce.listen(
            ORDERS,
            QUICK.withMaxAttempts(1_000).withHandlerTimeout(timeout),
            (order, tx) -> {
              Stage.effect(order, tx);
              if (arguments.length > 2) {
                tx.query("select pg_sleep(" + arguments[2] + ")", row -> 1);
              }
            });
        pgonce.start();
        System.out.println("started");
        pgonce.awaitStopped();
        System.out.println("stopped");
      }
    }
  }

  private static JvmProcess listener(TestDatabase database, String... sleep) {
    var arguments = new ArrayList<>(List.of(database.jdbcUrl(), database.user()));
    arguments.addAll(List.of(sleep));
    return JvmProcess.start(ListenerProcess.class, arguments.toArray(String[]::new));
  }

  @Test
  void s01_h49_randomKill9OfListenerProcessesLosesAndDoublesNothing(TestDatabase database)
      throws Exception {
    var random = Seed.random();
    var listeners = new ArrayList<JvmProcess>();
    try (var stage = new Stage(database)) {
      for (var i = 0; i < 3; i++) {
        listeners.add(listener(database, "0.005"));
      }
      listeners.get(0).awaitLine("started", BOUND);
      stage.publish(1_500);
      for (var kills = 0; kills < 5; kills++) {
        var target = 250L * (kills + 1);
        await()
            .atMost(BOUND)
            .pollInterval(Duration.ofMillis(20))
            .until(() -> stage.effects() >= target);
        var victim = random.nextInt(listeners.size());
        listeners.get(victim).kill9();
        listeners.set(victim, listener(database, "0.005"));
      }
      await().atMost(BOUND).until(() -> stage.waiting() == 0);
      assertThat(stage.eachOnce(1_500)).isTrue();
      assertThat(stage.deadLetters()).isZero();
    } finally {
      listeners.forEach(JvmProcess::close);
    }
  }

  @Test
  @Tag("all")
  void h49_killedInTheHandlerItIsHandledAgainByAnother(TestDatabase database) throws Exception {
    try (var stage = new Stage(database);
        var first = listener(database, "3600")) {
      first.awaitLine("started", BOUND);
      stage.publish(1);
      database.backends().awaitRunning("pg_sleep(3600)");
      first.kill9();
      try (var second = listener(database)) {
        await().atMost(BOUND).until(() -> stage.waiting() == 0);
        assertThat(stage.eachOnce(1)).isTrue();
        assertThat(second.isAlive()).isTrue();
      }
    }
  }

  @Test
  @Tag("drivers")
  void h49_aTerminatedSessionIsAFailedAttemptAndTakesEffectOnce(TestDatabase database)
      throws Exception {
    try (var stage = new Stage(database)) {
      var attempts = new AtomicInteger();
      stage
          .pgonce()
          .listen(
              ORDERS,
              // Another worker could take the freed row before the failure is recorded.
              QUICK.withConcurrency(1),
              (order, tx) -> {
                Stage.effect(order, tx);
                if (attempts.incrementAndGet() == 1) {
                  tx.query("select pg_terminate_backend(pg_backend_pid())", row -> 1);
                }
              })
          .start();
      stage.publish(1);
      await().atMost(BOUND).until(() -> stage.waiting() == 0);
      assertThat(database.queryString("select note from effect")).isEqualTo("attempt 2");
    }
  }

  @Test
  @Tag("drivers")
  void h50_aCommitCutBeforeAfterOrHangingTakesEffectOnce(TestDatabase database) throws Exception {
    try (var stage = new Stage(database);
        var proxy = FaultProxy.to(database)) {
      var pool = database.login().through(proxy).pooled(4);
      var address =
          new ListenAddress(
              database.host(), database.port(), database.name(), database.user(), null, Map.of());
      var armed = new AtomicInteger();
      var options =
          QUICK.withConcurrency(1).withMaxAttempts(20).withHandlerTimeout(Duration.ofSeconds(4));
      try (pool;
          var pgonce =
              PgOnce.builder(pool)
                  .listenAddress(address)
                  .pollInterval(Duration.ofMillis(300))
                  .build()) {
        pgonce
            .listen(
                ORDERS,
                options,
                (order, tx) -> {
                  Stage.effect(order, tx);
                  // Of this handler, and not of a scan meanwhile.
                  var completed = proxy.after("DELETE FROM pgonce.notification");
                  if (order.attempt() == 1) {
                    switch ((int) order.payload().id()) {
                      case 2 -> completed.cutBeforeForwarding("COMMIT");
                      case 4 -> completed.cutAfterForwarding("COMMIT");
                      case 6 -> completed.holdAnswerTo("COMMIT");
                      default -> {
                        return;
                      }
                    }
                    armed.incrementAndGet();
                  }
                })
            .start();
        stage.publish(8);
        await().atMost(BOUND).until(() -> stage.waiting() == 0);
        proxy.pass();
        assertThat(armed.get()).isEqualTo(3);
        assertThat(stage.eachOnce(8)).isTrue();
        assertThat(stage.deadLetters()).isZero();
        // Cut before it arrived: done again. After: it was done, and is not.
        assertThat(
                database.queryString(
                    "select string_agg(note, ',' order by id) from effect where id in (2, 4)"))
            .isEqualTo("attempt 2,attempt 1");
      }
    }
  }

  @Test
  @Tag("drivers")
  void h70_aServerThatIsKilledComesBackAndNothingIsLostOrDoubled() throws Exception {
    try (var server = TestServer.start();
        var database = server.createDatabase();
        var stage = new Stage(database)) {
      var pool = database.pooled(6);
      pool.setConnectionTimeout(1_000);
      stage.pgonce(pool).listen(ORDERS, QUICK.withMaxAttempts(1_000), Stage::effect).start();
      stage.publish(3_000);
      var target = 0L;
      for (var crash : List.<Runnable>of(server::killPostmaster, server::stopImmediately)) {
        // Not counted from what is done by now: that may be all of it, where this thread is slow.
        target += 500;
        var enough = target;
        await()
            .atMost(BOUND)
            .pollInterval(Duration.ofMillis(10))
            .until(() -> stage.effects() >= enough);
        crash.run();
        server.restart();
        var up = System.nanoTime();
        var before = stage.effects();
        await()
            .atMost(Duration.ofSeconds(20))
            .pollInterval(Duration.ofMillis(10))
            .until(() -> stage.effects() > before || stage.waiting() == 0);
        System.out.println(
            "goes on after "
                + Duration.ofNanos(System.nanoTime() - up).toMillis()
                + " ms of the server being up");
      }
      await().atMost(BOUND).until(() -> stage.waiting() == 0);
      assertThat(stage.eachOnce(3_000)).isTrue();
    }
  }

  @Tag("all")
  @Test
  void h85_sigtermDrainsTheHandlersThatRun(TestDatabase database) throws Exception {
    try (var stage = new Stage(database);
        // So long that it is told in time, however slow this thread is.
        var process = listener(database, "5", "patient")) {
      process.awaitLine("started", BOUND);
      stage.publish(20);
      await().atMost(BOUND).until(() -> !database.backends().running("pg_sleep(5)").isEmpty());
      process.sigterm();
      assertThat(process.awaitExit(Duration.ofSeconds(30))).isEqualTo(143);
      assertThat(stage.effects()).isBetween(1L, 8L);
      assertThat(stage.effects() + stage.waiting()).isEqualTo(20);
      assertThat(stage.deadLetters()).isZero();
    }
  }

  @Test
  @Tag("all")
  void h49_aHolderThatIsFrozenLosesItsSessionAndWithItTheRow(TestDatabase database)
      throws Exception {
    try (var stage = new Stage(database);
        // Longer than it may: it is at work whenever it is frozen.
        var frozen = listener(database, "3")) {
      frozen.awaitLine("started", BOUND);
      stage.publish(1);
      database.backends().awaitRunning("pg_sleep(3)");
      // Its system goes on to acknowledge what the server sends: nothing tells the server.
      frozen.sigstop();
      try (var other = listener(database)) {
        await().atMost(BOUND).until(() -> stage.waiting() == 0);
        frozen.sigcont();
        // The thawed one tells what came of its attempt: from then on it cannot do harm any more.
        frozen.awaitLine("notification 1 of channel orders", BOUND);
        assertThat(other.isAlive()).isTrue();
      }
      assertThat(stage.eachOnce(1)).isTrue();
    }
  }
}
