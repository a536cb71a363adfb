package org.pgonce.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.pgonce.PauseException;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.deliver.Delivery;
import org.pgonce.internal.deliver.GuardedConnection;
import org.pgonce.internal.deliver.LostConnection;
import org.pgonce.internal.settle.Failures;
import org.pgonce.internal.settle.Settlement;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Several claimed notifications: all are done, or none, and then they are handled one by one. */
final class LotAttempt extends HeldAttempt {

  private static final Logger LOG = LoggerFactory.getLogger(LotAttempt.class);

  private final String label;
  private final List<Claim> claims;
  private final Runnable onFailure;

  /**
   * @param claims at least one, in the order of their ids
   * @param onFailure told that they are to be handled one by one
   */
  LotAttempt(
      String label,
      List<Claim> claims,
      Connection connection,
      Settlement settlement,
      Sessions sessions,
      Runnable onFailure) {
    super(claims.get(0), Claim.originOf(claims), connection, settlement, sessions);
    this.label = label;
    this.claims = claims;
    this.onFailure = onFailure;
  }

  @Override
  Handled handle(Delivery<?> delivery, GuardedConnection guarded) throws Exception {
    var handled = delivery.runAll(claims, guarded::connection);
    return (used, inHandler) ->
        settlement.completeAll(connection, claims, used, handled, inHandler);
  }

  @Override
  boolean fail(GuardedConnection guarded, Throwable failure) {
    if (failure instanceof PauseException) {
      return settlement.fail(connection, claims.get(0), guarded, failure);
    }
    onFailure.run();
    return undo(failure);
  }

  /** Nothing is counted: which of them has failed will show when they are handled one by one. */
  private boolean undo(Throwable failure) {
    LOG.info(
        "pgonce: {} failed together ({}); all are undone and handled one by one",
        this,
        Failures.inWords(failure));
    LOG.debug("pgonce: the failure in full", failure);
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
   * Which of them it was that did not return is not known. Their rows tell the next claim that this
   * one ended without a word, so each is counted when it is handled alone.
   */
  @Override
  public void overran(Duration timeout) {
    onFailure.run();
    sessions.closeAfter(() -> settlement.endSession(claims.get(0)), connection);
  }

  @Override
  public String toString() {
    return "%d notifications of channel %s, from %d to %d"
        .formatted(claims.size(), label, claims.get(0).id(), claims.get(claims.size() - 1).id());
  }
}
