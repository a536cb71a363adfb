package org.pgonce.benchmarks.latency;

import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.work.Entrant;

/**
 * Those of one entrant by round, in microseconds.
 *
 * @param curve by percentile: those that the rows of a turn tell apart from the least and the most
 */
public record Latencies(Entrant entrant, Turns p50, Turns p99, NavigableMap<Double, Turns> curve) {

  private static final List<Integer> PER_MILLE =
      List.of(
          10, 100, 200, 300, 400, 500, 600, 700, 750, 800, 850, 900, 925, 950, 960, 970, 980, 990,
          995, 999);

  Latencies(Entrant entrant) {
    this(entrant, new Turns(), new Turns(), new TreeMap<>());
  }

  /** Takes one turn's, sorted, in nanoseconds; returns it for people. */
  String add(long[] sorted) {
    var half = atRank(sorted, 500) / 1e3;
    var most = atRank(sorted, 990) / 1e3;
    p50.add(half);
    p99.add(most);
    for (var perMille : PER_MILLE) {
      // 99.9 of two hundred rows would be the slowest of them, and say no more than that.
      if (Math.min(perMille, 1_000 - perMille) * sorted.length >= 1_000) {
        curve
            .computeIfAbsent(perMille / 10.0, percentile -> new Turns())
            .add(atRank(sorted, perMille) / 1e3);
      }
    }
    return "p50 %,.0f us, p99 %,.0f us".formatted(half, most);
  }

  private static long atRank(long[] sorted, int perMille) {
    return sorted[Math.max(0, (int) Math.ceil(sorted.length * perMille / 1000.0) - 1)];
  }
}
