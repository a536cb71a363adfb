package org.pgonce.operations.internal.text;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A value of the database in one line, as people read it in a table. */
public final class CellText {

  private CellText() {}

  /**
   * Null is empty, times are in UTC to the second. Numbers are not grouped: ids and pids are copied
   * into commands. Characters that a terminal or a page would obey are escaped.
   */
  public static String of(@Nullable Object value) {
    if (value == null) {
      return "";
    } else if (value instanceof Instant instant) {
      return instant.truncatedTo(ChronoUnit.SECONDS).toString().replace('T', ' ');
    } else if (value instanceof Duration duration) {
      return Durations.inWords(duration);
    } else if (value instanceof List<?> list) {
      return list.stream().map(CellText::of).collect(Collectors.joining(", "));
    } else {
      return Printable.line(value.toString());
    }
  }
}
