package org.pgonce.internal.consume;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.pgonce.PauseException;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.context.BoundedSessions;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.GuardedConnection;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.settle.TransactionalSettlement;
import org.pgonce.internal.settle.TransactionalSettlement.Outcome;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Several claimed notifications: all are done, or none. Those that were undone are claimed once
 * more in parts: as many at once as the limit allows after a conflict, and one by one after a
 * failure, which shows which of them has failed.
 */
final class BatchAttempt extends TransactionalAttempt {

  private static final Logger LOG = LoggerFactory.getLogger(BatchAttempt.class);

  private final String label;
  private final List<Claim> claims;
  private final BatchLimit limit;
  private int partAfterUndo;

  /**
   * @param claims at least two, in the order of their ids
   * @param limit learns how it ended
   */
  BatchAttempt(
      String label,
      List<Claim> claims,
      ClaimSession session,
      TransactionalSettlement settlement,
      BoundedSessions sessions,
      BatchLimit limit) {
    super(claims.get(0), Claim.headersOf(claims), session, settlement, sessions);
    this.label = label;
    this.claims = claims;
    this.limit = limit;
  }

  @Override
  Set<Long> handle(Delivery<?> delivery, GuardedConnection guarded) throws Exception {
    return delivery.runAll(claims, guarded);
  }

  @Override
  Outcome complete(GuardedConnection guarded, Set<Long> handled, Duration inHandler)
      throws SQLException {
    var outcome = settlement.completeAll(session, claims, guarded, handled, inHandler);
    limit.passed(claims.size());
    return outcome;
  }

  /** How many at once are to be claimed again of what was undone; 0: none was undone. */
  int partAfterUndo() {
    return partAfterUndo;
  }

  /** Nothing is counted: which of them has failed shows when they are handled one by one. */
  @Override
  boolean fail(GuardedConnection guarded, Throwable failure, Duration inHandler) {
    if (failure instanceof PauseException) {
      return settlement.fail(connection, claims.get(0), guarded, failure);
    }
    partAfterUndo = 1;
    if (guarded.isConflict(failure)) {
      limit.conflicted(claims.size(), inHandler);
      partAfterUndo = Math.min(limit.now(), claims.size() / 2);
    } else if (guarded.isSettingRefused()) {
      limit.forbid();
      LOG.warn(
          "pgonce: the handler of channel {} changes settings of its transaction, which a batch would hand on to its next notification; from now on each"
              + " notification is handled in a transaction of its own. Leave ListenOptions.batch at 1, or use Handler.batch",
          label);
    }
    LOG.info(
        "pgonce: {} failed together ({}); all are undone and handled again, at most {} at once",
        this,
        Failures.inWords(failure),
        partAfterUndo);
    LOG.debug("pgonce: the failure in full", failure);
    return undo(failure);
  }

  private boolean undo(Throwable failure) {
    try {
      if (!LostConnection.isToldBy(failure)) {
        connection.rollback();
        return true;
      }
    } catch (SQLException | RuntimeException lost) {
      LOG.debug("pgonce: the connection is lost", lost);
    }
    LostConnection.abandon(connection);
    return false;
  }

  /**
   * Which of them did not return is not known. Their rows tell the next claim that this one ended
   * without a word, so each is counted when it is handled alone.
   */
  @Override
  public void overran(Duration timeout) {
    sessions.closeAfter(() -> settlement.endSession(claims.get(0)), connection);
  }

  @Override
  public String toString() {
    return "%d notifications of channel %s, from %d to %d"
        .formatted(claims.size(), label, claims.get(0).id(), claims.get(claims.size() - 1).id());
  }
}
