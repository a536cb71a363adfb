package org.pgonce.internal;

import java.sql.Connection;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.deliver.Delivery;
import org.pgonce.internal.deliver.GuardedConnection;
import org.pgonce.internal.settle.Onward;
import org.pgonce.internal.settle.Settlement;

/** One claimed notification. */
final class Attempt extends HeldAttempt {

  private final Claim claim;
  private final Onward onward;

  /**
   * @param onward what may follow its commit
   */
  Attempt(
      Claim claim, Connection connection, Settlement settlement, Sessions sessions, Onward onward) {
    super(claim, claim.origin(), connection, settlement, sessions);
    this.claim = claim;
    this.onward = onward;
  }

  @Override
  Handled handle(Delivery<?> delivery, GuardedConnection guarded) throws Exception {
    var handled = delivery.run(claim, guarded::connection);
    return (used, inHandler) ->
        settlement.complete(connection, claim, used, handled, inHandler, onward);
  }

  @Override
  boolean fail(GuardedConnection guarded, Throwable failure) {
    onward.failed();
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
