package org.pgonce.internal.consume;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.ClaimStatement;
import org.pgonce.internal.context.BoundedSessions;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.GuardedConnection;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.settle.TransactionalSettlement;
import org.pgonce.internal.settle.TransactionalSettlement.Outcome;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One claimed notification. */
final class SingleAttempt extends TransactionalAttempt {

  private static final Logger LOG = LoggerFactory.getLogger(SingleAttempt.class);

  /** How often an attempt runs again for a conflict, before it counts as failed. */
  private static final int MOST_CONFLICTS = 3;

  private final Claim claim;
  private final Supplier<Pipeline.@Nullable Next> next;
  private int conflicts;

  /**
   * @param next what may follow its commit
   */
  SingleAttempt(
      Claim claim,
      ClaimSession session,
      TransactionalSettlement settlement,
      BoundedSessions sessions,
      Supplier<Pipeline.@Nullable Next> next) {
    super(claim, claim.headers(), session, settlement, sessions);
    this.claim = claim;
    this.next = next;
  }

  @Override
  Set<Long> handle(Delivery<?> delivery, GuardedConnection guarded) throws Exception {
    return delivery.run(claim, guarded::connection) ? Set.of(claim.id()) : Set.of();
  }

  @Override
  Outcome complete(GuardedConnection guarded, Set<Long> handled, Duration inHandler)
      throws SQLException {
    return settlement.complete(session, claim, guarded, !handled.isEmpty(), inHandler, next);
  }

  /**
   * A deadlock says nothing against the notification: it runs again at once, while the transaction
   * keeps its row. The other transaction of the deadlock has the locks by now, so the handler waits
   * for them without any of its own.
   */
  @Override
  boolean isUndoneToRunAgain(GuardedConnection guarded, Throwable failure) {
    if (conflicts == MOST_CONFLICTS || !guarded.isConflict(failure)) {
      return false;
    }
    try {
      guarded.undo();
      if (!ClaimStatement.mayBeginAgain(connection, claim)) {
        return false;
      }
    } catch (SQLException | RuntimeException e) {
      LOG.debug("pgonce: after a conflict {} could not be undone alone", claim, e);
      return false;
    }
    conflicts++;
    LOG.info(
        "pgonce: {} met a deadlock or serialization failure ({}) and runs again at once, uncounted, {} of {} times",
        claim,
        Failures.inWords(failure),
        conflicts,
        MOST_CONFLICTS);
    return true;
  }

  @Override
  boolean fail(GuardedConnection guarded, Throwable failure, Duration inHandler) {
    return settlement.fail(connection, claim, guarded, failure);
  }

  /**
   * The session is ended in the transaction that records the failure: that one waits for the row
   * when the session lets go of it, so that hardly anyone can claim the row in between and run into
   * the same.
   */
  @Override
  public void overran(Duration timeout) {
    var failure =
        new TimeoutException("the handler did not return within " + timeout.toMillis() + " ms");
    sessions.closeAfter(() -> settlement.failLate(claim, failure), connection);
  }

  @Override
  public String toString() {
    return claim.toString();
  }
}
