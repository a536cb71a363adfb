package org.pgonce;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Thrown by a handler that finds that it cannot go on for now, whichever notification it is given:
 * the service that it calls is down, say. What it wrote through its transaction is undone, its
 * notification goes back as it was, with no attempt counted, and the subscription that it handles
 * is paused in the same commit, as by {@code pgonce.pause}: in every process, for this reason, by
 * this instance ({@link PgOnceBuilder#instance}), until somebody resumes it. From the throw on this
 * process claims nothing more of it; handlers that run go on to their end.
 *
 * <p>In {@link Mode#AT_MOST_ONCE}, where no handler runs twice, the notification is not put back
 * but becomes a dead letter, as after any other exception; the subscription is paused all the same.
 * In {@link Mode#BROADCAST}, which stores nothing that could wait, this is a failure like any
 * other. If the pause cannot be recorded, the attempt has failed, and is counted and retried.
 */
public class PauseException extends Exception {

  private static final long serialVersionUID = 1L;

  /**
   * @param reason for whoever finds the channel paused; its first line is stored, 2,000 characters
   *     at most. Say nothing secret in it
   */
  public PauseException(String reason) {
    this(reason, null);
  }

  /**
   * @param cause what happened; it is logged at level debug
   */
  public PauseException(String reason, @Nullable Throwable cause) {
    super(Objects.requireNonNull(reason, "reason"), cause);
  }
}
