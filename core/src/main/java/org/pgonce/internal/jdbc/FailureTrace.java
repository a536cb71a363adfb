package org.pgonce.internal.jdbc;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The stack trace of a failure and its causes, for the log. In place of their messages stand their
 * classes: the message of a database error quotes the values of the row, and others may as well.
 */
public final class FailureTrace extends Exception {

  // A chain of causes may be a circle, and a stack that overflowed has a thousand calls.
  private static final int DEEPEST = 8;
  private static final int MOST_CALLS = 100;

  private FailureTrace(Throwable failure, int depth) {
    super(failure.getClass().getName(), causeOf(failure, depth), false, true);
    var calls = failure.getStackTrace();
    setStackTrace(Arrays.copyOf(calls, Math.min(calls.length, MOST_CALLS)));
  }

  private static @Nullable FailureTrace causeOf(Throwable failure, int depth) {
    var cause = failure.getCause();
    return cause == null || depth == DEEPEST ? null : new FailureTrace(cause, depth + 1);
  }

  /** Null if it cannot be had. Never throws, whatever the exception's own methods do. */
  public static @Nullable FailureTrace of(Throwable failure) {
    try {
      return new FailureTrace(failure, 1);
    } catch (Throwable thrown) {
      return null;
    }
  }
}
