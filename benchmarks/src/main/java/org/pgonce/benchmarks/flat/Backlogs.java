package org.pgonce.benchmarks.flat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import org.pgonce.benchmarks.drain.Meter;
import org.pgonce.benchmarks.figures.MiscountException;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.work.Entrant;

/** Each entrant handles some of a short backlog, and as many of a long one, in turn. */
public final class Backlogs {

  private static final Duration BOUND = Duration.ofMinutes(20);

  private final List<Costs> all;
  private final int shorter;
  private final int longer;
  private final int handled;
  private final Consumer<String> log;

  /** What a notification has cost one entrant by round, in microseconds of the whole. */
  public record Costs(Entrant entrant, Turns ofShort, Turns ofLong) {

    Costs(Entrant entrant) {
      this(entrant, new Turns(), new Turns());
    }
  }

  /**
   * A comparison that has yet to run.
   *
   * @param handled how many of a backlog are handled; less than the short one has
   */
  public Backlogs(
      List<Entrant> entrants, int shorter, int longer, int handled, Consumer<String> log) {
    this.all = entrants.stream().map(Costs::new).toList();
    this.shorter = shorter;
    this.longer = longer;
    this.handled = handled;
    this.log = log;
  }

  /** Runs it, after a round of the short ones that is not measured. */
  public List<Costs> run(int rounds) throws Exception {
    for (var each : all) {
      var unused = micros(each.entrant(), shorter);
    }
    for (var round = 1; round <= rounds; round++) {
      var order = new ArrayList<>(all);
      Collections.rotate(order, round); // nobody is always first
      for (var each : order) {
        each.ofShort().add(told(round, each.entrant(), shorter));
        each.ofLong().add(told(round, each.entrant(), longer));
      }
    }
    return all;
  }

  private double told(int round, Entrant entrant, int backlog) throws Exception {
    var micros = micros(entrant, backlog);
    log.accept(
        "round %d  %-12s backlog %,11d  %s us"
            .formatted(round, entrant.label(), backlog, Table.whole(micros)));
    return micros;
  }

  private double micros(Entrant entrant, int backlog) throws Exception {
    var first = handled / 10;
    var meter = new Meter(first, handled);
    var contender = entrant.open();
    try (contender) {
      contender.fill(1, backlog);
      contender.settle();
      contender.start(meter::started);
      if (!meter.await(BOUND)) {
        throw new MiscountException(
            "%s has begun with %d of %d in %s"
                .formatted(entrant.label(), meter.count(), handled, BOUND));
      }
    }
    entrant.requireNothingLost(backlog, contender.left());
    return 1e6 / meter.perSecond();
  }
}
