package org.pgonce.internal;

import java.sql.Connection;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.deliver.Deadline;
import org.pgonce.internal.deliver.Delivery;
import org.pgonce.internal.deliver.GuardedConnection;
import org.pgonce.internal.settle.Settlement;

/** One claimed notification from its delivery to its settlement, in the claim's transaction. */
final class Attempt<T> {

  private final Claim claim;
  private final Connection connection;
  private final Settlement settlement;
  private final Deadline deadline;
  private final Sessions sessions;

  /**
   * Begins now, on the handler's thread; {@code whenCutOff} is told if the handler overruns its
   * time.
   */
  Attempt(
      Claim claim,
      Connection connection,
      Settlement settlement,
      Sessions sessions,
      Deadline.Bound bound,
      Runnable whenCutOff) {
    this.claim = claim;
    this.connection = connection;
    this.settlement = settlement;
    this.sessions = sessions;
    this.deadline =
        bound.begin(
            () -> {
              overrun(bound.timeout());
              whenCutOff.run();
            });
  }

  /** Delivers and settles; false if the connection must not be used any more. */
  boolean run(Delivery<T> delivery) {
    var fit = false;
    try {
      fit = deliverAndSettle(delivery);
    } finally {
      fit &= deadline.end();
    }
    return fit;
  }

  private boolean deliverAndSettle(Delivery<T> delivery) {
    var guarded = GuardedConnection.over(connection, claim, GuardedConnection.DEFAULT_PATIENCE);
    var begun = System.nanoTime();
    try {
      try {
        delivery.run(claim, guarded);
      } finally {
        // What the handler left: a virtual thread that is interrupted would close its socket at the
        // next statement (JDK 21 and later), and settling needs it.
        Thread.interrupted();
        guarded.revoke();
      }
      return settlement.complete(
          connection, claim, guarded, Duration.ofNanos(System.nanoTime() - begun));
    } catch (Throwable failure) {
      // Whatever a handler throws, Errors included, fails its attempt and not its worker.
      return !deadline.isCutOff() && settlement.fail(connection, claim, guarded, failure);
    }
  }

  /** Ends the attempt at once and gives the row back uncounted: the listener stops. */
  void release() {
    if (deadline.cutOff()) {
      sessions.closeAfter(() -> sessions.end(claim.holder()), connection);
    }
  }

  /**
   * The handler does not come back. Its session is ended in the transaction that records the
   * failure: that one waits for the row when the session lets go of it, so that hardly anyone can
   * claim the row in between and run into the same.
   */
  private void overrun(Duration timeout) {
    var failure =
        new TimeoutException("the handler did not return within " + timeout.toMillis() + " ms");
    sessions.closeAfter(() -> settlement.failLate(claim, failure), connection);
  }
}
