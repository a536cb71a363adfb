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

/**
 * Claims, runs and settles one notification, or batch, after the other, in the way of its mode. The
 * workers of one subscription share it.
 */
public abstract class ClaimLoop {

  final Registration<?> subscribed;
  final ListenerContext context;
  final Delivery<?> delivery;
  final ClaimCursors cursors;
  final Reports reports;

  ClaimLoop(
      Registration<?> subscribed, ListenerContext context, ClaimCursors cursors, Reports reports) {
    this.subscribed = subscribed;
    this.context = context;
    this.delivery = new Delivery<>(subscribed, context);
    this.cursors = cursors;
    this.reports = reports;
  }

  public static ClaimLoop of(
      Registration<?> subscribed,
      ListenerContext context,
      ClaimCursors cursors,
      Reports reports,
      Pausing pausing) {
    var transactions = context.transactions();
    return subscribed.mode() == Mode.EXACTLY_ONCE
        ? new TransactionalClaimLoop(
            subscribed,
            context,
            cursors,
            reports,
            new TransactionalSettlement(subscribed, transactions, reports, pausing))
        : new LeaseClaimLoop(
            subscribed,
            context,
            cursors,
            reports,
            new Settlement(subscribed, transactions, reports, pausing));
  }

  /**
   * Works until {@link Worker#mayGoOn} says no.
   *
   * @throws SQLException if the database, not a notification, is in trouble
   */
  public abstract void work(Worker worker) throws SQLException;

  /** Longer than the timeouts of claim and handler, so that these act first. */
  final Duration longestCall() {
    return ClaimSession.LONGEST_ANSWER.plus(subscribed.options().handlerTimeout());
  }
}
