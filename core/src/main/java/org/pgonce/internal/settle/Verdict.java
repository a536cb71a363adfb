package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.PauseException;
import org.pgonce.RejectedException;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.handle.NewerVersionException;
import org.pgonce.internal.handle.Subscribed;
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

  /** This process cannot read it, and others can: it waits for them, the attempt uncounted. */
  record PutBack(Duration delay, String why) implements Verdict {

    private static final Duration SHORTEST = Duration.ofSeconds(1);
    private static final Duration LONGEST = Duration.ofMinutes(1);

    /**
     * For about as long as it has been waiting: who can read it may come in a second or in a week.
     */
    static Duration delay(Duration age) {
      var whole = age.compareTo(SHORTEST) < 0 ? SHORTEST : age;
      var bounded = (whole.compareTo(LONGEST) > 0 ? LONGEST : whole).toMillis();
      return Duration.ofMillis(
          bounded / 2 + ThreadLocalRandom.current().nextLong(bounded - bounded / 2 + 1));
    }
  }

  /** No further attempt. */
  record Bury(DeadLetterReason reason, String why) implements Verdict {}

  /** Never throws: what is lost here is an attempt that nobody counts. */
  static Verdict on(Throwable failure, Claim claim, Subscribed<?> subscribed) {
    if (failure instanceof NewerVersionException) {
      return new PutBack(
          PutBack.delay(claim.age()), Failures.reason(failure, subscribed.installed().isUtf8()));
    }
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

  /** Records it in the transaction; false if the row is not as the claim knows it. */
  default boolean record(Connection transaction, Claim claim, Pauser pauser) throws SQLException {
    if (this instanceof Pause pause) {
      pauser.pause(transaction, pause.why());
      if (pause.bury() != null) {
        return pause.bury().record(transaction, claim, pauser);
      }
      // Where no token holds it, its transaction does, and has changed nothing of it.
      return claim.token() == null
          || SettleStatements.giveBack(transaction, claim, DeadLetterReason.ATTEMPTS_USED_UP);
    }
    if (this instanceof PutBack putBack) {
      return SettleStatements.putBack(transaction, claim, putBack.delay(), putBack.why());
    }
    if (this instanceof Retry retry) {
      return SettleStatements.retry(transaction, claim, retry.delay(), retry.why());
    }
    var bury = (Bury) this;
    return SettleStatements.bury(transaction, claim, claim.attempt(), bury.reason(), bury.why());
  }
}
