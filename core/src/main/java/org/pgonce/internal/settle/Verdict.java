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
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/** What becomes of a notification whose attempt failed. */
sealed interface Verdict {

  /** The failure in words. */
  String why();

  /** Records it in the transaction; false if the row is not as the claim knows it. */
  boolean record(Connection transaction, Claim claim, Pauser pauser) throws SQLException;

  /** Decides. Never throws: what is lost here is an attempt that nobody counts. */
  static Verdict on(Throwable failure, Claim claim, Registration<?> subscribed) {
    var utf8 = subscribed.installed().isUtf8();
    var reason = Failures.reason(failure, utf8);
    if (failure instanceof NewerVersionException) {
      return new PutBack(PutBack.delay(claim.age()), reason);
    }
    if (failure instanceof UnreadablePayloadException) {
      return new Bury(DeadLetterReason.UNREADABLE, reason);
    }
    var words = Failures.inWords(failure);
    var why = utf8 ? words : Failures.inAscii(words);
    if (failure instanceof RejectedException) {
      return new Bury(DeadLetterReason.REJECTED, why);
    }
    var once = subscribed.channel().mode() == Mode.AT_MOST_ONCE;
    var unknown = failure instanceof UnknownOutcomeException;
    var bury =
        new Bury(
            once && unknown ? DeadLetterReason.OUTCOME_UNKNOWN : DeadLetterReason.ATTEMPTS_USED_UP,
            why);
    if (failure instanceof PauseException) {
      return new Pause(reason, once ? bury : null);
    }
    var options = subscribed.options();
    return once || claim.attempt() >= options.maxAttempts()
        ? bury
        : new Retry(options.backoff().after(claim.attempt()), why);
  }

  /** Another attempt, later. */
  record Retry(Duration delay, String why) implements Verdict {

    @Override
    public boolean record(Connection transaction, Claim claim, Pauser pauser) throws SQLException {
      return SettleStatements.retry(transaction, claim, delay, why);
    }
  }

  /** No further attempt. */
  record Bury(DeadLetterReason reason, String why) implements Verdict {

    @Override
    public boolean record(Connection transaction, Claim claim, Pauser pauser) throws SQLException {
      return SettleStatements.bury(transaction, claim, claim.attempt(), reason, why);
    }
  }

  /** This process cannot read it, and others can: it waits for them, the attempt uncounted. */
  record PutBack(Duration delay, String why) implements Verdict {

    private static final Duration SHORTEST = Duration.ofSeconds(1);
    private static final Duration LONGEST = Duration.ofMinutes(1);

    /**
     * For about as long as it has been waiting: who can read it may come in a second or in a week.
     */
    private static Duration delay(Duration age) {
      var whole = age.compareTo(SHORTEST) < 0 ? SHORTEST : age;
      var bounded = whole.compareTo(LONGEST) > 0 ? LONGEST : whole;
      return new Backoff(bounded, bounded).after(1);
    }

    @Override
    public boolean record(Connection transaction, Claim claim, Pauser pauser) throws SQLException {
      return SettleStatements.putBack(transaction, claim, delay, why);
    }
  }

  /**
   * Its handler pauses the subscription. The attempt is not counted.
   *
   * @param bury what it becomes all the same, since it may not be tried again; null if it may
   */
  record Pause(String why, @Nullable Bury bury) implements Verdict {

    @Override
    public boolean record(Connection transaction, Claim claim, Pauser pauser) throws SQLException {
      pauser.pause(transaction, why);
      if (bury != null) {
        return bury.record(transaction, claim, pauser);
      }
      // Where no token holds it, its transaction does, and has changed nothing of it.
      return claim.token() == null
          || SettleStatements.giveBack(transaction, claim, DeadLetterReason.ATTEMPTS_USED_UP);
    }
  }
}
