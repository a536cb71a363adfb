package org.pgonce.guards;

import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnceException;

/**
 * A guarded call was made, and what it came to could not be stored: the database could not be
 * reached, or somebody else had settled or released the guard meanwhile. The message says which.
 * The call is not made again.
 */
public final class OutcomeNotRecordedException extends PgOnceException {

  private static final long serialVersionUID = 1L;

  private final transient @Nullable Object response;

  /**
   * @param response what the call returned; null if it threw
   */
  public OutcomeNotRecordedException(
      String message, @Nullable Object response, @Nullable Throwable cause) {
    super(Objects.requireNonNull(message, "message"));
    if (cause != null) {
      initCause(cause);
    }
    this.response = response;
  }

  /** What the call returned; empty if it threw, or returned null. */
  public Optional<Object> response() {
    return Optional.ofNullable(response);
  }
}
