package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.ds.PGSimpleDataSource;

/** S6 and S8: kill -9 of the process that calls, wherever it is. */
@PgTest(GuardsInstalled.class)
class GuardCrashTest {

  private static final Duration BOUND = Duration.ofSeconds(60);
  private static final GuardOptions QUICK =
      GuardOptions.DEFAULT.withLongestCall(Duration.ofSeconds(2));

  private static final Guard<String, String> PAYMENT =
      Guard.of("payment", String.class, String.class).withOptions(QUICK);
  private static final Guard<String, String> FULFILMENT =
      Guard.of("fulfilment", String.class, String.class).withOptions(QUICK);

  /** Makes the call, or runs the sequence, in a process of its own. */
  static final class Caller {
    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      var dataSource = new PGSimpleDataSource();
      dataSource.setUrl(arguments[0]);
      dataSource.setUser(arguments[1]);
      var guards = Guards.builder(dataSource).instance("the victim").build();
      if (arguments[3].equals("guard")) {
        System.out.println(
            guards
                .once(PAYMENT, "k", "r", () -> Outside.call(arguments[2], "charge"))
                .orElseThrow());
      } else {
        System.out.println(fulfil(guards, arguments[2]).orElseThrow());
      }
    }
  }

  private static GuardResult<String> fulfil(Guards guards, String url) {
    return guards.run(
        FULFILMENT,
        "k",
        "r",
        steps -> {
          var label = steps.repeatable("label", String.class, () -> Outside.call(url, "label"));
          Outside.call(url, "between-label-and-charge");
          var receipt = steps.once("charge", String.class, () -> Outside.call(url, "charge"));
          Outside.call(url, "between-charge-and-mail");
          var mail = steps.repeatable("mail", String.class, () -> Outside.call(url, "mail"));
          Outside.call(url, "after-mail");
          return label + ", " + receipt + ", " + mail;
        });
  }

  /** Starts the process, and kills it when the outside has acted and not answered yet. */
  private static void killAt(String point, String what, TestDatabase database, Outside outside)
      throws Exception {
    outside.hold(point);
    try (var victim =
        JvmProcess.start(Caller.class, database.jdbcUrl(), database.user(), outside.url(), what)) {
      await()
          .atMost(BOUND)
          .until(
              () -> {
                assertThat(victim.isAlive()).as("%s", victim.lines()).isTrue();
                return outside.calls(point) == 1;
              });
      victim.kill9();
    }
    outside.release(point);
  }

  @Test
  void s6_h49_killedInTheCallItIsUnknownListedAndNeverRetried(TestDatabase database)
      throws Exception {
    try (var outside = new Outside()) {
      killAt("charge", "guard", database, outside);
      var guards = Guards.using(database.dataSource());
      await()
          .atMost(BOUND)
          .until(
              () ->
                  guards.once(PAYMENT, "k", "r", () -> outside.call("charge"))
                      instanceof GuardResult.Unknown);
      for (var attempt = 0; attempt < 20; attempt++) {
        assertThat(guards.once(PAYMENT, "k", "r", () -> outside.call("charge")))
            .isInstanceOf(GuardResult.Unknown.class);
      }
      assertThat(outside.calls("charge")).isEqualTo(1);
      assertThat(
              database.queryString(
                  "select concat_ws(' ', scope, key, outcome, instance, age > interval '2 s') from pgonce_guards.guard_status"))
          .isEqualTo("payment k UNKNOWN the victim t");
      assertThat(guards.purge(1_000)).isZero();
      var settled =
          guards.probe(
              PAYMENT.key("k"),
              String.class,
              () -> GuardAnswer.happened("charge " + outside.calls("charge")));
      assertThat(settled.orElseThrow().orElseThrow()).isEqualTo("charge 1");
      assertThat(guards.once(PAYMENT, "k", "r", () -> outside.call("charge")).orElseThrow())
          .isEqualTo("charge 1");
      assertThat(outside.calls("charge")).isEqualTo(1);
    }
  }

  @ParameterizedTest(name = "killed at {0}: labels {1}, mails {2}")
  @CsvSource({
    "label, 2, 1",
    "between-label-and-charge, 1, 1",
    "charge, 1, 1",
    "between-charge-and-mail, 1, 1",
    "mail, 1, 2",
    "after-mail, 1, 1"
  })
  @Tag("all")
  void s8_h49_killedAtEachPointEarlierStepsAreNotRedone(
      String point, int labels, int mails, TestDatabase database) throws Exception {
    try (var outside = new Outside()) {
      killAt(point, "sequence", database, outside);
      var guards = Guards.using(database.dataSource());
      // The dead run has the sequence for 2 s.
      await()
          .atMost(BOUND)
          .until(() -> !(fulfil(guards, outside.url()) instanceof GuardResult.InProgress));
      if (point.equals("charge")) {
        var stopped = (GuardResult.Unknown<String>) fulfil(guards, outside.url());
        var unused =
            Guards.using(database.dataSource())
                .probe(stopped.key(), String.class, () -> GuardAnswer.happened("charge 1"));
      }
      assertThat(fulfil(guards, outside.url()).orElseThrow())
          .isEqualTo("label " + labels + ", charge 1, mail " + mails);
      assertThat(outside.calls("label")).isEqualTo(labels);
      assertThat(outside.calls("charge")).isEqualTo(1);
      assertThat(outside.calls("mail")).isEqualTo(mails);
    }
  }
}
