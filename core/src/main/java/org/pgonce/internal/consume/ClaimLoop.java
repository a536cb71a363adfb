package org.pgonce.internal.consume;

import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.internal.claim.ClaimCursors;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.settle.Reports;

/** Claims, runs and settles one notification, or batch, after the other, in the way of its mode. */
interface ClaimLoop {

  /**
   * Works until {@link ClaimWorker#mayGoOn} says no.
   *
   * @throws SQLException if the database, not a notification, is in trouble
   */
  void work(ClaimWorker worker) throws SQLException;

  /** What the workers of one subscription share, whatever its mode. */
  record Parts(
      Registration<?> subscribed,
      ListenerContext context,
      Delivery<?> delivery,
      ClaimCursors cursors,
      Reports reports) {

    /** Later than the timeouts of claim and handler, which know what they cut off. */
    Duration longestCall() {
      return ClaimSession.LONGEST_CLAIM.plus(subscribed.options().handlerTimeout());
    }
  }
}
