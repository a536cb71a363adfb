package org.pgonce.operations.internal.text;

import java.time.Duration;
import java.util.regex.Pattern;

/** Durations as people write and read them. */
public final class Durations {

  private static final Pattern WRITTEN = Pattern.compile("(\\d{1,9}) ?([smhd]?)");

  private Durations() {}

  /**
   * A number of seconds, minutes, hours or days: «90s», «5m», «2h», «3d». Without a unit, of
   * seconds.
   *
   * @throws IllegalArgumentException if it is written otherwise
   */
  public static Duration parse(String text) {
    var written = WRITTEN.matcher(text);
    if (!written.matches()) {
      throw new IllegalArgumentException(
          "'%s' is no duration: write 90s, 5m, 2h or 3d; a number alone is of seconds"
              .formatted(Printable.line(text)));
    }
    var number = Long.parseLong(written.group(1));
    return switch (written.group(2)) {
      case "m" -> Duration.ofMinutes(number);
      case "h" -> Duration.ofHours(number);
      case "d" -> Duration.ofDays(number);
      default -> Duration.ofSeconds(number);
    };
  }

  /** In its two largest units, to the second: «3h 12m». */
  public static String inWords(Duration duration) {
    if (duration.toDays() > 0) {
      return duration.toDays() + "d " + duration.toHoursPart() + "h";
    } else if (duration.toHours() > 0) {
      return duration.toHours() + "h " + duration.toMinutesPart() + "m";
    } else if (duration.toMinutes() > 0) {
      return duration.toMinutes() + "m " + duration.toSecondsPart() + "s";
    } else {
      return duration.toSeconds() + "s";
    }
  }

  /**
   * The same, but below 10 s with a decimal, and below a second in milliseconds: how long something
   * took that is mostly quick.
   */
  public static String exactly(Duration duration) {
    if (duration.toSeconds() >= 10 || duration.isZero() || duration.isNegative()) {
      return inWords(duration);
    } else if (duration.toSeconds() > 0) {
      return withDecimal(duration.toMillis() / 100) + "s";
    }
    var millis = duration.toMillis();
    return (millis >= 10 ? String.valueOf(millis) : withDecimal(duration.toNanos() / 100_000))
        + "ms";
  }

  private static String withDecimal(long tenths) {
    return tenths / 10 + "." + tenths % 10;
  }
}
