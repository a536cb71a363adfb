package org.pgonce.benchmarks.forms;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.figures.Turns;

/**
 * What came of one kind at one operation. Rates are rows per second; ratios are medians of the
 * rounds' ratios.
 *
 * @param toNone ratio to the same without a trigger
 * @param toByHand ratio to a trigger of the same form by hand; null for those without pgonce
 */
public record Figure(
    String operation,
    String kind,
    @JsonProperty("rows_per_second") long median,
    long min,
    long max,
    @JsonProperty("to_no_trigger") double toNone,
    @JsonProperty("to_by_hand") @Nullable Double toByHand) {

  static Figure of(Contender contender, Turns none, @Nullable Turns byHand) {
    var turns = contender.turns();
    return new Figure(
        contender.operation().label(),
        contender.kind().label(),
        Math.round(turns.median()),
        Math.round(turns.min()),
        Math.round(turns.max()),
        rounded(turns.ratioTo(none)),
        byHand == null ? null : rounded(turns.ratioTo(byHand)));
  }

  private static double rounded(double ratio) {
    return Math.round(ratio * 1_000) / 1_000.0;
  }

  static String headings(String operation) {
    return String.format(
        Locale.ROOT,
        "%-50s %9s %13s %10s   %s",
        operation,
        "rows/s",
        "to no trigger",
        "to by hand",
        "from .. to");
  }

  String line() {
    return String.format(
        Locale.ROOT,
        "  %-48s %,9d %13.2f %10s   %,d .. %,d",
        kind,
        median,
        toNone,
        toByHand == null ? "" : String.format(Locale.ROOT, "%.2f", toByHand),
        min,
        max);
  }
}
