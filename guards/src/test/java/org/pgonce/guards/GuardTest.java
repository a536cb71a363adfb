package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
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

/** S6 and S7: one call per key, and what the others are told. */
@PgTest(GuardsInstalled.class)
@Tag("drivers")
class GuardTest {

  record Charge(String account, long cents) {}

  record Receipt(String number) {}

  static final Guard<Charge, Receipt> PAYMENT = Guard.of("payment", Charge.class, Receipt.class);
  static final Charge CHARGE = new Charge("acc-7", 1_999);

  private TestDatabase database;
  private Outside bank;
  private Guards guards;

  @BeforeEach
  void setUp(TestDatabase database) throws Exception {
    this.database = database;
    bank = new Outside();
    guards = Guards.builder(database.pooled(24)).instance("shop-1").build();
  }

  @AfterEach
  void tearDown() {
    bank.close();
  }

  private Receipt charge() throws Exception {
    return new Receipt(bank.call("charge"));
  }

  private GuardResult<Receipt> pay(String key) {
    return guards.once(PAYMENT, key, CHARGE, this::charge);
  }

  @Test
  void example_aPaymentIsMadeOnceAndItsReceiptIsKept() {
    // The guard is committed before the call, its outcome after it.
    var paid = guards.once(PAYMENT, "order-42", CHARGE, this::charge);
    assertThat(paid.orElseThrow()).isEqualTo(new Receipt("charge 1"));

    // Whoever comes again, here or elsewhere, gets the same receipt, and no second charge.
    var again = guards.once(PAYMENT, "order-42", CHARGE, this::charge);
    assertThat(again)
        .isEqualTo(
            new GuardResult.Succeeded<>(
                PAYMENT.key("order-42"), new Receipt("charge 1"), true, null));
    assertThat(bank.calls("charge")).isEqualTo(1);
  }

  @Test
  void example_aProbeSettlesWhatNobodyKnows() throws Exception {
    var result =
        guards.once(
            PAYMENT,
            "order-42",
            CHARGE,
            () -> {
              bank.call("charge");
              throw new IOException("connection reset"); // the bank has acted, its answer is lost
            });
    assertThat(result).isInstanceOf(GuardResult.Unknown.class);
    assertThatThrownBy(() -> pay("order-42").orElseThrow())
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("the outcome of guard payment key order-42 is unknown");

    for (var open : guards.open("payment", 100)) {
      var settled =
          guards.probe(
              open.key(),
              Receipt.class,
              () ->
                  bank.calls("charge") > 0
                      ? GuardAnswer.happened(new Receipt("found"))
                      : GuardAnswer.didNotHappen("the bank has no such charge"));
      assertThat(settled.orElseThrow().orElseThrow()).isEqualTo(new Receipt("found"));
    }
    assertThat(pay("order-42").orElseThrow()).isEqualTo(new Receipt("found"));
    assertThat(bank.calls("charge")).isEqualTo(1);
    assertThat(guards.open(10)).isEmpty();
  }

  /** Runs it in 64 threads at once and returns what each was told. */
  private static <T> List<T> in64Threads(Callable<T> work) throws Exception {
    var threads = Executors.newFixedThreadPool(64);
    try {
      var together = new CountDownLatch(64);
      List<Future<T>> futures = new ArrayList<>();
      for (var i = 0; i < 64; i++) {
        futures.add(
            threads.submit(
                () -> {
                  together.countDown();
                  together.await();
                  return work.call();
                }));
      }
      var results = new ArrayList<T>();
      for (var future : futures) {
        results.add(future.get(60, TimeUnit.SECONDS));
      }
      return results;
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void s6_64ThreadsWithTheSameKeyMakeOneCallAndTheOthersLearnWhatIsThere() throws Exception {
    bank.hold("charge");
    var told = new AtomicInteger();
    var results =
        in64Threads(
            () -> {
              var result = pay("order-1");
              // The one that calls comes last: the bank answers when all others have been told.
              if (told.incrementAndGet() == 63) {
                bank.release("charge");
              }
              return result;
            });
    assertThat(bank.calls("charge")).isEqualTo(1);
    assertThat(results).filteredOn(GuardResult.Succeeded.class::isInstance).hasSize(1);
    assertThat(results).filteredOn(GuardResult.InProgress.class::isInstance).hasSize(63);
    assertThat(results)
        .filteredOn(GuardResult.InProgress.class::isInstance)
        .allSatisfy(
            busy ->
                assertThatThrownBy(busy::orElseThrow)
                    .hasMessageContaining("order-1 is in progress on shop-1"));
    assertThat(in64Threads(() -> pay("order-1").orElseThrow()))
        .containsOnly(new Receipt("charge 1"));
    assertThat(bank.calls("charge")).isEqualTo(1);
  }

  @Test
  void s6_aCallThatIsRejectedHasFailedAndIsNotMadeAgain() {
    Callable<Receipt> refused =
        () -> {
          bank.call("charge");
          throw new RejectedException("card expired");
        };
    var first = guards.once(PAYMENT, "order-1", CHARGE, refused);
    assertThat(first).isInstanceOf(GuardResult.Failed.class);
    assertThatThrownBy(first::orElseThrow)
        .hasMessageContaining("card expired")
        .hasMessageContaining("not tried again")
        .hasCauseInstanceOf(RejectedException.class);
    var second = (GuardResult.Failed<Receipt>) pay("order-1");
    assertThat(second.repeatable()).isFalse();
    assertThat(second.cause()).isNull();
    assertThat(second.state().error()).contains("card expired");
    assertThat(bank.calls("charge")).isEqualTo(1);
  }

  @Test
  void s6_aFailureThatCertainlyHadNoEffectMayBeTriedAgainByOneOfMany() throws Exception {
    var lenient =
        PAYMENT.withOptions(
            GuardOptions.DEFAULT.withFailures(
                failure ->
                    failure instanceof IllegalStateException
                        ? FailureMeaning.NO_EFFECT
                        : GuardOptions.cautious(failure)));
    var first =
        guards.once(
            lenient,
            "order-1",
            CHARGE,
            () -> {
              throw new IllegalStateException("not even sent");
            });
    assertThat(((GuardResult.Failed<Receipt>) first).repeatable()).isTrue();
    var results = in64Threads(() -> guards.once(lenient, "order-1", CHARGE, this::charge));
    assertThat(bank.calls("charge")).isEqualTo(1);
    assertThat(results).noneMatch(GuardResult.Failed.class::isInstance);
    assertThat(guards.find(PAYMENT.key("order-1")).orElseThrow().attempt()).isEqualTo(2);
  }

  @Test
  void s6_whatLeavesOpenWhetherItHappenedIsUnknown() {
    for (var failure :
        List.<Exception>of(
            new IOException("reset"),
            new java.io.UncheckedIOException(new IOException("reset")),
            new java.util.concurrent.TimeoutException("late"),
            new IllegalStateException("503 Service Unavailable"), // as HTTP clients throw it
            new IllegalArgumentException("caused", new RejectedException("by it")),
            new SQLException("gone", "08006"))) {
      var key = failure.getClass().getSimpleName();
      var result =
          guards.once(
              PAYMENT,
              key,
              CHARGE,
              () -> {
                throw failure;
              });
      assertThat(((GuardResult.Unknown<Receipt>) result).cause()).isSameAs(failure);
      assertThat(pay(key)).isInstanceOf(GuardResult.Unknown.class);
    }
    assertThatThrownBy(
            () ->
                guards.once(
                    PAYMENT,
                    "error",
                    CHARGE,
                    () -> {
                      throw new StackOverflowError("deep");
                    }))
        .isInstanceOf(StackOverflowError.class);
    assertThat(pay("error")).isInstanceOf(GuardResult.Unknown.class);
    var broken =
        PAYMENT.withOptions(
            GuardOptions.DEFAULT.withFailures(
                failure -> {
                  throw new IllegalStateException("a rule that fails");
                }));
    var result =
        guards.once(
            broken,
            "rule",
            CHARGE,
            () -> {
              throw new IllegalArgumentException("x");
            });
    assertThat(result).isInstanceOf(GuardResult.Unknown.class);
    assertThat(bank.calls("charge")).isZero();
  }

  @Test
  void s6_afterItsLongestTimeACallIsUnknownAndMayStillSayWhatCameOfIt() throws Exception {
    var quick = PAYMENT.withOptions(GuardOptions.DEFAULT.withLongestCall(Duration.ofMillis(300)));
    var late =
        guards.once(
            quick,
            "order-1",
            CHARGE,
            () -> {
              Awaitility.await()
                  .atMost(Duration.ofSeconds(15))
                  .until(() -> pay("order-1") instanceof GuardResult.Unknown);
              assertThat(guards.open(10).get(0).outcome()).isEqualTo(GuardOutcome.UNKNOWN);
              return charge();
            });
    assertThat(late.orElseThrow()).isEqualTo(new Receipt("charge 1"));
    assertThat(pay("order-1").orElseThrow()).isEqualTo(new Receipt("charge 1"));
    assertThat(guards.open(10)).isEmpty();
  }

  @Test
  void s6_openGuardsAreListedWithTheirAgeAndInstance() {
    var unused =
        guards.once(
            PAYMENT,
            "order-1",
            CHARGE,
            () -> {
              var open = guards.open("payment", 10);
              assertThat(open).hasSize(1);
              assertThat(open.get(0).key()).isEqualTo(PAYMENT.key("order-1"));
              assertThat(open.get(0).outcome()).isEqualTo(GuardOutcome.STARTED);
              assertThat(open.get(0).instance()).isEqualTo("shop-1");
              assertThat(open.get(0).age()).isBetween(Duration.ZERO, Duration.ofMinutes(1));
              assertThat(guards.open("another", 10)).isEmpty();
              assertThat(
                      database.queryString(
                          "select concat_ws(' ', scope, key, outcome, instance, age >= interval '0') from pgonce_guards.guard_status"))
                  .isEqualTo("payment order-1 STARTED shop-1 t");
              return charge();
            });
    assertThat(guards.open(10)).isEmpty();
  }

  @Test
  void s6_severalProbesAtOnceAgreeOnOneAnswer() throws Exception {
    var unused =
        guards.once(
            PAYMENT,
            "order-1",
            CHARGE,
            () -> {
              throw new IOException("reset");
            });
    var asked = new AtomicInteger();
    Callable<GuardAnswer<Receipt>> probe =
        () ->
            asked.incrementAndGet() % 2 == 0
                ? GuardAnswer.happened(new Receipt("by probe"))
                : GuardAnswer.didNotHappen("not found");
    var results =
        in64Threads(() -> guards.probe(PAYMENT.key("order-1"), Receipt.class, probe).orElseThrow());
    assertThat(results.stream().map(Object::getClass).distinct()).hasSize(1);
    assertThat(pay("order-1")).hasSameClassAs(results.get(0));
    assertThat(bank.calls("charge")).isZero();
  }

  @Test
  void s6_aProbeIsNotAskedWhileTheCallMayRunAndChangesNothingIfItCannotTell() throws Exception {
    Callable<GuardAnswer<Receipt>> never =
        () -> {
          throw new AssertionError("asked");
        };
    var key = PAYMENT.key("order-1");
    var unused =
        guards.once(
            PAYMENT,
            "order-1",
            CHARGE,
            () -> {
              assertThat(guards.probe(key, Receipt.class, never).orElseThrow())
                  .isInstanceOf(GuardResult.InProgress.class);
              throw new IOException("reset");
            });
    assertThat(guards.probe(key, Receipt.class, () -> GuardAnswer.cannotTell()).orElseThrow())
        .isInstanceOf(GuardResult.Unknown.class);
    assertThatThrownBy(
            () ->
                guards.probe(
                    key,
                    Receipt.class,
                    () -> {
                      throw new IOException("bank closed");
                    }))
        .hasMessage("bank closed");
    assertThat(pay("order-1")).isInstanceOf(GuardResult.Unknown.class);
    assertThat(guards.probe(key, Receipt.class, () -> GuardAnswer.mayBeRepeated("never arrived")))
        .isPresent();
    assertThat(guards.probe(key, Receipt.class, never).orElseThrow())
        .isInstanceOf(GuardResult.Failed.class);
    assertThat(pay("order-1").orElseThrow()).isEqualTo(new Receipt("charge 1"));
    assertThat(guards.probe(PAYMENT.key("nobody"), Receipt.class, never)).isEmpty();
  }

  @Test
  void s7_aRepeatGivesTheFirstAnswerWhenTheWorldHasChanged() {
    assertThat(pay("order-1").orElseThrow()).isEqualTo(new Receipt("charge 1"));
    assertThat(pay("order-2").orElseThrow()).isEqualTo(new Receipt("charge 2"));
    bank.close(); // the world has changed
    assertThat(pay("order-1").orElseThrow()).isEqualTo(new Receipt("charge 1"));
    // As from another process, with another pool.
    var elsewhere = Guards.using(database.unpooled());
    assertThat(elsewhere.once(PAYMENT, "order-1", CHARGE, this::charge).orElseThrow())
        .isEqualTo(new Receipt("charge 1"));
    bank = newBank();
  }

  private static Outside newBank() {
    try {
      return new Outside();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  void s7_theSameKeyWithAnotherRequestIsAnError() {
    pay("order-1").orElseThrow();
    assertThatThrownBy(
            () -> guards.once(PAYMENT, "order-1", new Charge("acc-7", 2_000), this::charge))
        .isInstanceOf(RequestMismatchException.class)
        .hasMessageContaining("guard payment key order-1 came with another request than before")
        .hasMessageNotContaining("acc-7");
    // After a failure that may be repeated, too.
    var key = "order-2";
    var repeatable =
        PAYMENT.withOptions(GuardOptions.DEFAULT.withFailures(failure -> FailureMeaning.NO_EFFECT));
    var unused =
        guards.once(
            repeatable,
            key,
            CHARGE,
            () -> {
              throw new IOException("x");
            });
    assertThatThrownBy(() -> guards.once(repeatable, key, new Charge("b", 1), this::charge))
        .isInstanceOf(RequestMismatchException.class);
    assertThat(bank.calls("charge")).isEqualTo(1);
  }

  @SuppressWarnings("rawtypes")
  @Test
  void s7_theOrderOfAMapIsNotAnotherRequest() {
    var guard = Guard.of("mapped", Map.class, String.class);
    var one = new java.util.LinkedHashMap<String, Object>();
    one.put("a", 1);
    one.put("b", new java.math.BigDecimal("1.10"));
    var other = new java.util.LinkedHashMap<String, Object>();
    other.put("b", new java.math.BigDecimal("1.10"));
    other.put("a", 1);
    assertThat(guards.once(guard, "k", one, () -> "first").orElseThrow()).isEqualTo("first");
    assertThat(guards.once(guard, "k", other, () -> "second").orElseThrow()).isEqualTo("first");
  }

  @Test
  void s7_aResponseThatCannotBeStoredDoesNotCostTheFactThatTheCallWasMade() throws Exception {
    var guard = Guard.of("texts", String.class, String.class);
    for (var bad : new String[] {"a\0b", "\uD800", null}) {
      var key = bad == null ? "null" : "u" + (int) bad.charAt(bad.length() - 1);
      var calls = new AtomicInteger();
      Callable<String> call =
          () -> {
            calls.incrementAndGet();
            return bad;
          };
      var first = (GuardResult.Succeeded<String>) guards.once(guard, key, "r", call);
      assertThat(first.response()).isEqualTo(bad);
      assertThat(first.problem()).isNotNull();
      var second = (GuardResult.Succeeded<String>) guards.once(guard, key, "r", call);
      assertThat(second.response()).isNull();
      assertThat(second.problem()).isEqualTo(first.problem());
      assertThatThrownBy(second::orElseThrow).hasMessageContaining("has succeeded, but");
      assertThat(calls.get()).isEqualTo(1);
    }
    // Stored by an earlier version of the type.
    pay("order-1").orElseThrow();
    database.execute(
        "update pgonce_guards.guard set response = '{\"number\": [1]}' where key = 'order-1'");
    assertThat(((GuardResult.Succeeded<Receipt>) pay("order-1")).problem())
        .contains("not readable as");
    assertThat(bank.calls("charge")).isEqualTo(1);
  }

  @Test
  void s6_keysAreToldApartAndBadOnesAreRefusedBeforeAnySql() {
    var calls = new AtomicInteger();
    var guard = Guard.of("keys", String.class, Integer.class);
    var keys =
        List.of(
            "a",
            "A",
            "a ",
            "ä",
            "a\u0308",
            "'; drop table x",
            "\\u0000",
            "k".repeat(500),
            "\uD83D\uDE00".repeat(500));
    for (var key : keys) {
      assertThat(guards.once(guard, key, "r", calls::incrementAndGet).orElseThrow())
          .isEqualTo(calls.get());
    }
    assertThat(calls.get()).isEqualTo(keys.size());
    var deaf = Guards.using(new org.postgresql.ds.PGSimpleDataSource());
    for (var bad : List.of("", "k".repeat(501), "a\0b", "\uD800")) {
      assertThatThrownBy(() -> deaf.once(guard, bad, "r", calls::incrementAndGet))
          .isInstanceOf(IllegalArgumentException.class);
    }
    assertThatThrownBy(() -> Guard.of("Upper", String.class, String.class))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("guard scope name");
  }
}
