package org.pgonce;

import java.time.Duration;
import java.util.Objects;

/** Refuses settings that are outside their bounds. */
final class OptionRanges {

  private OptionRanges() {}

  static void require(String name, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          "%s %d is not between %,d and %,d".formatted(name, value, least, most));
    }
  }

  /**
   * Both bounds are allowed.
   *
   * @param words for the message, as in «10 ms and 1 hour»
   */
  static void require(String name, Duration value, Duration least, Duration most, String words) {
    Objects.requireNonNull(value, name);
    if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
      throw new IllegalArgumentException(name + " " + value + " is not between " + words);
    }
  }
}
