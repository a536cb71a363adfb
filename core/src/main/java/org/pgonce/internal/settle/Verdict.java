package org.pgonce.internal.settle;

import java.time.Duration;
import org.pgonce.ListenOptions;
import org.pgonce.RejectedException;
import org.pgonce.internal.claim.Claim;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/** What becomes of a notification whose attempt failed. */
sealed interface Verdict {

  /** The failure in words. */
  String why();

  /** Another attempt, later. */
  record Retry(Duration delay, String why) implements Verdict {}

  /** No further attempt. */
  record Bury(DeadLetterReason reason, String why) implements Verdict {}

  static Verdict on(Throwable failure, Claim claim, ListenOptions options) {
    if (failure instanceof UnreadablePayloadException) {
      return new Bury(DeadLetterReason.UNREADABLE, String.valueOf(failure.getMessage()));
    }
    var why = Failures.inWords(failure);
    if (failure instanceof RejectedException) {
      return new Bury(DeadLetterReason.REJECTED, why);
    }
    return claim.attempt() >= options.maxAttempts()
        ? new Bury(DeadLetterReason.ATTEMPTS_USED_UP, why)
        : new Retry(options.backoff().after(claim.attempt()), why);
  }
}
