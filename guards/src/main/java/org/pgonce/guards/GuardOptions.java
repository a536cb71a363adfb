package org.pgonce.guards;

import java.time.Duration;
import java.util.Objects;
import org.pgonce.RejectedException;

/**
 * How a guard or a sequence is kept. Immutable; the {@code with…} methods return changed copies.
 *
 * @param longestCall the most that the call may take, by the database's clock. Whoever has not said
 *     by then what came of it is taken for dead, and the outcome for {@link GuardOutcome#UNKNOWN};
 *     it may still say so later. Nothing ends the call itself: give it a time limit below this one.
 *     10 ms to 30 days, default 5 minutes
 * @param retention how long what is done is kept, and with it the promise that it is not done
 *     again. It is stored with each guard when it is begun, and nothing deletes it before. 0 to
 *     3,650 days, default 30 days
 * @param longestWait how long {@link Guards#inTransaction} waits for another transaction with the
 *     same key. 1 ms to 1 minute, default 5 s
 * @param failures what an exception says of the effect. Default {@link #cautious}. What the rule
 *     itself throws counts as {@link FailureMeaning#UNKNOWN}, and is suppressed by the exception
 */
public record GuardOptions(
    Duration longestCall, Duration retention, Duration longestWait, FailureRule failures) {

  /** Says what an exception means. Called on the thread of the call. */
  @FunctionalInterface
  public interface FailureRule {
    FailureMeaning of(Exception failure);
  }

  public static final GuardOptions DEFAULT =
      new GuardOptions(
          Duration.ofMinutes(5),
          Duration.ofDays(30),
          Duration.ofSeconds(5),
          GuardOptions::cautious);

  public GuardOptions {
    requireBetween("longestCall", longestCall, Duration.ofMillis(10), Duration.ofDays(30));
    requireBetween("retention", retention, Duration.ZERO, Duration.ofDays(3_650));
    requireBetween("longestWait", longestWait, Duration.ofMillis(1), Duration.ofMinutes(1));
    Objects.requireNonNull(failures, "failures");
  }

  /**
   * The default rule. A {@link RejectedException}: {@link FailureMeaning#FINAL}, as who throws it
   * knows. Any other exception, whatever caused it: {@link FailureMeaning#UNKNOWN}, as the request
   * may have arrived. No exception has {@link FailureMeaning#NO_EFFECT} by default: which ones of
   * your client do, only your own rule can say.
   */
  public static FailureMeaning cautious(Exception failure) {
    Objects.requireNonNull(failure, "failure");
    return failure instanceof RejectedException ? FailureMeaning.FINAL : FailureMeaning.UNKNOWN;
  }

  public GuardOptions withLongestCall(Duration longestCall) {
    return new GuardOptions(longestCall, retention, longestWait, failures);
  }

  public GuardOptions withRetention(Duration retention) {
    return new GuardOptions(longestCall, retention, longestWait, failures);
  }

  public GuardOptions withLongestWait(Duration longestWait) {
    return new GuardOptions(longestCall, retention, longestWait, failures);
  }

  public GuardOptions withFailures(FailureRule failures) {
    return new GuardOptions(longestCall, retention, longestWait, failures);
  }

  private static void requireBetween(String name, Duration value, Duration least, Duration most) {
    Objects.requireNonNull(value, name);
    if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
      throw new IllegalArgumentException(
          name + " " + value + " is not between " + least + " and " + most);
    }
  }
}
