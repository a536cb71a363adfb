package org.pgonce.operations.internal.sql;

import java.sql.SQLException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.text.Durations;

/** A time as people write it. */
public final class Times {

  // With a unit: a number alone may be a date.
  private static final Pattern AGO = Pattern.compile("\\d{1,9} ?[smhd]");

  private Times() {}

  /** «2h» is so long ago; all else is what PostgreSQL reads as a time. */
  public static @Nullable String resolve(Statements statements, @Nullable String time)
      throws SQLException {
    if (time == null) {
      return null;
    }
    return AGO.matcher(time).matches()
        ? statements.text(
            "SELECT (clock_timestamp() - ?::text::interval)::text",
            Durations.parse(time).toSeconds() + " seconds")
        : statements.text("SELECT ?::text::timestamptz::text", time);
  }
}
