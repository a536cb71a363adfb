package org.pgonce.internal.settle;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.PauseException;
import org.pgonce.RejectedException;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.deliver.Subscribed;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/** What becomes of a notification whose attempt failed. */
sealed interface Verdict {

  /** The failure in words. */
  String why();

  /** Another attempt, later. */
  record Retry(Duration delay, String why) implements Verdict {}

  /**
   * Its handler pauses the subscription. The attempt is not counted.
   *
   * @param bury what it becomes all the same, since it may not be tried again; null if it may
   */
  record Pause(String why, @Nullable Bury bury) implements Verdict {}

  /** No further attempt. */
  record Bury(DeadLetterReason reason, String why) implements Verdict {}

  /** Never throws: what is lost here is an attempt that nobody counts. */
  static Verdict on(Throwable failure, Claim claim, Subscribed<?> subscribed) {
    var unreadable = failure instanceof UnreadablePayloadException;
    var words = unreadable ? Failures.reason(failure) : Failures.inWords(failure);
    var why = subscribed.installed().isUtf8() ? words : Failures.inAscii(words);
    if (unreadable) {
      return new Bury(DeadLetterReason.UNREADABLE, why);
    }
    if (failure instanceof RejectedException) {
      return new Bury(DeadLetterReason.REJECTED, why);
    }
    var once = subscribed.channel().mode() == Mode.AT_MOST_ONCE;
    if (failure instanceof PauseException) {
      return new Pause(
          Failures.reason(failure, subscribed.installed().isUtf8()),
          once ? new Bury(DeadLetterReason.ATTEMPTS_USED_UP, why) : null);
    }
    if (once) {
      return new Bury(
          failure instanceof UnknownOutcomeException
              ? DeadLetterReason.OUTCOME_UNKNOWN
              : DeadLetterReason.ATTEMPTS_USED_UP,
          why);
    }
    var options = subscribed.options();
    return claim.attempt() >= options.maxAttempts()
        ? new Bury(DeadLetterReason.ATTEMPTS_USED_UP, why)
        : new Retry(options.backoff().after(claim.attempt()), why);
  }
}
