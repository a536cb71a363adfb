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
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** EXACTLY_ONCE: ends the transaction of a claim, one way or the other. */
public final class TransactionalSettlement extends Settlement {

  private static final Logger LOG = LoggerFactory.getLogger(TransactionalSettlement.class);

  /**
   * How an attempt has ended.
   *
   * @param fit whether the connection is fit for the next claim
   * @param left what may lie behind the notification that it had
   */
  public record Outcome(boolean fit, RowsBehind left) {}

  public TransactionalSettlement(Parts parts) {
    super(parts);
  }

  /**
   * The handler returned: deletes the row and commits. That the handler swallowed an SQL error, or
   * ended the transaction, shows here: the driver's commit() would return normally on an aborted
   * transaction.
   *
   * @param handled whether it ran at all: not if its condition does not hold any more
   * @param next asked amid a backlog, for what is to follow the commit in its message
   * @throws SQLException if it is not committed, or not known to be
   */
  public Outcome complete(
      ClaimSession session,
      Claim claim,
      GuardedConnection guarded,
      boolean handled,
      Duration inHandler,
      Supplier<Pipeline.@Nullable Next> next)
      throws SQLException {
    var deletion = deletion(claim);
    // Where it is not sure that more is left, a claim might find nothing.
    var behind = deletion.ofMany() && isKeyless(claim) ? next.get() : null;
    var left =
        seen(deletion, commit(session.connection(), List.of(claim), guarded, deletion, behind));
    reports.told(claim, handled, inHandler);
    return new Outcome(restoreSession(session, guarded, claim), left);
  }

  /**
   * The same for several: all are done, or none.
   *
   * @param handled the ids of those whose handler ran
   */
  public Outcome completeAll(
      ClaimSession session,
      List<Claim> claims,
      GuardedConnection guarded,
      Set<Long> handled,
      Duration inHandler)
      throws SQLException {
    var deletion = new Deletion.OfSeveral(claims);
    var left = commit(session.connection(), claims, guarded, deletion, null);
    claims.forEach(claim -> reports.told(claim, handled.contains(claim.id()), inHandler));
    return new Outcome(restoreSession(session, guarded, claims.get(0)), left);
  }

  /** Deletes them and commits. */
  private static RowsBehind commit(
      Connection transaction,
      List<Claim> claims,
      GuardedConnection guarded,
      Deletion deletion,
      Pipeline.@Nullable Next behind)
      throws SQLException {
    if (claims.stream().allMatch(Settlement::isKeyless)) {
      return guarded.commitWith(deletion, behind);
    }
    var left = guarded.sealWith(deletion);
    SettleStatements.keysDone(transaction, claims);
    transaction.commit();
    return left;
  }

  /**
   * The handler changed the session in a way that its SQL did not show: the next one must not
   * inherit it.
   */
  private boolean restoreSession(ClaimSession session, GuardedConnection guarded, Claim claim) {
    try {
      var holder = claim.holder();
      if (guarded.restoreSession(holder == null ? null : holder.idleTimeout())) {
        session.forget();
      }
      return true;
    } catch (SQLException e) {
      LOG.warn(
          "pgonce: the handler of notification {} of channel {} changed its session's settings, and they could not be set back ({}); the"
              + " connection is closed",
          claim.id(),
          subscribed.label(),
          Failures.inWords(e));
      return false;
    }
  }

  /**
   * The attempt failed: undoes the handler's work and records the failure. While the transaction
   * lives this happens inside it, so the row is held throughout and nobody can take it before its
   * backoff is written; otherwise in a transaction of its own.
   *
   * @return whether the connection is fit for the next claim
   */
  public boolean fail(
      Connection transaction, Claim claim, GuardedConnection guarded, Throwable failure) {
    return heldUp(failure, () -> failNow(transaction, claim, guarded, failure));
  }

  private boolean failNow(
      Connection transaction, Claim claim, GuardedConnection guarded, Throwable failure) {
    Runnable told;
    try {
      guarded.undo();
      told = record(transaction, claim, failure);
      transaction.commit();
    } catch (SQLException | RuntimeException transactionLost) {
      LOG.debug("pgonce: the transaction of a failed attempt is lost", transactionLost);
      failElsewhere(transaction, claim, failure);
      return false;
    }
    told.run();
    return true;
  }

  /** Its commit failed, or the connection: what the handler left there is of no use to anyone. */
  private void failElsewhere(Connection lost, Claim claim, Throwable failure) {
    LostConnection.abandon(lost);
    try {
      // First, so that a pool of one connection has one to give.
      lost.close();
    } catch (SQLException | RuntimeException e) {
      LOG.debug("pgonce: the lost connection could not be closed", e);
    }
    failLate(claim, failure);
  }

  /**
   * The listener stops before the handler has returned: its session is ended, and what was counted
   * before the handler began is taken back.
   */
  public Transactions.Work<Runnable> release(Claim claim) {
    return transaction -> {
      end(transaction, claim);
      if (claim.token() != null) {
        boundTheWait(transaction);
        var unused =
            SettleStatements.giveBack(transaction, claim, DeadLetterReason.OUTCOME_UNKNOWN);
      }
      return () -> {};
    };
  }
}
