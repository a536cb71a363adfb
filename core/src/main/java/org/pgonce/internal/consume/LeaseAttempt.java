package org.pgonce.internal.consume;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import org.pgonce.Backoff;
import org.pgonce.Mode;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.context.BoundedSessions;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.OwnTransaction;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.settle.LeaseSettlement;
import org.pgonce.internal.settle.UnknownOutcomeException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One leased notification from its delivery to its settlement. */
final class LeaseAttempt implements WorkerSlots.CutOff {

  private static final Logger LOG = LoggerFactory.getLogger(LeaseAttempt.class);

  private static final Backoff PAUSES = new Backoff(Duration.ofMillis(50), Duration.ofSeconds(1));

  private final Claim claim;
  private final Registration<?> subscribed;
  private final OwnTransaction transaction;
  private final LeaseSettlement settlement;
  private final BoundedSessions sessions;
  private final Renewals renewals;

  LeaseAttempt(
      Claim claim,
      Registration<?> subscribed,
      OwnTransaction transaction,
      LeaseSettlement settlement,
      BoundedSessions sessions,
      Renewals renewals) {
    this.claim = claim;
    this.subscribed = subscribed;
    this.transaction = transaction;
    this.settlement = settlement;
    this.sessions = sessions;
    this.renewals = renewals;
  }

  /** Delivers and settles; returns what may lie behind it. */
  RowsBehind run(Delivery<?> delivery, WorkerSlots.Place place) {
    var begun = System.nanoTime();
    try {
      boolean handled;
      try {
        handled = delivery.run(claim, transaction::connection);
      } finally {
        // What the handler left: settling must not meet it.
        Thread.interrupted();
        renewals.letGo(claim);
      }
      var inHandler = Duration.ofNanos(System.nanoTime() - begun);
      var left = acknowledge(place);
      settlement.reportSettled(claim, handled, inHandler);
      return left;
    } catch (Throwable failure) {
      // Whatever a handler throws, Errors included, fails its attempt and not its worker.
      giveConnectionBack();
      if (!place.isCutOff()) {
        settlement.failLate(claim, failure);
      }
      return settlement.afterFailure();
    } finally {
      giveConnectionBack();
    }
  }

  private RowsBehind acknowledge(WorkerSlots.Place place) throws Exception {
    try {
      return transaction.commitWith(own -> settlement.acknowledge(own, claim));
    } catch (SQLException e) {
      try {
        if (!transaction.isUsed() && LostConnection.isLikely(e)) {
          return acknowledgeAgain(place);
        }
        throw e;
      } catch (SQLException unsettled) {
        throw subscribed.channel().mode() == Mode.AT_MOST_ONCE
            ? new UnknownOutcomeException(
                "its handler returned, but that could not be recorded: "
                    + Failures.inWords(unsettled),
                unsettled)
            : unsettled;
      }
    }
  }

  /**
   * The connection ended with the acknowledgement, or before it. The lease still holds for a while,
   * so the token tells: whoever deletes the row with it waits for the first try to end. Nothing of
   * the handler's is in that transaction.
   */
  private RowsBehind acknowledgeAgain(WorkerSlots.Place place)
      throws SQLException, InterruptedException {
    var end = System.nanoTime() + subscribed.options().lease().toNanos();
    for (var failures = 1; ; failures++) {
      try {
        return settlement.acknowledgeAlone(claim);
      } catch (SQLException e) {
        if (!LostConnection.isLikely(e) || place.isCutOff() || System.nanoTime() - end > 0) {
          throw e;
        }
        LOG.debug("pgonce: the end of {} could not be recorded yet", claim, e);
      }
      Thread.sleep(PAUSES.after(failures).toMillis());
    }
  }

  private void giveConnectionBack() {
    try {
      transaction.close();
    } catch (SQLException e) {
      LOG.debug("pgonce: after {} its connection could not be given back as it came", claim, e);
    }
  }

  /** What it did elsewhere may go on; what it did in its transaction is undone. */
  @Override
  public void overran(Duration timeout) {
    renewals.letGo(claim);
    transaction.cutOff();
    if (transaction.isUsed()) {
      settlement.endSession(claim); // The server goes on with its statement, and keeps its locks.
    }
    var words = "the handler did not return within " + timeout.toMillis() + " ms";
    settlement.failLate(
        claim,
        subscribed.channel().mode() == Mode.AT_MOST_ONCE
            ? new UnknownOutcomeException(words)
            : new TimeoutException(words));
  }

  @Override
  public void leaseLost() {
    transaction.cutOff();
  }

  @Override
  public void released() {
    renewals.letGo(claim);
    transaction.cutOff();
    sessions.release(settlement.release(claim));
  }
}
