package org.pgonce.internal.guard;

import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.pgonce.GuardOutcome;
import org.pgonce.GuardState;
import org.pgonce.RequestMismatchException;

/**
 * A row of pgonce.guard, with what only its owner sees.
 *
 * @param token of the attempt, if it is the one that was asked with
 */
public record StoredGuard(
    GuardState state,
    @Nullable String token,
    String fingerprint,
    @Nullable String settledBy,
    @Nullable String response) {

  boolean isOf(UUID attempt) {
    return attempt.toString().equals(token);
  }

  /** Whether this attempt was begun, and has no outcome yet. */
  boolean isBegunBy(UUID attempt) {
    return isOf(attempt) && state.outcome() == GuardOutcome.STARTED;
  }

  boolean isSettledByItsCall() {
    return "CALL".equals(settledBy);
  }

  StoredGuard requireRequest(String fingerprint) {
    if (!this.fingerprint.equals(fingerprint)) {
      throw new RequestMismatchException(state);
    }
    return this;
  }
}
