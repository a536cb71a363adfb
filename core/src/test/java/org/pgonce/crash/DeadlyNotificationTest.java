package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.crash.CrashEffects.BOUND;
import static org.pgonce.crash.CrashEffects.channel;
import static org.pgonce.stage.Stage.QUICK;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A notification whose handler ends its JVM, each time. */
@Tag("all")
@PgTest(PgOnceInstalled.class)
class DeadlyNotificationTest {

  private static final int DIED = 77;
  private static final int MAX_ATTEMPTS = 3;
  private static final long DEADLY = 3;
  private static final int ORDERS = 6;

  // A process that is starved for as long would lose its lease, and count as dead once more.
  private static final Duration LEASE = Duration.ofSeconds(3);

  /** A listener that the deadly one ends, as a segmentation fault or the kernel would. */
  static final class ListenerProcess {
    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      var login =
          new Login(arguments[0], Integer.parseInt(arguments[1]), arguments[2], arguments[3], "");
      try (var pool = login.pooled(10);
          var pgonce = PgOnce.builder(pool).pollInterval(Duration.ofMillis(300)).build()) {
        pgonce
            .listen(
                channel(Mode.valueOf(arguments[4])),
                QUICK
                    .withMaxAttempts(MAX_ATTEMPTS)
                    .withConcurrency(Integer.parseInt(arguments[5]))
                    .withLease(LEASE),
                (order, tx) -> {
                  Stage.effect(order, tx);
                  var deadly = order.payload().id() == DEADLY;
                  // Not a wait for anything: all of them are at work when the deadly one is done.
                  TimeUnit.MILLISECONDS.sleep(Long.parseLong(arguments[6]) / (deadly ? 2 : 1));
                  if (deadly) {
                    Runtime.getRuntime().halt(DIED);
                  }
                })
            .start()
            .awaitStopped();
      }
    }
  }

  @Test
  void h47_exactlyOnce_itIsADeadLetterAfterMaxAttemptsPlusOneDeaths(TestDatabase database)
      throws Exception {
    assertThat(deaths(Mode.EXACTLY_ONCE, 1, 0, database)).isBetween(1, MAX_ATTEMPTS + 1);
    assertLetter("ATTEMPTS_USED_UP", database);
  }

  @Tag("all")
  @Test
  void h47_atLeastOnce_itIsADeadLetterAfterMaxAttemptsDeaths(TestDatabase database)
      throws Exception {
    assertThat(deaths(Mode.AT_LEAST_ONCE, 1, 0, database)).isEqualTo(MAX_ATTEMPTS);
    assertLetter("ATTEMPTS_USED_UP", database);
  }

  @Test
  @Tag("all")
  void h47_atMostOnce_itIsADeadLetterAfterOneDeath(TestDatabase database) throws Exception {
    assertThat(deaths(Mode.AT_MOST_ONCE, 1, 0, database)).isEqualTo(1);
    assertLetter("OUTCOME_UNKNOWN", database);
  }

  @Tag("all")
  @Test
  void h47_exactlyOnce_thoseThatAreAtWorkAtEachDeathAreDoneOnce(TestDatabase database)
      throws Exception {
    assertThat(deaths(Mode.EXACTLY_ONCE, ORDERS, 400, database)).isBetween(1, MAX_ATTEMPTS + 1);
    assertLetter("ATTEMPTS_USED_UP", database);
  }

  @Tag("all")
  @Test
  void h47_atLeastOnce_thoseThatAreAtWorkAtEachDeathAreDone(TestDatabase database)
      throws Exception {
    assertThat(deaths(Mode.AT_LEAST_ONCE, ORDERS, 400, database)).isEqualTo(MAX_ATTEMPTS);
    assertLetter("ATTEMPTS_USED_UP", database);
  }

  /**
   * Starts the listener again as often as it dies; how often that was. The others are done.
   *
   * @param ms how long a handler takes
   */
  private static int deaths(Mode mode, int concurrency, int ms, TestDatabase database)
      throws Exception {
    try (var stage = new Stage(database)) {
      PgOnce.using(stage.dataSource).install(channel(mode));
      try (var connection = stage.dataSource.getConnection()) {
        Publisher.standard()
            .publishAll(
                connection,
                channel(mode),
                LongStream.rangeClosed(1, ORDERS).mapToObj(id -> new Order(id, "item")).toList());
      }
      var deaths = 0;
      while (stage.waiting() > 0) {
        assertThat(deaths).isLessThanOrEqualTo(MAX_ATTEMPTS + 1);
        try (var listener =
            JvmProcess.of(ListenerProcess.class)
                .arguments(
                    database.host(),
                    String.valueOf(database.port()),
                    database.name(),
                    database.user(),
                    mode.name(),
                    String.valueOf(concurrency),
                    String.valueOf(ms))
                .start()) {
          await().atMost(BOUND).until(() -> !listener.isAlive() || stage.waiting() == 0);
          if (!listener.isAlive()) {
            assertThat(listener.awaitExit(BOUND)).isEqualTo(DIED);
            deaths++;
          }
        }
      }
      assertThat(database.queryString("select string_agg(id::text, ' ' order by id) from effect"))
          .isEqualTo("1 2 4 5 6");
      return deaths;
    }
  }

  private static void assertLetter(String reason, TestDatabase database) throws Exception {
    assertThat(
            database.queryString(
                "select string_agg(reason || ' ' || (payload ->> 'id'), ',') from pgonce.dead_letter"))
        .isEqualTo(reason + " " + DEADLY);
  }
}
