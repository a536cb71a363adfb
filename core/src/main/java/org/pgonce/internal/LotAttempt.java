package org.pgonce.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.pgonce.PauseException;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.Origin;
import org.pgonce.internal.deliver.Delivery;
import org.pgonce.internal.deliver.GuardedConnection;
import org.pgonce.internal.deliver.LostConnection;
import org.pgonce.internal.deliver.Places;
import org.pgonce.internal.settle.Failures;
import org.pgonce.internal.settle.Settlement;
import org.pgonce.internal.settle.Settlement.Outcome;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Several claimed notifications from their delivery to their settlement, in the claim's
 * transaction: all are done, or none, and then they are handled one by one.
 */
final class LotAttempt implements Places.CutOff {

  private static final Logger LOG = LoggerFactory.getLogger(LotAttempt.class);

  private final String label;
  private final List<Claim> claims;
  private final Connection connection;
  private final Settlement settlement;
  private final Sessions sessions;
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
    this.label = label;
    this.claims = claims;
    this.connection = connection;
    this.settlement = settlement;
    this.sessions = sessions;
    this.onFailure = onFailure;
  }

  /** Delivers and settles. */
  Outcome run(Delivery<?> delivery, Places.Place place) {
    var inTime = false;
    Outcome outcome;
    try {
      outcome = deliverAndSettle(delivery, place);
    } finally {
      inTime = place.end();
    }
    return inTime ? outcome : new Outcome(false, outcome.left());
  }

  private Outcome deliverAndSettle(Delivery<?> delivery, Places.Place place) {
    var guarded = GuardedConnection.over(connection, this, GuardedConnection.DEFAULT_PATIENCE);
    var begun = System.nanoTime();
    try {
      tellWhence();
      Set<Long> handled;
      try {
        handled = delivery.runAll(claims, guarded::connection);
      } finally {
        // What the handler left: settling must not meet it.
        Thread.interrupted();
        guarded.revoke();
      }
      return settlement.completeAll(
          connection, claims, guarded, handled, Duration.ofNanos(System.nanoTime() - begun));
    } catch (PauseException asked) {
      return new Outcome(
          !place.isCutOff() && settlement.fail(connection, claims.get(0), guarded, asked),
          settlement.afterFailure());
    } catch (Throwable failure) {
      // Whatever a handler throws, Errors included, fails these attempts and not their worker.
      onFailure.run();
      return new Outcome(!place.isCutOff() && undo(failure), settlement.afterFailure());
    }
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
   * The claim has told by settings whence its rows come, one after the other. What is published
   * from here on comes from all of them: from the deepest, and from the context only if they share
   * it.
   */
  private void tellWhence() throws SQLException {
    var first = claims.get(0).origin();
    if (claims.stream().map(Claim::origin).allMatch(one -> isAlike(one, first))) {
      return;
    }
    var deepest = claims.stream().mapToInt(claim -> claim.origin().depth()).max().orElse(0);
    var context =
        claims.stream().allMatch(claim -> Objects.equals(claim.origin().context(), first.context()))
            ? first.context()
            : null;
    new Origin(null, null, context, deepest).tell(connection);
  }

  private static boolean isAlike(Origin one, Origin other) {
    return one.depth() == other.depth() && Objects.equals(one.context(), other.context());
  }

  /** The rows go back uncounted. */
  @Override
  public void released() {
    var holder = claims.get(0).holder();
    sessions.release(
        connection,
        transaction -> {
          if (holder != null) {
            holder.end(transaction);
          }
        });
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

  /** For messages. */
  @Override
  public String toString() {
    return "%d notifications of channel %s, from %d to %d"
        .formatted(claims.size(), label, claims.get(0).id(), claims.get(claims.size() - 1).id());
  }
}
