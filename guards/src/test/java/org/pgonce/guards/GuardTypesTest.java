package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

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
