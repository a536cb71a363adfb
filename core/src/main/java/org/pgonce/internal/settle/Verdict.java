package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.Backoff;
import org.pgonce.Mode;
import org.pgonce.PauseException;
import org.pgonce.RejectedException;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.handle.NewerVersionException;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.handle.TooDeepException;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/**
 * What a notification becomes whose attempt failed. {@link Claim} says when attempts are counted.
 *
 * @param why the failure in words
 * @param delay until its next attempt, where it has one
 * @param deadLetter why it is a dead letter; null if it is not
 */
record Verdict(Kind kind, String why, Duration delay, @Nullable DeadLetterReason deadLetter) {

  enum Kind {
    RETRY,
    /** Only other processes can read it: it waits for them, the attempt uncounted. */
    PUT_BACK,
    DEAD_LETTER,
    /** The subscription is paused, the attempt uncounted; a dead letter if it may not run again. */
    PAUSE
  }

  /** Decides. Never throws: the attempt would not be counted. */
  static Verdict on(Throwable failure, Claim claim, Registration<?> subscribed) {
    var utf8 = subscribed.installed().isUtf8();
    var reason = Failures.reason(failure, utf8);
    if (failure instanceof NewerVersionException) {
      return new Verdict(Kind.PUT_BACK, reason, putBackFor(claim.age()), null);
    }
    if (failure instanceof UnreadablePayloadException) {
      return deadLetter(DeadLetterReason.UNREADABLE, reason);
    }
    if (failure instanceof TooDeepException) {
      return deadLetter(DeadLetterReason.TOO_DEEP, reason);
    }
    var words = Failures.inWords(failure);
    var why = utf8 ? words : Failures.inAscii(words);
    if (failure instanceof RejectedException) {
      return deadLetter(DeadLetterReason.REJECTED, why);
    }
    var isOnce = subscribed.channel().mode() == Mode.AT_MOST_ONCE;
    if (failure instanceof PauseException) {
      return new Verdict(
          Kind.PAUSE, reason, Duration.ZERO, isOnce ? DeadLetterReason.ATTEMPTS_USED_UP : null);
    }
    if (isOnce && failure instanceof UnknownOutcomeException) {
      return deadLetter(DeadLetterReason.OUTCOME_UNKNOWN, why);
    }
    var options = subscribed.options();
    return isOnce || claim.attempt() >= options.maxAttempts()
        ? deadLetter(DeadLetterReason.ATTEMPTS_USED_UP, why)
        : new Verdict(Kind.RETRY, why, options.backoff().after(claim.attempt()), null);
  }

  private static Verdict deadLetter(DeadLetterReason reason, String why) {
    return new Verdict(Kind.DEAD_LETTER, why, Duration.ZERO, reason);
  }

  /**
   * A process that can read it may come in a second or a week. While both kinds run, chance decides
   * which of them claims it, so it gets some tries before the delay grows.
   */
  private static Duration putBackFor(Duration age) {
    var whole = Duration.ofMillis(Math.max(1_000, Math.min(age.toMillis() / 4, 60_000)));
    return new Backoff(whole, whole).after(1);
  }

  /** Records it in the transaction; false as {@link SettleStatements#schedule}. */
  boolean record(Connection transaction, Claim claim, Mode mode, Pausing pausing)
      throws SQLException {
    if (kind == Kind.PAUSE) {
      pausing.record(transaction, why);
    }
    if (deadLetter != null) {
      return SettleStatements.bury(transaction, claim, claim.attempt(), deadLetter, why);
    }
    var attempt = claim.attempt();
    var failed = DeadLetterReason.ATTEMPTS_USED_UP;
    return switch (kind) {
      case RETRY ->
          SettleStatements.schedule(transaction, claim, attempt, null, delay, why, failed);
      case PUT_BACK -> {
        var begun = SettleStatements.begunBefore(claim, mode);
        yield SettleStatements.schedule(transaction, claim, attempt - 1, null, delay, why, begun);
      }
      // Without a token its transaction holds it, and has changed nothing of it.
      case PAUSE, DEAD_LETTER ->
          claim.token() == null || SettleStatements.giveBack(transaction, claim, failed);
    };
  }
}
