package org.pgonce.internal.jdbc;

import java.sql.SQLException;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A deadlock (40P01) or a serialization failure (40001): PostgreSQL has undone a transaction since
 * it met another one. Nothing is wrong with the work, which may be run again at once.
 */
public final class Conflict {

  private static final Set<String> STATES = Set.of("40P01", "40001");

  // A chain of causes may be a circle.
  private static final int DEEPEST = 32;

  private Conflict() {}

  /** Whether it, or one of its causes, is a conflict. Frameworks wrap the driver's exception. */
  public static boolean isToldBy(@Nullable Throwable failure) {
    var cause = failure;
    for (var depth = 0; cause != null && depth < DEEPEST; depth++) {
      if (cause instanceof SQLException sql && STATES.contains(String.valueOf(sql.getSQLState()))) {
        return true;
      }
      cause = cause.getCause();
    }
    return false;
  }
}
