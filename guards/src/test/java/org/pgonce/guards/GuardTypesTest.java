package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/** S6 and S7: types that change or that nothing can read, and rules that fail. */
@PgTest(GuardsInstalled.class)
class GuardTypesTest {

  record Charge(String account, long cents) {}

  record Receipt(String number) {}

  private static final Guard<Charge, Receipt> PAYMENT =
      Guard.of("payment", Charge.class, Receipt.class);
  private static final Charge CHARGE = new Charge("acc-7", 1_999);

  private final AtomicInteger charges = new AtomicInteger();
  private Guards guards;

  @BeforeEach
  void setUp(TestDatabase database) {
    guards = Guards.using(database.pooled(2));
  }

  private Receipt charge() {
    return new Receipt("charge " + charges.incrementAndGet());
  }

  record Noted(String account, long cents, @Nullable String note, List<@Nullable String> tags) {}

  record Tagged(String account, long cents, List<@Nullable String> tags) {}

  /** As in a rolling deployment, whose later version has one component more. */
  @Test
  void s7_aNewComponentThatIsNullIsNotAnotherRequest() {
    var tags = Collections.<@Nullable String>singletonList(null);
    var before = Guard.of("pay", Tagged.class, Receipt.class);
    var after = Guard.of("pay", Noted.class, Receipt.class);
    guards.once(before, "k", new Tagged("acc-7", 1, tags), this::charge).orElseThrow();
    var again = guards.once(after, "k", new Noted("acc-7", 1, null, tags), this::charge);
    assertThat(again.orElseThrow()).isEqualTo(new Receipt("charge 1"));
    assertThatThrownBy(
            () -> guards.once(after, "k", new Noted("acc-7", 1, "a", tags), this::charge))
        .isInstanceOf(RequestMismatchException.class);
    assertThatThrownBy(
            () -> guards.once(after, "k", new Noted("acc-7", 1, null, List.of()), this::charge))
        .isInstanceOf(RequestMismatchException.class);
  }

  /** In UTF-8 each lone surrogate would be the same question mark. */
  @Test
  void s7_aRequestThatIsNoTextIsRefusedBeforeTheCall() {
    var guard = Guard.of("note", String.class, Receipt.class);
    for (var lone : List.of("a\uD800", "\uDFFF")) {
      assertThatThrownBy(() -> guards.once(guard, "k", lone, this::charge))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("lone surrogate");
    }
    guards.once(guard, "k", "a?", this::charge).orElseThrow();
    assertThat(charges.get()).isEqualTo(1);
  }

  interface Unreadable {}

  /** Else a repeat would find out, after a crash. */
  @Test
  void s7_aResponseThatNoRepeatCouldReadIsRefusedBeforeTheCall() {
    var guard = Guard.of("payment", Charge.class, Unreadable.class);
    assertThatThrownBy(() -> guards.once(guard, "k", CHARGE, () -> new Unreadable() {}))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(Unreadable.class.getName());
    assertThat(guards.find(guard.key("k"))).isEmpty();
    var run =
        guards.run(
            PAYMENT,
            "k",
            CHARGE,
            steps -> {
              var unused = steps.once("charge", Unreadable.class, () -> new Unreadable() {});
              return charge();
            });
    assertThat(run.cause()).isInstanceOf(IllegalArgumentException.class);
    assertThat(guards.find(new GuardKey("payment", "k", "charge"))).isEmpty();
    assertThat(charges.get()).isZero();
  }

  record Broken(String number) {
    @Override
    public String number() {
      throw new AssertionError("it has none");
    }
  }

  @Test
  void s7_aCallWhoseResponseFailsAsItIsWrittenWasMade() {
    var guard = Guard.of("broken", Charge.class, Broken.class);
    for (var attempt = 1; attempt <= 2; attempt++) {
      var made =
          (GuardResult.Succeeded<Broken>)
              guards.once(
                  guard, "k", CHARGE, () -> new Broken("charge " + charges.incrementAndGet()));
      assertThat(made.problem()).contains("could not be stored", "AssertionError");
      assertThat(made.stored()).isEqualTo(attempt == 2);
    }
    assertThat(charges).hasValue(1);
  }

  @Test
  void s7_aResponseWhoseCodecFailsAsItIsReadIsThereAllTheSame(TestDatabase database) {
    var standard = PayloadCodec.standard();
    var broken =
        new PayloadCodec() {
          @Override
          public <T> String encode(T payload, Class<T> type) {
            return standard.encode(payload, type);
          }

          @Override
          public <T> T decode(String json, Class<T> type) {
            throw new IllegalStateException("no reader");
          }
        };
    var other = Guards.builder(database.pooled(2)).codec(broken).build();
    other.once(PAYMENT, "k", CHARGE, this::charge).orElseThrow();
    var again = (GuardResult.Succeeded<Receipt>) other.once(PAYMENT, "k", CHARGE, this::charge);
    assertThat(again.problem()).contains("IllegalStateException: no reader");
    assertThat(charges).hasValue(1);
  }

  /** A database in LATIN1 has no euro sign. */
  @Test
  void s6_anErrorThatTheDatabaseHasNoLettersForIsKeptInOthers() throws Exception {
    try (var latin = TestServer.shared().createDatabase("LATIN1")) {
      var there = Guards.using(latin.dataSource()).install();
      var result =
          there.once(
              PAYMENT,
              "k",
              CHARGE,
              () -> {
                throw new IOException("7 \u20ac are missing");
              });
      assertThat(result).isInstanceOf(GuardResult.Unknown.class);
      assertThat(there.find(PAYMENT.key("k")).orElseThrow().error())
          .contains("7 \\u20AC are missing");
    }
  }

  @Test
  void s6_aRuleThatFailsLeavesItUnknownAndIsTold() {
    var broken = new AssertionError("the rule is broken");
    var guard =
        PAYMENT.withOptions(
            GuardOptions.DEFAULT.withFailures(
                failure -> {
                  throw broken;
                }));
    var reset = new IOException("connection reset");
    var result =
        guards.once(
            guard,
            "k",
            CHARGE,
            () -> {
              throw reset;
            });
    assertThat(result).isInstanceOf(GuardResult.Unknown.class);
    assertThat(result.cause()).isSameAs(reset).hasSuppressedException(broken);
    assertThat(guards.find(guard.key("k")).orElseThrow().outcome()).isEqualTo(GuardOutcome.UNKNOWN);
  }
}
