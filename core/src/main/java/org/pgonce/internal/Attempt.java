package org.pgonce.internal;

import java.sql.Connection;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.deliver.Delivery;
import org.pgonce.internal.deliver.GuardedConnection;
import org.pgonce.internal.deliver.Places;
import org.pgonce.internal.settle.Settlement;
import org.pgonce.internal.settle.Settlement.Outcome;

/** One claimed notification from its delivery to its settlement, in the claim's transaction. */
final class Attempt implements Places.CutOff {

  private final Claim claim;
  private final Connection connection;
  private final Settlement settlement;
  private final Sessions sessions;

  Attempt(Claim claim, Connection connection, Settlement settlement, Sessions sessions) {
    this.claim = claim;
    this.connection = connection;
    this.settlement = settlement;
    this.sessions = sessions;
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
    var guarded = GuardedConnection.over(connection, claim, GuardedConnection.DEFAULT_PATIENCE);
    var begun = System.nanoTime();
    try {
      boolean handled;
      try {
        handled = delivery.run(claim, guarded::connection);
      } finally {
        // What the handler left: a virtual thread that is interrupted would close its socket at the
        // next statement (JDK 21 and later), and settling needs it.
        Thread.interrupted();
        guarded.revoke();
      }
      return settlement.complete(
          connection, claim, guarded, handled, Duration.ofNanos(System.nanoTime() - begun));
    } catch (Throwable failure) {
      // Whatever a handler throws, Errors included, fails its attempt and not its worker.
      return new Outcome(
          !place.isCutOff() && settlement.fail(connection, claim, guarded, failure),
          settlement.afterFailure());
    }
  }

  /** The row goes back uncounted. */
  @Override
  public void released() {
    var holder = claim.holder();
    sessions.release(
        connection,
        transaction -> {
          if (holder != null) {
            holder.end(transaction);
          }
        });
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
}
