package org.pgonce.console.internal.page;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.text.Durations;
import org.pgonce.operations.internal.text.Printable;

/** Values of the database as people read them. */
public final class Words {

  private static final int LONGEST = 2_000;
  private static final int MOST = 50;

  private Words() {}

  /** Control and bidirectional characters are shown escaped; a long text or list is cut. */
  public static String of(@Nullable Object value) {
    if (value == null) {
      return "";
    } else if (value instanceof Instant instant) {
      return instant.truncatedTo(ChronoUnit.SECONDS).toString().replace('T', ' ');
    } else if (value instanceof Duration duration) {
      return Durations.inWords(duration);
    } else if (value instanceof List<?> list) {
      return list.stream().limit(MOST).map(Words::of).collect(Collectors.joining(", "))
          + (list.size() > MOST ? "… (%s in all)".formatted(count(list.size())) : "");
    } else {
      return cut(Printable.line(value.toString()));
    }
  }

  /** A count, with its thousands apart. */
  public static String count(long count) {
    return String.format(Locale.ROOT, "%,d", count);
  }

  /** The same of what channel_gauges counts, which goes to 100,000 and no further. */
  public static String counted(long count) {
    return count(count) + (count >= 100_000 ? "+" : "");
  }

  public static String cut(String text) {
    return text.length() <= LONGEST
        ? text
        : text.substring(0, LONGEST) + "… (%,d characters)".formatted(text.length());
  }
}
