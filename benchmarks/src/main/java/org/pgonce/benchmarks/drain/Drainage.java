package org.pgonce.benchmarks.drain;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import org.pgonce.benchmarks.figures.MiscountException;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.work.Entrant;

/** Each entrant in turn works off a backlog that was there before it started. For one thread. */
public final class Drainage {

  private static final Duration BOUND = Duration.ofMinutes(20);

  private final List<Rates> all;
  private final int count;
  private final Duration warmUp;
  private final Consumer<String> log;

  /**
   * @param warmUp so long each runs before the first round, once at least: the JVM compiles more
   *     code for the one than for the other
   */
  public Drainage(List<Entrant> entrants, int count, Duration warmUp, Consumer<String> log) {
    this.all = entrants.stream().map(Rates::new).toList();
    this.count = count;
    this.warmUp = warmUp;
    this.log = log;
  }

  /** Runs it, after turns of less that are not measured. */
  public List<Rates> run(int rounds) throws Exception {
    for (var each : all) {
      var begun = System.nanoTime();
      do {
        var unused = perSecond(each.entrant(), Math.max(200, count / 2));
      } while (System.nanoTime() - begun < warmUp.toNanos());
    }
    for (var round = 1; round <= rounds; round++) {
      var order = new ArrayList<>(all);
      Collections.rotate(order, round); // nobody is always first
      for (var each : order) {
        var rate = perSecond(each.entrant(), count);
        each.perSecond().add(rate);
        log.accept(
            "round %d  %-28s %s/s".formatted(round, each.entrant().label(), Table.whole(rate)));
      }
    }
    return all;
  }

  private static double perSecond(Entrant entrant, int count) throws Exception {
    var meter = Meter.of(count);
    try (var contender = entrant.open()) {
      contender.fill(1, count);
      contender.settle();
      contender.start(meter::started);
      if (!meter.await(BOUND)) {
        throw new MiscountException(
            "%s has begun with %d of %d in %s"
                .formatted(entrant.label(), meter.count(), count, BOUND));
      }
      entrant.requireEffects(count);
    }
    return meter.perSecond();
  }
}
