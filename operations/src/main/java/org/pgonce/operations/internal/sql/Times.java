package org.pgonce.operations.internal.sql;

import java.sql.SQLException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A time as people write it. */
public final class Times {

  private static final Pattern AGO = Pattern.compile("\\d+ ?[smhd]");

  private Times() {}

  /** «2h» is so long ago; all else is what PostgreSQL reads as a time. */
  public static @Nullable String resolve(Statements statements, @Nullable String time)
      throws SQLException {
    if (time == null) {
      return null;
    }
    return statements.text(
        AGO.matcher(time).matches()
            ? "SELECT (clock_timestamp() - ?::text::interval)::text"
            : "SELECT ?::text::timestamptz::text",
        time);
  }
}
