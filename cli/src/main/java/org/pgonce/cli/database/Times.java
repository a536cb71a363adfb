package org.pgonce.cli.database;

import java.sql.SQLException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.operations.internal.sql.Statements;
import org.pgonce.operations.internal.text.Durations;

/** A time as people write it, of which PostgreSQL makes one. What is none is refused in words. */
public final class Times {

  // With a unit: a number alone may be a date.
  private static final Pattern AGO = Pattern.compile("\\d{1,9} ?[smhd]");

  // Those of texts that are no time or interval, or one that is out of range or in no known zone.
  private static final Pattern NO_TIME = Pattern.compile("220(07|08|09|15|23)");

  private static final String TIME = "SELECT ?::text::timestamptz::text";

  private Times() {}

  /** «2h» is so long ago; all else is what PostgreSQL reads as a time. */
  public static @Nullable String resolve(
      Statements statements, String option, @Nullable String time) throws SQLException {
    if (time == null) {
      return null;
    }
    var refusal =
        "%s \"%s\" is no time: give one as 2h (ago), 30m, 3d, or '2026-11-26 10:00'"
            .formatted(option, time);
    if (AGO.matcher(time).matches()) {
      var seconds = Durations.parse(time).toSeconds() + " seconds";
      return read(
          statements, "SELECT (clock_timestamp() - ?::text::interval)::text", seconds, refusal);
    }
    return read(statements, TIME, time, refusal);
  }

  /** When something is due. */
  public static @Nullable String at(Statements statements, String option, @Nullable String time)
      throws SQLException {
    if (time == null) {
      return null;
    }
    var read =
        read(
            statements,
            TIME,
            time,
            "%s \"%s\" is no time: give one as '2026-11-26 10:00'".formatted(option, time));
    if (read.endsWith("infinity")) {
      throw new UsageException(
          "%s \"%s\" never comes: give a time as '2026-11-26 10:00'".formatted(option, time));
    }
    return read;
  }

  /** When something is due so much later. In UTC, where each day has 24 hours. */
  public static String after(Statements statements, String option, String interval)
      throws SQLException {
    return read(
        statements,
        "SELECT ((clock_timestamp() AT TIME ZONE 'UTC' + ?::text::interval) AT TIME ZONE 'UTC')::text",
        interval,
        "%s \"%s\" is no interval, or leads to no time: give one as '2 hours'"
            .formatted(option, interval));
  }

  private static String read(Statements statements, String sql, String given, String refusal)
      throws SQLException {
    try {
      return String.valueOf(statements.text(sql, given));
    } catch (SQLException e) {
      if (NO_TIME.matcher(String.valueOf(e.getSQLState())).matches()) {
        throw new UsageException(refusal, e);
      }
      throw e;
    }
  }
}
