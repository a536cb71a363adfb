package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.handle.GuardedConnection;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** EXACTLY_ONCE: settles in the transaction of the claim. */
public final class TransactionalSettlement extends Settlement {

  private static final Logger LOG = LoggerFactory.getLogger(TransactionalSettlement.class);

  // From the commit that counts an attempt to the claim by its token.
  private static final Duration CLAIMED_WITHIN = Duration.ofSeconds(1);

  public TransactionalSettlement(
      Registration<?> subscribed, Transactions transactions, Reports reports, Pausing pausing) {
    super(subscribed, transactions, reports, pausing);
  }

  /**
   * Deletes the rows after their handler, and commits. The deletion fails if the handler swallowed
   * an SQL error or ended the transaction. The driver's commit() alone would return normally.
   *
   * @param handled the ids of those whose condition held, so that their handler ran
   * @param next the statement that may follow the commit in its message, amid a backlog
   * @throws SQLException if it is not committed, or not known to be
   */
  public RowsBehind complete(
      ClaimSession session,
      List<Claim> claims,
      GuardedConnection guarded,
      Set<Long> handled,
      Duration inHandler,
      Supplier<Pipeline.@Nullable Next> next)
      throws SQLException {
    var deletion = deletion(claims, handled, inHandler);
    // Otherwise the claim might find nothing.
    var behind = deletion.amidBacklog() ? next.get() : null;
    var left = seen(deletion, guarded.commitWith(deletion, behind));
    claims.forEach(claim -> reports.settled(claim, handled.contains(claim.id()), inHandler));
    restoreSession(session, guarded, deletion.first());
    return left;
  }

  /** Sets back settings that the handler changed unseen, as in a function. */
  private void restoreSession(ClaimSession session, GuardedConnection guarded, Claim claim) {
    try {
      var holder = Objects.requireNonNull(claim.holder());
      if (guarded.restoreSession(holder.idleTimeout())) {
        session.forget();
      }
    } catch (SQLException | RuntimeException e) {
      LOG.warn(
          "pgonce: the handler of notification {} of channel {} changed its session's settings, and they could not be set back ({}); the"
              + " connection is closed",
          claim.id(),
          subscribed.label(),
          Failures.inWords(e));
      session.giveUp();
    }
  }

  /**
   * Undoes the handler's work and records the failure, in the same transaction, so that nobody
   * claims the row before its backoff is written. If that is lost, in a transaction of its own.
   */
  public void fail(
      ClaimSession session, Claim claim, GuardedConnection guarded, FailedAttempt failure) {
    heldUp(failure, () -> failNow(session, claim, guarded, failure));
  }

  private void failNow(
      ClaimSession session, Claim claim, GuardedConnection guarded, FailedAttempt failure) {
    var transaction = session.connection();
    Runnable report;
    try {
      guarded.undo();
      report = record(transaction, claim, failure);
      transaction.commit();
    } catch (SQLException | RuntimeException transactionLost) {
      LOG.debug("pgonce: the transaction of a failed attempt is lost", transactionLost);
      session.giveUp();
      session.closeLost(); // first, so that a pool of one has one to give
      failLate(claim, failure);
      return;
    }
    report.run();
  }

  /**
   * Counts the next attempt of a suspect before it begins. The row gets a token to claim it by, and
   * is due again as if the attempt had failed. If none is left, it becomes a dead letter. Commits.
   *
   * @return what to claim again; null if there is nothing
   */
  public @Nullable Claim countAhead(Connection transaction, Claim claim) throws SQLException {
    GuardedConnection.unready(transaction, claim.sessionBefore());
    var next = claim.nextAttempt();
    if (next > subscribed.options().maxAttempts()) {
      bury(transaction, claim, false);
      return null;
    }
    var backoff = subscribed.options().backoff().after(next);
    // So that no other process finds it due, and counts once more, before it is claimed again.
    var delay = backoff.compareTo(CLAIMED_WITHIN) < 0 ? CLAIMED_WITHIN : backoff;
    var counted = leaseAgain(transaction, claim, delay);
    transaction.commit();
    if (counted != null) {
      reports.countedAhead(claim, next, delay);
    }
    return counted;
  }
}
