package org.pgonce.benchmarks.latency;

import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.work.Entrant;

/** Those of one entrant by round, in microseconds. */
public record Latencies(Entrant entrant, Turns p50, Turns p99) {

  Latencies(Entrant entrant) {
    this(entrant, new Turns(), new Turns());
  }

  /** Takes one turn's, sorted, in nanoseconds; returns it for people. */
  String add(long[] sorted) {
    var half = atRank(sorted, 50) / 1e3;
    var most = atRank(sorted, 99) / 1e3;
    p50.add(half);
    p99.add(most);
    return "p50 %,.0f us, p99 %,.0f us".formatted(half, most);
  }

  private static long atRank(long[] sorted, int percent) {
    return sorted[Math.max(0, (int) Math.ceil(sorted.length * percent / 100.0) - 1)];
  }
}
