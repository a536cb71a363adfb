package org.pgonce;

import java.util.Objects;

/**
 * Thrown by a handler that knows that no further attempt will succeed: the notification becomes a
 * dead letter at once.
 */
public class RejectedException extends Exception {

  private static final long serialVersionUID = 1L;

  /**
   * @param reason kept with the dead letter; say nothing secret in it
   */
  public RejectedException(String reason) {
    super(Objects.requireNonNull(reason, "reason"));
  }
}
