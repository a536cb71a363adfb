package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.handle.GuardedConnection;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
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
   * The handler returned: deletes the rows and commits. That the handler swallowed an SQL error, or
   * ended the transaction, shows here: the driver's commit() would return normally on an aborted
   * transaction.
   *
   * @param handled the ids of those whose handler ran: not if its condition does not hold any more
   * @param next asked amid a backlog for what is to follow the commit in its message
   * @return what lies behind them
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
    var deletion = deletion(claims);
    // Where it is not sure that more is left, a claim might find nothing.
    var behind = deletion.ofMany() && deletion.isKeyless() ? next.get() : null;
    var left = seen(deletion, commit(session, guarded, deletion, behind));
    claims.forEach(claim -> reports.settled(claim, handled.contains(claim.id()), inHandler));
    restoreSession(session, guarded, deletion.first());
    return left;
  }

  private static RowsBehind commit(
      ClaimSession session,
      GuardedConnection guarded,
      Deletion deletion,
      Pipeline.@Nullable Next behind)
      throws SQLException {
    if (deletion.isKeyless()) {
      return guarded.commitWith(deletion, behind);
    }
    var left = guarded.sealWith(deletion);
    SettleStatements.keysDone(session.connection(), deletion.claims());
    session.connection().commit();
    return left;
  }

  /** Sets back what the handler changed of the session in a way that its SQL did not show. */
  private void restoreSession(ClaimSession session, GuardedConnection guarded, Claim claim) {
    try {
      var holder = claim.holder();
      if (guarded.restoreSession(holder == null ? null : holder.idleTimeout())) {
        session.forget();
      }
    } catch (SQLException e) {
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
   * The attempt failed: undoes the handler's work and records the failure. While the transaction
   * lives this happens inside it, so that nobody can claim the row before its backoff is written;
   * else in a transaction of its own.
   */
  public void fail(
      ClaimSession session, Claim claim, GuardedConnection guarded, Throwable failure) {
    heldUp(failure, () -> failNow(session, claim, guarded, failure));
  }

  private void failNow(
      ClaimSession session, Claim claim, GuardedConnection guarded, Throwable failure) {
    var transaction = session.connection();
    Runnable report;
    try {
      guarded.undo();
      report = record(transaction, claim, failure);
      transaction.commit();
    } catch (SQLException | RuntimeException transactionLost) {
      LOG.debug("pgonce: the transaction of a failed attempt is lost", transactionLost);
      session.giveUp();
      LostConnection.abandon(transaction);
      try {
        // First, so that a pool of one connection has one to give.
        transaction.close();
      } catch (SQLException | RuntimeException e) {
        LOG.debug("pgonce: the lost connection could not be closed", e);
      }
      failLate(claim, failure);
      return;
    }
    report.run();
  }

  /**
   * Counts the next attempt of a suspect before it begins, with a token to claim it by, and due
   * again as if it had failed. A suspect whose attempts are used up becomes a dead letter. Commits.
   *
   * @return what to claim again; null if there is nothing
   */
  public @Nullable Claim countAhead(Connection transaction, Claim claim) throws SQLException {
    GuardedConnection.unready(transaction, claim.sessionBefore());
    var next = claim.nextAttempt();
    if (next > subscribed.options().maxAttempts()) {
      bury(transaction, claim);
      return null;
    }
    var backoff = subscribed.options().backoff().after(next);
    // Until it is claimed by its token nobody else is to find it due, and count once more.
    var delay = backoff.compareTo(CLAIMED_WITHIN) < 0 ? CLAIMED_WITHIN : backoff;
    var counted = countAhead(transaction, claim, delay);
    transaction.commit();
    if (counted != null) {
      reports.countedAhead(claim, next, delay);
    }
    return counted;
  }
}
