package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnceException;
import org.pgonce.RejectedException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** S8: steps that were completed are not done again. */
@PgTest(GuardsInstalled.class)
@Tag("drivers")
class RecoveryPointsTest {

  record Order(long id) {}

  static final Guard<Order, String> FULFILMENT = Guard.of("fulfilment", Order.class, String.class);
  static final Order ORDER = new Order(42);

  private TestDatabase database;
  private Outside outside;
  private Guards guards;

  @BeforeEach
  void setUp(TestDatabase database) throws Exception {
    this.database = database;
    outside = new Outside();
    var pool = database.pooled(8);
    guards = Guards.using(pool);
  }

  @AfterEach
  void tearDown() {
    outside.close();
  }

  private GuardResult<String> run(Steps.Body<String> body) {
    return guards.run(FULFILMENT, "order-42", ORDER, body);
  }

  @Test
  void example_aSequenceGoesOnWhereItStood() {
    Steps.Body<String> fulfil =
        steps -> {
          var receipt = steps.once("charge", String.class, () -> outside.call("charge"));
          var label = steps.repeatable("label", String.class, () -> outside.call("label"));
          if (outside.calls("power") == 0) {
            throw new IllegalStateException("out of paper");
          }
          steps.once("mail", () -> outside.call("mail"));
          return receipt + ", " + label;
        };
    var first = (GuardResult.Failed<String>) guards.run(FULFILMENT, "order-42", ORDER, fulfil);
    assertThat(first.repeatable()).isTrue();
    assertThat(first.cause()).hasMessage("out of paper");

    // Once that is mended, the same call goes on: no second charge, no second label.
    callUnchecked("power");
    assertThat(guards.run(FULFILMENT, "order-42", ORDER, fulfil).orElseThrow())
        .isEqualTo("charge 1, label 1");

    // And a repeat of the whole gives the stored result.
    assertThat(guards.run(FULFILMENT, "order-42", ORDER, fulfil).orElseThrow())
        .isEqualTo("charge 1, label 1");
    assertThat(outside.calls("charge") + outside.calls("label") + outside.calls("mail"))
        .isEqualTo(3);
  }

  private void callUnchecked(String what) {
    try {
      outside.call(what);
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void s8_ofTwoAtOnceOneRunsAndTheOtherIsTold() throws Exception {
    var result =
        run(
            steps -> {
              var other =
                  run(
                      unused -> {
                        throw new AssertionError("two runs at once");
                      });
              assertThat(other).isInstanceOf(GuardResult.InProgress.class);
              var listed = guards.open("fulfilment", 10);
              assertThat(listed).hasSize(1);
              assertThat(listed.get(0).repeatable()).as("it is at work").isFalse();
              return steps.once("charge", String.class, () -> outside.call("charge"));
            });
    assertThat(result.orElseThrow()).isEqualTo("charge 1");
    assertThat(guards.open(10)).isEmpty();
  }

  @Test
  void s8_aRunThatIsNotHeardOfIsTakenOverAndToldSo() throws Exception {
    var quick =
        FULFILMENT.withOptions(GuardOptions.DEFAULT.withLongestCall(Duration.ofMillis(500)));
    Steps.Body<String> second =
        steps -> {
          steps.repeatable("label", () -> outside.call("label"));
          return steps.once("charge", String.class, () -> outside.call("charge"));
        };
    var first =
        guards.run(
            quick,
            "order-42",
            ORDER,
            steps -> {
              steps.repeatable(
                  "label",
                  () -> {
                    outside.call("label");
                    Awaitility.await()
                        .atMost(Duration.ofSeconds(20))
                        .until(
                            () ->
                                guards.run(quick, "order-42", ORDER, second)
                                    instanceof GuardResult.Succeeded);
                  });
              return steps.once("charge", String.class, () -> outside.call("charge"));
            });
    assertThat(first).isInstanceOf(GuardResult.InProgress.class);
    assertThatThrownBy(first::orElseThrow).hasMessageContaining("a run that has taken it over");
    assertThat(outside.calls("charge")).isEqualTo(1);
    assertThat(outside.calls("label")).isEqualTo(2); // a repeatable step, within its crash
    assertThat(run(second).orElseThrow()).isEqualTo("charge 1");
  }

  @Test
  void s8_aRunThatHasLostItsSequenceKeepsNothingMoreWhileTheOtherStillRuns() throws Exception {
    var quick =
        FULFILMENT.withOptions(GuardOptions.DEFAULT.withLongestCall(Duration.ofMillis(300)));
    var slow = FULFILMENT.withOptions(GuardOptions.DEFAULT);
    var taken = new CountDownLatch(1);
    var firstIsOver = new CountDownLatch(1);
    var threads = Executors.newSingleThreadExecutor();
    try {
      var first =
          guards.run(
              quick,
              "order-42",
              ORDER,
              steps -> {
                steps.repeatable(
                    "label",
                    () -> {
                      var unused = threads.submit(() -> takeOver(slow, taken, firstIsOver));
                      assertThat(taken.await(20, TimeUnit.SECONDS)).isTrue();
                    });
                return steps.once("charge", String.class, () -> outside.call("by-the-first"));
              });
      assertThat(first).isInstanceOf(GuardResult.InProgress.class);
      firstIsOver.countDown();
      threads.shutdown();
      assertThat(threads.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
      assertThat(run(steps -> "x").orElseThrow()).isEqualTo("charge 1");
      assertThat(outside.calls("by-the-first")).isZero();
    } finally {
      threads.shutdownNow();
    }
  }

  private GuardResult<String> takeOver(
      Guard<Order, String> sequence, CountDownLatch taken, CountDownLatch goOn) {
    return Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .until(
            () ->
                guards.run(
                    sequence,
                    "order-42",
                    ORDER,
                    steps -> {
                      taken.countDown();
                      assertThat(goOn.await(20, TimeUnit.SECONDS)).isTrue();
                      return steps.once("charge", String.class, () -> outside.call("charge"));
                    }),
            GuardResult.Succeeded.class::isInstance);
  }

  /** Nobody has taken it over: the next run need not wait until this one is taken for dead. */
  @Test
  void s8_aRunWhoseStepIsLockedGivesItsSequenceBack() throws Exception {
    database.execute("alter function pgonce_guards.hold_sequence set lock_timeout = '100ms'");
    Steps.Body<String> locked =
        steps -> {
          try (var locker = database.dataSource().getConnection()) {
            locker.setAutoCommit(false);
            locker.createStatement().execute("select from pgonce_guards.guard for update");
            return steps.once("charge", String.class, () -> outside.call("charge"));
          }
        };
    var failed = (GuardResult.Failed<String>) run(locked);
    assertThat(failed.repeatable()).isTrue();
    assertThat(failed.cause())
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("the call was not made: another transaction has locked its row")
        .hasMessageContaining("run the sequence again");
    assertThat(outside.calls("charge")).isZero();
    assertThat(
            run(steps -> steps.once("charge", String.class, () -> outside.call("charge")))
                .orElseThrow())
        .isEqualTo("charge 1");
  }

  @Test
  void s8_aStepWhoseOutcomeIsUnknownStopsTheSequenceUntilItIsSettled() throws Exception {
    Steps.Body<String> body =
        steps -> {
          var receipt =
              steps.once(
                  "charge",
                  String.class,
                  () -> {
                    outside.call("charge");
                    throw new IOException("answer lost");
                  });
          return steps.repeatable("mail", String.class, () -> receipt + outside.call("mail"));
        };
    for (var attempt = 1; attempt <= 3; attempt++) {
      var stopped = (GuardResult.Unknown<String>) run(body);
      assertThat(stopped.key().step()).isEqualTo("charge");
    }
    assertThat(outside.calls("charge")).isEqualTo(1);
    assertThat(guards.open("fulfilment", 10))
        .extracting(state -> state.key().step())
        .containsExactlyInAnyOrder("", "charge");
    var charge = new GuardKey("fulfilment", "order-42", "charge");
    assertThat(
            guards
                .probe(charge, String.class, () -> GuardAnswer.happened("found "))
                .orElseThrow()
                .orElseThrow())
        .isEqualTo("found ");
    assertThat(run(body).orElseThrow()).isEqualTo("found mail 1");
    assertThat(outside.calls("charge")).isEqualTo(1);
  }

  @Test
  void s8_aFailedStepIsFinalUntilAPersonReleasesIt() throws Exception {
    var broken = new AtomicInteger(1);
    Steps.Body<String> body =
        steps ->
            steps.once(
                "charge",
                String.class,
                () -> {
                  if (broken.get() == 1) {
                    throw new RejectedException("card expired");
                  }
                  return outside.call("charge");
                });
    var failed = (GuardResult.Failed<String>) run(body);
    assertThat(failed.repeatable()).isFalse();
    broken.set(0);
    assertThat(run(body)).isInstanceOf(GuardResult.Failed.class);
    assertThat(outside.calls("charge")).isZero();
    var listed =
        "select string_agg(concat_ws(' ', step, outcome, repeatable), '; ' order by step) from pgonce_guards.guard_status";
    assertThat(database.queryString(listed)).isEqualTo(" FAILED t; charge FAILED f");
    guards.release(new GuardKey("fulfilment", "order-42", "charge"), "ada", "a new card");
    assertThat(run(body).orElseThrow()).isEqualTo("charge 1");
    assertThat(database.queryString(listed)).isNull();
  }

  @Test
  void s8_whatCouldNotBeStoredAPersonMayGiveAndItGoesOn() throws Exception {
    Steps.Body<String> body =
        steps -> {
          var receipt =
              steps.once("charge", String.class, () -> outside.call("charge") + "\0"); // no text
          if (outside.calls("power") == 0) {
            throw new IllegalStateException("out of paper");
          }
          return receipt.equals("charge 1") ? "shipped\0" : "lost";
        };
    assertThat(run(body)).isInstanceOf(GuardResult.Failed.class);
    callUnchecked("power");
    assertThat(run(body).cause())
        .hasMessageContaining("has succeeded, but its response is not there")
        .hasMessageContaining("Guards.settle");
    var charge = new GuardKey("fulfilment", "order-42", "charge");
    assertThatThrownBy(() -> guards.release(charge, "ada", "charge it again"))
        .hasMessageContaining("has succeeded, which nobody can undo");

    guards.settle(charge, String.class, GuardAnswer.happened("charge 1"), "ada", "the bank's list");

    assertThat(run(body).orElseThrow()).isEqualTo("shipped\0");
    assertThatThrownBy(() -> run(body).orElseThrow()).hasMessageContaining("Guards.settle");
    guards.settle(
        FULFILMENT.key("order-42"),
        String.class,
        GuardAnswer.happened("shipped"),
        "ada",
        "so be it");
    assertThat(run(body).orElseThrow()).isEqualTo("shipped");
    assertThat(outside.calls("charge")).isEqualTo(1);
    assertThatThrownBy(
            () ->
                guards.settle(
                    charge, String.class, GuardAnswer.happened("another"), "ada", "again"))
        .hasMessageContaining("has succeeded, which nobody can undo");
    assertThat(
            database.queryString(
                "select string_agg(concat_ws(' ', step, action, was, became, who), '; ' order by id) from pgonce_guards.guard_history"))
        .isEqualTo("charge SETTLED SUCCEEDED SUCCEEDED ada;  SETTLED SUCCEEDED SUCCEEDED ada");
  }

  /** As a later version of the body has it. */
  @Test
  void s8_aStepThatHadNoEffectMayBecomeRepeatableAndIsKeptThen() {
    var sequence =
        FULFILMENT.withOptions(GuardOptions.DEFAULT.withFailures(e -> FailureMeaning.NO_EFFECT));
    guards.run(
        sequence,
        "order-42",
        ORDER,
        steps ->
            steps.once(
                "label",
                String.class,
                () -> {
                  throw new IOException("refused");
                }));
    var broken = new AtomicBoolean(true);
    Steps.Body<String> later =
        steps -> {
          var label = steps.repeatable("label", String.class, () -> outside.call("label"));
          if (broken.getAndSet(false)) {
            throw new IllegalStateException("out of paper");
          }
          return label;
        };
    assertThat(guards.run(sequence, "order-42", ORDER, later))
        .isInstanceOf(GuardResult.Failed.class);
    assertThat(guards.run(sequence, "order-42", ORDER, later).orElseThrow()).isEqualTo("label 1");
  }

  @Test
  void s8_aBodyMayGoAnotherWayWhereAStepWasNotDone() {
    var result =
        run(
            steps -> {
              try {
                return steps.once(
                    "charge",
                    String.class,
                    () -> {
                      throw new IllegalStateException("card expired");
                    });
              } catch (StepNotDoneException e) {
                return steps.once("invoice", String.class, () -> outside.call("invoice"));
              }
            });
    assertThat(result.orElseThrow()).isEqualTo("invoice 1");
  }

  @Test
  void s7_aSequenceWithAnotherRequestAStepTwiceOrTheScopeOfAGuardIsAnError() {
    run(steps -> "done").orElseThrow();
    assertThatThrownBy(() -> guards.run(FULFILMENT, "order-42", new Order(43), steps -> "x"))
        .isInstanceOf(RequestMismatchException.class);
    var twice =
        guards.run(
            FULFILMENT,
            "twice",
            ORDER,
            steps -> {
              steps.repeatable("a", () -> outside.call("a"));
              steps.repeatable("a", () -> outside.call("a"));
              return "x";
            });
    assertThat(((GuardResult.Failed<String>) twice).cause())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("has step a twice in one run");
    assertThat(outside.calls("a")).isEqualTo(1);
    var guard = Guard.of("fulfilment", Order.class, String.class);
    assertThatThrownBy(() -> guards.once(guard, "order-42", ORDER, () -> "x"))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("stored as a SEQUENCE, not as a CALL");
  }

  @Test
  void s8_stepsAreKeptUntilTheirSequenceIsAtItsEndAndGoWithIt() throws Exception {
    var brief = FULFILMENT.withOptions(GuardOptions.DEFAULT.withRetention(Duration.ZERO));
    Steps.Body<String> body =
        steps -> {
          steps.once("charge", () -> outside.call("charge"));
          steps.repeatable("label", () -> outside.call("label"));
          if (outside.calls("paper") == 0) {
            throw new IllegalStateException("out of paper");
          }
          return "shipped";
        };
    assertThat(guards.run(brief, "k", ORDER, body)).isInstanceOf(GuardResult.Failed.class);
    assertThat(guards.purge(100)).isZero();
    outside.call("paper");
    assertThat(guards.run(brief, "k", ORDER, body).orElseThrow()).isEqualTo("shipped");
    assertThat(guards.purge(100)).isEqualTo(1);
    assertThat(database.queryLong("select count(*) from pgonce_guards.guard")).isZero();
    assertThat(outside.calls("charge") + outside.calls("label")).isEqualTo(2);
    // Given up by a person, it is at its end, too; but not deleted while one of its steps is open.
    run(
        steps -> {
          steps.once(
              "charge",
              () -> {
                throw new IOException("reset");
              });
          return "x";
        });
    guards.settle(
        FULFILMENT.key("order-42"), String.class, GuardAnswer.didNotHappen("n"), "a", "b");
    assertThat(run(steps -> "resumed")).isInstanceOf(GuardResult.Failed.class);
    database.execute(
        "update pgonce_guards.guard set keep_until = clock_timestamp() where step = ''");
    assertThat(guards.purge(100)).isZero();
    guards.release(new GuardKey("fulfilment", "order-42", "charge"), "a", "b");
    assertThat(guards.purge(100)).isEqualTo(1);
  }

  @Test
  void s8_manyRunsAtOnceDoEachStepOnce() throws Exception {
    var threads = Executors.newFixedThreadPool(16);
    try {
      var together = new CountDownLatch(16);
      for (var i = 0; i < 16; i++) {
        var unused =
            threads.submit(
                () -> {
                  together.countDown();
                  together.await();
                  return run(
                      steps -> {
                        steps.once("charge", () -> outside.call("charge"));
                        steps.repeatable("label", () -> outside.call("label"));
                        return "done";
                      });
                });
      }
      threads.shutdown();
      assertThat(threads.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
    } finally {
      threads.shutdownNow();
    }
    assertThat(outside.calls("charge")).isEqualTo(1);
    assertThat(outside.calls("label")).isEqualTo(1);
  }
}
