package org.pgonce.benchmarks.figures;

import java.util.ArrayList;
import java.util.List;

/** One figure of one contender, by round. */
public final class Turns {

  private final List<Double> figures = new ArrayList<>();

  public void add(double figure) {
    figures.add(figure);
  }

  /** Forgets what was not to be measured. */
  public void clear() {
    figures.clear();
  }

  /** That of the last round. */
  public double latest() {
    return figures.get(figures.size() - 1);
  }

  public double median() {
    return median(figures);
  }

  public double min() {
    return figures.stream().mapToDouble(Double::doubleValue).min().orElse(0);
  }

  public double max() {
    return figures.stream().mapToDouble(Double::doubleValue).max().orElse(0);
  }

  /** The median of each round's ratio to that: what slowed down a whole round cancels out. */
  public double ratioTo(Turns other) {
    var ratios = new ArrayList<Double>();
    for (var round = 0; round < figures.size(); round++) {
      ratios.add(figures.get(round) / other.figures.get(round));
    }
    return median(ratios);
  }

  /** What is more than that, in each round. */
  public Turns minus(Turns other) {
    var differences = new Turns();
    for (var round = 0; round < figures.size(); round++) {
      differences.add(figures.get(round) - other.figures.get(round));
    }
    return differences;
  }

  /** For the line of JSON. */
  public Spread spread() {
    return new Spread(rounded(median()), rounded(min()), rounded(max()));
  }

  private static double median(List<Double> figures) {
    var sorted = figures.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
  }

  /** Three digits behind the point: more say nothing. */
  public static double rounded(double figure) {
    return Math.round(figure * 1_000) / 1_000.0;
  }
}
