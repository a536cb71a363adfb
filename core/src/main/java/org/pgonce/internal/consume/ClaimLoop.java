package org.pgonce.internal.consume;

import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.Mode;
import org.pgonce.internal.claim.ClaimCursors;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.settle.Pausing;
import org.pgonce.internal.settle.Reports;
import org.pgonce.internal.settle.Settlement;
import org.pgonce.internal.settle.TransactionalSettlement;

/** Claims, runs and settles one notification, or batch, after the other, in the way of its mode. */
public interface ClaimLoop {

  /**
   * Works until {@link Worker#mayGoOn} says no.
   *
   * @throws SQLException if the database, not a notification, is in trouble
   */
  void work(Worker worker) throws SQLException;

  /** The loop of the subscription's mode. */
  static ClaimLoop of(Parts parts, Pausing pausing) {
    var subscribed = parts.subscribed();
    var reports = parts.reports();
    var transactions = parts.context().transactions();
    return subscribed.channel().mode() == Mode.EXACTLY_ONCE
        ? new TransactionalClaimLoop(
            parts, new TransactionalSettlement(subscribed, transactions, reports, pausing))
        : new LeaseClaimLoop(parts, new Settlement(subscribed, transactions, reports, pausing));
  }

  /** What the workers of one subscription share, whatever its mode. */
  record Parts(
      Registration<?> subscribed,
      ListenerContext context,
      Delivery<?> delivery,
      ClaimCursors cursors,
      Reports reports) {

    public static <T> Parts of(
        Registration<T> subscribed,
        ListenerContext context,
        ClaimCursors cursors,
        Reports reports) {
      var delivery = new Delivery<>(subscribed, context);
      return new Parts(subscribed, context, delivery, cursors, reports);
    }

    /** Later than the timeouts of claim and handler, which know what they cut off. */
    Duration longestCall() {
      return ClaimSession.LONGEST_CLAIM.plus(subscribed.options().handlerTimeout());
    }
  }
}
