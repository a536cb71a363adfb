package org.pgonce.wakeup;

import java.util.stream.DoubleStream;

/** How long after their commit rows were handled, in milliseconds. */
public final class Delays {

  private final double[] sorted;

  public Delays(DoubleStream milliseconds) {
    this.sorted = milliseconds.sorted().toArray();
  }

  /** The least one that so large a share of all does not exceed. */
  public double quantile(double share) {
    return sorted.length == 0 ? Double.NaN : sorted[(int) Math.ceil(share * sorted.length) - 1];
  }

  public double max() {
    return quantile(1);
  }

  public void print(String what) {
    System.out.printf(
        "%s: %d rows, handled behind their commit in p50 %.1f, p90 %.1f, p99 %.1f, max %.1f ms%n",
        what, sorted.length, quantile(0.5), quantile(0.9), quantile(0.99), max());
  }
}
