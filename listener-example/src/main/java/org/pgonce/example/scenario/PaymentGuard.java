package org.pgonce.example.scenario;

import java.time.Duration;
import java.util.Collections;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import org.pgonce.example.run.DatabaseAddress;
import org.pgonce.example.run.Scenario;
import org.pgonce.example.run.Scene;
import org.pgonce.guards.Guard;
import org.pgonce.guards.GuardAnswer;
import org.pgonce.guards.GuardOptions;
import org.pgonce.guards.GuardResult;
import org.pgonce.guards.Guards;
import org.pgonce.testkit.ParentWatch;
import picocli.CommandLine.Command;

/** S6: a payment is made at most once, whoever asks for it and whoever dies over it. */
@Command(
    name = "s06-payment-guard",
    mixinStandardHelpOptions = true,
    description =
        "A guard around a payment: 64 threads make one call; after a kill -9 in the call its outcome is UNKNOWN, listed, and settled by asking the bank.")
public final class PaymentGuard extends Scenario {

  record Charge(String order, long cents) {}

  record Receipt(String order) {}

  /** A call that is silent for longer than this is taken for dead: 5 min by default. */
  static final Guard<Charge, Receipt> PAYMENT =
      Guard.of("payment", Charge.class, Receipt.class)
          .withOptions(GuardOptions.DEFAULT.withLongestCall(Duration.ofSeconds(2)));

  private static GuardResult<Receipt> pay(Guards guards, String bank, Charge charge) {
    return guards.once(
        PAYMENT,
        charge.order(),
        charge,
        () -> {
          Outside.send("POST", bank + "/charges/" + charge.order());
          return new Receipt(charge.order());
        });
  }

  /** What a job does with those that are left: the bank can say whether it has the charge. */
  private static void settle(Guards guards, String bank) throws Exception {
    for (var open : guards.open(PAYMENT.scope(), 100)) {
      var order = open.key().key();
      var unused =
          guards.probe(
              open.key(),
              Receipt.class,
              () ->
                  Outside.send("GET", bank + "/charges/" + order).equals("charged")
                      ? GuardAnswer.happened(new Receipt(order))
                      : GuardAnswer.didNotHappen("the bank has no such charge"));
    }
  }

  /** A process that pays for one order, to be killed while it does. */
  static final class Payer {
    public static void main(String[] arguments) {
      ParentWatch.exitWhenParentDies();
      try (var pool = DatabaseAddress.fromEnvironment().pool("payer", 2)) {
        var guards = Guards.builder(pool).instance("payer").build();
        var unused = pay(guards, arguments[0], new Charge(arguments[1], 4_200)).orElseThrow();
      }
    }
  }

  @Override
  protected String play(Scene scene) throws Exception {
    scene.tell("longest call", "2 s instead of the default 5 minutes, the same code");
    try (var bank = new Outside()) {
      bank.answers(path -> bank.effects(path) > 0 ? "charged" : "no such charge");
      var guards = Guards.using(scene.dataSource()).install();
      together(scene, guards, bank);
      killed(scene, guards, bank);
    }
    return "one charge per order, and none is made again while its outcome is unknown";
  }

  private static void together(Scene scene, Guards guards, Outside bank) throws Exception {
    var threads = Executors.newFixedThreadPool(64);
    try {
      Callable<GuardResult<Receipt>> one =
          () -> pay(guards, bank.url(), new Charge("order-1", 4_200));
      for (var result : threads.invokeAll(Collections.nCopies(64, one))) {
        var unused = result.get();
      }
    } finally {
      threads.shutdownNow();
    }
    scene.check("64 threads", bank.calls("/charges/order-1"), 1, "charge at the bank");
  }

  private static void killed(Scene scene, Guards guards, Outside bank) throws Exception {
    var path = "/charges/order-2";
    var charge = new Charge("order-2", 4_200);
    bank.hold(path);
    var payer = scene.process(Payer.class, bank.url(), charge.order());
    scene.await("the call of the process", () -> bank.calls(path) == 1);
    var unused = payer.destroyForcibly().waitFor();
    bank.release(path);
    scene.tell("kill -9", "of a process whose call has arrived; nobody has the answer");
    scene.await(
        "UNKNOWN", () -> pay(guards, bank.url(), charge) instanceof GuardResult.Unknown<Receipt>);
    for (var open : guards.open(PAYMENT.scope(), 10)) {
      scene.tell(
          "listed",
          "%s is %s, begun by %s at %s"
              .formatted(open.key(), open.outcome(), open.instance(), open.startedAt()));
    }
    scene.check("listed", guards.open(PAYMENT.scope(), 10).size(), 1, "whose outcome is UNKNOWN");
    for (var n = 0; n < 20; n++) {
      var refused = pay(guards, bank.url(), charge);
      scene.isTrue("a repeat is refused", refused instanceof GuardResult.Unknown<Receipt>);
    }
    scene.check("20 repeats", bank.calls(path) - 1L, 0, "more charges");
    settle(guards, bank.url());
    scene.check("settled", 1 - guards.open(PAYMENT.scope(), 10).size(), 1, "by asking the bank");
    scene.isTrue(
        "the receipt is there",
        pay(guards, bank.url(), charge).orElseThrow().equals(new Receipt("order-2")));
    scene.check("charges", bank.calls(), 2, "for two orders");
  }
}
