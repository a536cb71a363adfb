package org.pgonce.guards.internal;

import org.jspecify.annotations.Nullable;
import org.pgonce.guards.GuardOutcome;
import org.pgonce.guards.GuardResult;
import org.pgonce.guards.GuardState;
import org.pgonce.guards.RequestMismatchException;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/**
 * A row of pgonce_guards.guard, with what only its owner sees.
 *
 * @param token of the attempt, if it is the one that was asked with
 */
record StoredGuard(
    GuardState state,
    @Nullable String token,
    String fingerprint,
    @Nullable String settledBy,
    @Nullable String response) {

  boolean isOf(Attempt attempt) {
    return attempt.token().toString().equals(token);
  }

  /** Whether this attempt was begun, and has no outcome yet. */
  boolean isBegunBy(Attempt attempt) {
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

  <R> GuardResult<R> result(PayloadCodec codec, Class<R> type) {
    return result(codec, type, null);
  }

  /**
   * @param cause of a failure that was thrown here
   */
  <R> GuardResult<R> result(PayloadCodec codec, Class<R> type, @Nullable Exception cause) {
    return switch (state.outcome()) {
      case STARTED -> new GuardResult.InProgress<>(state.key(), state);
      case FAILED -> new GuardResult.Failed<>(state, cause);
      case UNKNOWN -> new GuardResult.Unknown<>(state, cause);
      case SUCCEEDED -> succeeded(codec, type);
    };
  }

  private <R> GuardResult<R> succeeded(PayloadCodec codec, Class<R> type) {
    if (response == null) {
      return new GuardResult.Succeeded<>(state.key(), null, true, state.error());
    }
    try {
      return new GuardResult.Succeeded<>(state.key(), codec.decode(response, type), true, null);
    } catch (UnreadablePayloadException e) {
      return new GuardResult.Succeeded<>(state.key(), null, true, e.getMessage());
    } catch (RuntimeException e) { // of a codec of the user's own
      return new GuardResult.Succeeded<>(state.key(), null, true, Failures.inWords(e));
    }
  }
}
