package org.pgonce.internal.jdbc;

import java.io.IOException;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;

/** Classifies failures, and describes them in texts that may be stored and logged. */
public final class Failures {

  // In code points.
  private static final int MAX_LENGTH = 2_000;

  // A deadlock, a serialization failure.
  private static final Set<String> CONFLICTS = Set.of("40P01", "40001");

  // A chain of causes may be a circle.
  private static final int DEEPEST = 32;

  private Failures() {}

  /**
   * Whether it, or one of its causes, says that PostgreSQL has undone a transaction because it met
   * another one. The work may run again at once. Frameworks wrap the driver's exception.
   */
  public static boolean isConflict(@Nullable Throwable failure) {
    return causes(failure)
        .anyMatch(
            cause ->
                cause instanceof SQLException sql
                    && CONFLICTS.contains(String.valueOf(sql.getSQLState())));
  }

  public static Stream<Throwable> causes(@Nullable Throwable failure) {
    return Stream.iterate(failure, Objects::nonNull, Throwable::getCause).limit(DEEPEST);
  }

  /**
   * One line: the exception's class and message. Of a database error only the primary message is
   * kept: its detail quotes the values of the row, as in «Key (email)=(…) already exists». Pools
   * and frameworks wrap what the driver says: then with that. Never throws, whatever the
   * exception's own methods do.
   */
  public static String inWords(Throwable failure) {
    return line(
        failure,
        () -> {
          var words = failure.getClass().getName() + ": " + message(failure);
          var cause = said(failure);
          return cause == failure
              ? words
              : words + "; caused by " + cause.getClass().getName() + ": " + message(cause);
        });
  }

  /** The driver's failure, or itself if it is that, or has none. */
  private static Throwable said(Throwable failure) {
    return failure instanceof PSQLException
        ? failure
        : causes(failure)
            .filter(SQLException.class::isInstance)
            .reduce((outer, inner) -> inner)
            .orElse(failure);
  }

  /** As {@link #inWords}, without the exception's class; never empty. */
  public static String reason(Throwable failure, boolean utf8) {
    var words = line(failure, () -> message(failure));
    var why = words.isBlank() ? failure.getClass().getName() : words;
    return utf8 ? why : inAscii(why);
  }

  /**
   * As {@link #inWords}, with the server's hint if the driver has kept it. pgjdbc-ng has not:
   * pgonce's own functions say in their message what to do.
   */
  public static String withHint(Exception failure) {
    var server =
        failure instanceof PSQLException postgres ? postgres.getServerErrorMessage() : null;
    var hint = server == null ? null : server.getHint();
    return inWords(failure) + (hint == null ? "" : ". " + hint);
  }

  /** The text with all that is not ASCII as Java escapes: any database can store that. */
  public static String inAscii(String text) {
    var ascii = new StringBuilder(text.length());
    text.chars()
        .forEach(unit -> ascii.append(unit < 128 ? (char) unit : "\\u%04X".formatted(unit)));
    return ascii.toString();
  }

  private static String line(Throwable failure, Supplier<String> words) {
    String text;
    try {
      text = words.get();
    } catch (Throwable thrown) {
      // Its own getMessage() threw: that must not cost the record of the failure.
      text =
          failure.getClass().getName()
              + ": without words, as its message could not be had: "
              + thrown.getClass().getName();
    }
    return storable(text.lines().findFirst().orElse(""));
  }

  /** PostgreSQL's text knows no NUL, UTF-8 no lone surrogate, and no cut may make one. */
  public static String storable(String line) {
    var text = new StringBuilder();
    line.codePoints()
        .limit(MAX_LENGTH)
        .map(c -> c == 0 ? ' ' : Character.getType(c) == Character.SURROGATE ? '?' : c)
        .forEach(text::appendCodePoint);
    return line.codePointCount(0, line.length()) <= MAX_LENGTH ? text.toString() : text + "...";
  }

  private static String message(Throwable failure) {
    if (!(failure instanceof SQLException sql)) {
      return String.valueOf(failure.getMessage());
    }
    var server =
        failure instanceof PSQLException postgres ? postgres.getServerErrorMessage() : null;
    var message = server == null ? sql.getMessage() : server.getMessage();
    var words = message + " (SQLState " + sql.getSQLState() + ")";
    // pgjdbc says of each failure of the network that an I/O error occurred.
    return sql.getCause() instanceof IOException network ? words + ": " + network : words;
  }
}
