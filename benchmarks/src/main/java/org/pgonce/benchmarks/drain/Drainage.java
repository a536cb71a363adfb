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
  private final Consumer<String> log;

  public Drainage(List<Entrant> entrants, int count, Consumer<String> log) {
    this.all = entrants.stream().map(Rates::new).toList();
    this.count = count;
    this.log = log;
  }

  /** Runs it, after a round of less that is not measured. */
  public List<Rates> run(int rounds) throws Exception {
    for (var each : all) {
      var unused = perSecond(each.entrant(), Math.max(200, count / 2));
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
