package org.pgonce.benchmarks.forms;

import java.util.ArrayList;
import java.util.List;

/** The measured turns of one kind at one operation, in rows per second, by round. */
final class Turns {

  private final List<Double> rates = new ArrayList<>();

  void add(double rowsPerSecond) {
    rates.add(rowsPerSecond);
  }

  double median() {
    return median(rates);
  }

  double min() {
    return rates.stream().mapToDouble(Double::doubleValue).min().orElse(0);
  }

  double max() {
    return rates.stream().mapToDouble(Double::doubleValue).max().orElse(0);
  }

  /** The median of each round's ratio to that: what slowed down a whole round cancels out. */
  double ratioTo(Turns other) {
    var ratios = new ArrayList<Double>();
    for (var round = 0; round < rates.size(); round++) {
      ratios.add(rates.get(round) / other.rates.get(round));
    }
    return median(ratios);
  }

  private static double median(List<Double> figures) {
    var sorted = figures.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
  }
}
