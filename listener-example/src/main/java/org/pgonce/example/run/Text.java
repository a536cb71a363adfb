package org.pgonce.example.run;

import java.util.Locale;
import java.util.SortedMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Figures for people, in ASCII, the same in every locale. */
public final class Text {

  private Text() {}

  public static String number(long number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  /** Microseconds as milliseconds or seconds, with as many decimals as say something. */
  public static String time(long micros) {
    if (micros >= 10_000_000) {
      return seconds(micros / 1e6);
    }
    return String.format(Locale.ROOT, micros < 10_000 ? "%.2f ms" : "%,.0f ms", micros / 1e3);
  }

  public static String seconds(double seconds) {
    return String.format(Locale.ROOT, "%,.1f s", seconds);
  }

  /** The figures of place 1, 2 and so on; none is 0. */
  public static String byPlace(SortedMap<Integer, Long> figures) {
    return IntStream.rangeClosed(1, figures.isEmpty() ? 0 : figures.lastKey())
        .mapToObj(place -> number(figures.getOrDefault(place, 0L)))
        .collect(Collectors.joining(" ", "[", "]"));
  }
}
