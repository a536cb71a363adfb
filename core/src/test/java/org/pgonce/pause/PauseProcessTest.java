package org.pgonce.pause;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PauseException;
import org.pgonce.PgOnce;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H86 and S15 where the listener is a process of its own, that is killed. */
@PgTest(PgOnceInstalled.class)
class PauseProcessTest {

  private static final Duration BOUND = Duration.ofSeconds(60);
  private static final Channel<Integer> WITNESS = Channel.of("witness", Integer.class);

  /** With a second argument, its handler finds the mail server down. */
  static final class ListenerProcess {
    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      var outage = arguments.length > 2;
      try (var pool = Stage.pooled(arguments, 6);
          var pgonce = PgOnce.builder(pool).instance("mailer-7").build()) {
        pgonce
            .listen(
                ORDERS,
                QUICK.withConcurrency(1),
                (order, tx) -> {
                  Stage.effect(order, tx);
                  if (outage) {
                    throw new PauseException("the mail server is down");
                  }
                })
            .listen(WITNESS, (number, tx) -> System.out.println("witness " + number.payload()))
            .start();
        System.out.println("started");
        pgonce.awaitStopped();
      }
    }
  }

  private static JvmProcess listener(TestDatabase database) {
    return JvmProcess.start(ListenerProcess.class, database.jdbcUrl(), database.user());
  }

  private static void awaitWitness(Stage stage, JvmProcess process, int number) throws Exception {
    stage.database.execute("select pgonce.publish('witness', '%d')".formatted(number));
    process.awaitLine("witness " + number, BOUND);
  }

  @Test
  @Tag("all")
  void h86_pausedKilledAndRestartedItIsStillPaused(TestDatabase database) throws Exception {
    try (var stage = new Stage(database)) {
      PgOnce.using(stage.dataSource).install(WITNESS);
      var operations = stage.onCall();
      try (var first = listener(database)) {
        first.awaitLine("started", BOUND);
        stage.publish(3);
        await().atMost(BOUND).until(() -> stage.eachOnce(3));
        operations.by("Anna").pause(ORDERS, "the mail server is replaced");
        first.awaitLine("by Anna: the mail server is replaced", BOUND);
        first.kill9();
      }
      stage.database.execute("delete from effect");
      stage.publish(5);
      try (var second = listener(database)) {
        second.awaitLine("by Anna: the mail server is replaced", BOUND);
        awaitWitness(stage, second, 1);
        assertThat(stage.effects()).isZero();
        operations.resume(ORDERS, "it is replaced");
        await().atMost(BOUND).until(() -> stage.eachOnce(5));
      }
    }
  }

  @Test
  @Tag("all")
  void s15_aHandlersPauseOutlivesItsProcess(TestDatabase database) throws Exception {
    try (var stage = new Stage(database)) {
      PgOnce.using(stage.dataSource).install(WITNESS);
      var operations = stage.onCall();
      stage.publish(5);
      try (var first =
          JvmProcess.start(ListenerProcess.class, database.jdbcUrl(), database.user(), "outage")) {
        first.awaitLine("pauses it: the mail server is down", BOUND);
        first.kill9();
      }
      assertThat(stage.effects()).isZero();
      try (var second = listener(database)) {
        second.awaitLine("by mailer-7: the mail server is down", BOUND);
        awaitWitness(stage, second, 1);
        assertThat(stage.effects()).isZero();
        operations.resume(ORDERS, "it is up again");
        await().atMost(BOUND).until(() -> stage.eachOnce(5));
        assertThat(stage.database.queryString("select distinct note from effect"))
            .isEqualTo("attempt 1");
      }
    }
  }
}
