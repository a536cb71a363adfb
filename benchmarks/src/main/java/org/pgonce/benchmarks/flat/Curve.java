package org.pgonce.benchmarks.flat;

import java.util.ArrayList;
import java.util.List;
import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.work.Entrant;

/**
 * How one entrant went on, by round.
 *
 * @param first notifications per second in the first tenth
 * @param last the same in the last tenth, or in the last that was reached in the time
 * @param handled how far it came
 * @param rounds per second of each slice
 */
public record Curve(
    Entrant entrant, Turns first, Turns last, Turns handled, List<List<Double>> rounds) {

  public static final int SLICES = 20;
  private static final int TENTH = SLICES / 10;

  Curve(Entrant entrant) {
    this(entrant, new Turns(), new Turns(), new Turns(), new ArrayList<>());
  }

  void add(Progress progress) {
    var rates = progress.perSecond();
    if (rates.size() < TENTH) {
      throw new IllegalStateException(
          entrant.label() + " has not come through the first tenth: give it more --seconds");
    }
    first.add(mean(rates.subList(0, TENTH)));
    last.add(mean(rates.subList(rates.size() - TENTH, rates.size())));
    handled.add(progress.count());
    rounds.add(rates.stream().map(Turns::rounded).toList());
  }

  /** Median of the rounds for each slice, as far as every round came. */
  public List<Double> medians() {
    var medians = new ArrayList<Double>();
    var least = rounds.stream().mapToInt(List::size).min().orElse(0);
    for (var slice = 0; slice < least; slice++) {
      var turns = new Turns();
      for (var round : rounds) {
        turns.add(round.get(slice));
      }
      medians.add(turns.median());
    }
    return medians;
  }

  /** Of slices of the same length: harmonic, as their times add up. */
  private static double mean(List<Double> rates) {
    return rates.size() / rates.stream().mapToDouble(rate -> 1 / rate).sum();
  }
}
