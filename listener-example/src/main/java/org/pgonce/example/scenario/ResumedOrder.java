package org.pgonce.example.scenario;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.pgonce.example.run.DatabaseAddress;
import org.pgonce.example.run.Scenario;
import org.pgonce.example.run.Scene;
import org.pgonce.guards.Guard;
import org.pgonce.guards.GuardOptions;
import org.pgonce.guards.GuardResult;
import org.pgonce.guards.Guards;
import org.pgonce.testkit.ParentWatch;
import picocli.CommandLine.Command;

/** S8: several outside calls, and a process that dies between them; the next goes on there. */
@Command(
    name = "s08-recovery-points",
    mixinStandardHelpOptions = true,
    description =
        "An order in three steps; its process is killed with -9 after each and started again: no step is done twice.")
public final class ResumedOrder extends Scenario {

  record Order(String id) {}

  record Done(String receipt, String label) {}

  /** A dead process's sequence may be taken over after the longest call: 5 min by default. */
  static final Guard<Order, Done> FULFILMENT =
      Guard.of("fulfilment", Order.class, Done.class)
          .withOptions(GuardOptions.DEFAULT.withLongestCall(Duration.ofSeconds(1)));

  private static GuardResult<Done> fulfil(Guards guards, String url, Order order) {
    return guards.run(
        FULFILMENT,
        order.id(),
        order,
        steps -> {
          var receipt =
              steps.once("charge", String.class, () -> Outside.send("POST", url + "/charge"));
          Outside.send("PUT", url + "/progress/charged"); // between the steps: done in each run
          var label =
              steps.repeatable("label", String.class, () -> Outside.send("POST", url + "/label"));
          Outside.send("PUT", url + "/progress/packed");
          steps.once("mail", () -> Outside.send("POST", url + "/mail"));
          Outside.send("PUT", url + "/progress/mailed");
          return new Done(receipt, label);
        });
  }

  /** A process that fulfils one order, and comes back while another may still be at it. */
  static final class Worker {
    public static void main(String[] arguments) throws InterruptedException {
      ParentWatch.exitWhenParentDies();
      try (var pool = DatabaseAddress.fromEnvironment().pool("worker", 2)) {
        var guards = Guards.using(pool);
        var result = fulfil(guards, arguments[0], new Order(arguments[1]));
        while (result instanceof GuardResult.InProgress<Done>) {
          TimeUnit.MILLISECONDS.sleep(100);
          result = fulfil(guards, arguments[0], new Order(arguments[1]));
        }
        var unused = result.orElseThrow();
      }
    }
  }

  @Override
  protected String play(Scene scene) throws Exception {
    scene.tell("longest call", "1 s instead of the default 5 minutes, the same code");
    try (var outside = new Outside()) {
      outside.answers(path -> path.substring(1) + " " + outside.effects(path));
      var guards = Guards.using(scene.dataSource()).install();
      for (var point : List.of("charged", "packed", "mailed")) {
        killAfter(scene, outside, point);
      }
      var last = scene.process(Worker.class, outside.url(), "order-1");
      scene.check("last process", last.waitFor(), 0, "its status: it went on to the end");
      for (var step : List.of("charge", "label", "mail")) {
        scene.check(step, outside.calls("/" + step), 1, "call, of four processes");
      }
      var repeat = fulfil(guards, outside.url(), new Order("order-1"));
      scene.isTrue(
          "a repeat has the result", repeat.orElseThrow().equals(new Done("charge 1", "label 1")));
      scene.check("unfinished", guards.open(10).size(), 0, "sequences or steps");
    }
    return "no step that was completed is done again";
  }

  /** Kills it when the step is committed and the next has not begun. */
  private static void killAfter(Scene scene, Outside outside, String point) throws Exception {
    var path = "/progress/" + point;
    var before = outside.calls(path);
    outside.hold(path);
    var worker = scene.process(Worker.class, outside.url(), "order-1");
    scene.await(point, () -> outside.calls(path) > before);
    var unused = worker.destroyForcibly().waitFor();
    outside.release(path);
    scene.tell("kill -9", "after the order was " + point);
  }
}
