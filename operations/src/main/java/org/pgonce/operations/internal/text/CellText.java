package org.pgonce.operations.internal.text;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A value of the database in one line, as people read it in a table. */
public final class CellText {

  /** As PostgreSQL writes it: texts of the database have times too. */
  private static final DateTimeFormatter TIME =
      new DateTimeFormatterBuilder()
          .appendPattern("uuuu-MM-dd HH:mm:ss")
          .appendOffset("+HH:mm", "+00")
          .toFormatter(Locale.ROOT);

  private static final Pattern UNNAMED = Pattern.compile("pid \\d+");

  private CellText() {}

  /**
   * Null is empty. Times are in the process's time zone, which the driver makes the session's too,
   * with its offset, to the second. Numbers are not grouped: ids and pids are copied into commands.
   * Characters that a terminal or a page would obey are escaped. The name of a process that was
   * given none is its number, which must not pass for a process of the server.
   */
  public static String of(@Nullable Object value) {
    if (value == null) {
      return "";
    } else if (value instanceof Instant instant) {
      return TIME.format(instant.atZone(ZoneId.systemDefault()));
    } else if (value instanceof Duration duration) {
      return Durations.inWords(duration);
    } else if (value instanceof List<?> list) {
      return list.stream().map(CellText::of).collect(Collectors.joining(", "));
    } else if (value instanceof String name && isUnnamed(name)) {
      return "instance '" + name + "'";
    } else {
      return Printable.line(value.toString());
    }
  }

  /** Whether it is the name of a process that was given none. */
  public static boolean isUnnamed(String name) {
    return UNNAMED.matcher(name).matches();
  }
}
