package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.handle.GuardedConnection;
import org.pgonce.internal.handle.Registration;

/**
 * What is done with a row whose earlier claim ended without a word, before its handler may begin,
 * in the transaction that holds it: that handler may be what ends processes.
 */
public final class Suspects {

  private static final String DIED =
      "the process that ran it, or its session, ended without a word";

  // From the commit that counts an attempt to the claim by its token.
  private static final Duration CLAIMED_WITHIN = Duration.ofSeconds(1);

  private final Registration<?> subscribed;
  private final Reports reports;

  public Suspects(Registration<?> subscribed, Reports reports) {
    this.subscribed = subscribed;
    this.reports = reports;
  }

  /**
   * Counts the next attempt before it begins, with a token to claim it by, and due again as if it
   * had failed: whoever dies now has counted. One whose attempts are used up becomes a dead letter
   * instead. Commits.
   *
   * @return the token; null if there is nothing to claim
   */
  public @Nullable String countAhead(Connection transaction, Claim claim) throws SQLException {
    GuardedConnection.unready(transaction, claim.sessionBefore());
    var next = claim.attempts() + 1;
    if (next > subscribed.options().maxAttempts()) {
      bury(transaction, claim);
      return null;
    }
    var token = newToken();
    var backoff = subscribed.options().backoff().after(next);
    // Until it is claimed by its token nobody else is to find it due, and count once more.
    var delay = backoff.compareTo(CLAIMED_WITHIN) < 0 ? CLAIMED_WITHIN : backoff;
    var there = SettleStatements.countAhead(transaction, claim, token, delay, DIED);
    transaction.commit();
    if (!there) {
      return null;
    }
    reports.countedAhead(claim, next, delay);
    return token;
  }

  /**
   * Leases it, which counts its next attempt. The caller commits.
   *
   * @return null if it is not there as the claim has it
   */
  public @Nullable Claim lease(Connection transaction, Claim claim) throws SQLException {
    var token = newToken();
    var there =
        SettleStatements.countAhead(transaction, claim, token, subscribed.options().lease(), DIED);
    return there ? claim.leasedAgain(token) : null;
  }

  /**
   * Has it wait for its turn, its next attempt uncounted; it stays suspect. Commits.
   *
   * @param turn how long
   */
  public void postpone(Connection transaction, Claim claim, Duration turn) throws SQLException {
    GuardedConnection.unready(transaction, claim.sessionBefore());
    var there = SettleStatements.postpone(transaction, claim, newToken(), turn);
    transaction.commit();
    if (there) {
      reports.postponed(turn);
    }
  }

  /**
   * Its attempts are used up: makes it a dead letter. Commits.
   *
   * @param transaction without a savepoint for a handler
   */
  public void bury(Connection transaction, Claim claim) throws SQLException {
    var reason =
        subscribed.channel().mode() == Mode.AT_MOST_ONCE
            ? DeadLetterReason.OUTCOME_UNKNOWN
            : DeadLetterReason.ATTEMPTS_USED_UP;
    // Where only its lock told of it, it was not counted.
    var attempts = Math.max(1, claim.attempts());
    var there = SettleStatements.bury(transaction, claim, attempts, reason, DIED);
    transaction.commit();
    if (there) {
      reports.buried(claim, attempts, new Verdict.Bury(reason, DIED));
    }
  }

  private static String newToken() {
    return UUID.randomUUID().toString();
  }
}
