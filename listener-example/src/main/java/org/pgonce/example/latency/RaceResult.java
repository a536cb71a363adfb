package org.pgonce.example.latency;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.pgonce.example.latency.Contender.Way;

/**
 * What a race has come to.
 *
 * @param medians of the rounds
 */
public record RaceResult(int perSecond, int rounds, Map<Way, Turn> medians) {

  /**
   * One turn of one way.
   *
   * @param p50 nanoseconds
   * @param p99 nanoseconds
   */
  public record Turn(long p50, long p99) {

    static Turn of(long[] sorted) {
      return new Turn(atRank(sorted, 50), atRank(sorted, 99));
    }

    private static long atRank(long[] sorted, int percent) {
      return sorted[Math.max(0, (int) Math.ceil(sorted.length * percent / 100.0) - 1)];
    }

    static Turn median(List<Turn> turns) {
      return new Turn(median(turns, Turn::p50), median(turns, Turn::p99));
    }

    private static long median(List<Turn> turns, ToLongFunction<Turn> figure) {
      var sorted = turns.stream().mapToLong(figure).sorted().toArray();
      return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }

    @Override
    public String toString() {
      return String.format(Locale.ROOT, "p50 %6.3f ms  p99 %6.3f ms", p50 / 1e6, p99 / 1e6);
    }
  }

  private Turn of(Way way) {
    return medians.getOrDefault(way, new Turn(0, 0));
  }

  /** How many times the time that the same takes by hand, at the median. */
  public double ratioAtP50() {
    return (double) of(Way.PGONCE).p50() / of(Way.BY_HAND).p50();
  }

  private double ratioAtP99() {
    return (double) of(Way.PGONCE).p99() / of(Way.BY_HAND).p99();
  }

  /** A line per way, then the ratio. */
  public List<String> lines() {
    return List.of(
        "%-12s  %s".formatted(Way.PGONCE.label(), of(Way.PGONCE)),
        "%-12s  %s".formatted(Way.NOTIFY.label(), of(Way.NOTIFY)),
        "%-12s  %s".formatted(Way.BY_HAND.label(), of(Way.BY_HAND)),
        String.format(
            Locale.ROOT,
            "pgonce takes %.2f times the time by hand at p50, %.2f times at p99",
            ratioAtP50(),
            ratioAtP99()));
  }

  /** One line for programs; times in microseconds. */
  public String json() {
    return String.format(
        Locale.ROOT,
        "{\"inserts_per_second\":%d,\"rounds\":%d,\"pgonce\":%s,\"notify\":%s,\"by_hand\":%s,\"ratio_p50\":%.3f,\"ratio_p99\":%.3f}",
        perSecond,
        rounds,
        json(of(Way.PGONCE)),
        json(of(Way.NOTIFY)),
        json(of(Way.BY_HAND)),
        ratioAtP50(),
        ratioAtP99());
  }

  private static String json(Turn turn) {
    return String.format(
        Locale.ROOT, "{\"p50_us\":%.1f,\"p99_us\":%.1f}", turn.p50() / 1e3, turn.p99() / 1e3);
  }
}
