package org.pgonce.internal.consume;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.context.BoundedSessions;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.GuardedConnection;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.internal.settle.TransactionalSettlement;
import org.pgonce.internal.settle.TransactionalSettlement.Outcome;

/** What was claimed from its delivery to its settlement, in the claim's transaction. */
abstract class TransactionalAttempt implements WorkerSlots.CutOff {

  private final Claim first;
  private final NotificationHeaders headers;
  final ClaimSession session;
  final Connection connection;
  final TransactionalSettlement settlement;
  final BoundedSessions sessions;

  /**
   * @param first which tells the session that holds what was claimed; the only one if it is a
   *     suspect
   * @param headers where what was claimed comes from
   */
  TransactionalAttempt(
      Claim first,
      NotificationHeaders headers,
      ClaimSession session,
      TransactionalSettlement settlement,
      BoundedSessions sessions) {
    this.first = first;
    this.headers = headers;
    this.session = session;
    this.connection = session.connection();
    this.settlement = settlement;
    this.sessions = sessions;
  }

  /** Runs the handler; returns the ids of those that it ran for. */
  abstract Set<Long> handle(Delivery<?> delivery, GuardedConnection guarded) throws Exception;

  /** Settles what that has handled. */
  abstract Outcome complete(GuardedConnection guarded, Set<Long> handled, Duration inHandler)
      throws SQLException;

  /** Whether what was done is undone, and the handler may run again in the same transaction. */
  boolean isUndoneToRunAgain(GuardedConnection guarded, Throwable failure) {
    return false;
  }

  /**
   * Undoes what was done, and settles that.
   *
   * @param inHandler how long the handler ran
   * @return whether the connection is fit for the next claim
   */
  abstract boolean fail(GuardedConnection guarded, Throwable failure, Duration inHandler);

  /** What was claimed, for messages. */
  @Override
  public abstract String toString();

  /** Delivers and settles. */
  final Outcome run(Delivery<?> delivery, WorkerSlots.Slot slot) {
    var inTime = false;
    Outcome outcome;
    try {
      outcome = deliverAndSettle(delivery, slot);
    } finally {
      inTime = slot.end();
    }
    return inTime ? outcome : new Outcome(false, outcome.left());
  }

  private Outcome deliverAndSettle(Delivery<?> delivery, WorkerSlots.Slot slot) {
    var before = first.sessionBefore();
    while (true) {
      var guarded =
          GuardedConnection.over(
              connection, headers, before, this, GuardedConnection.DEFAULT_PATIENCE);
      var outcome = deliverAndSettle(delivery, slot, guarded);
      if (outcome != null) {
        return outcome;
      }
      before = null; // the savepoint is gone
    }
  }

  /** Null if it is to be run again. */
  private @Nullable Outcome deliverAndSettle(
      Delivery<?> delivery, WorkerSlots.Slot slot, GuardedConnection guarded) {
    var begun = System.nanoTime();
    try {
      Set<Long> handled;
      try {
        handled = handle(delivery, guarded);
      } finally {
        // What the handler left: a virtual thread that is interrupted would close its socket at the
        // next statement (JDK 21 and later), and settling needs it.
        Thread.interrupted();
        guarded.revoke();
      }
      return complete(guarded, handled, Duration.ofNanos(System.nanoTime() - begun));
    } catch (Throwable failure) {
      // Whatever a handler throws, Errors included, fails its attempt and not its worker.
      if (slot.isCutOff()) {
        return new Outcome(false, settlement.afterFailure());
      }
      var inHandler = Duration.ofNanos(System.nanoTime() - begun);
      return isUndoneToRunAgain(guarded, failure)
          ? null
          : new Outcome(fail(guarded, failure, inHandler), settlement.afterFailure());
    }
  }

  /** It goes back uncounted, unless its settlement is under way, which may still be committed. */
  @Override
  public final void released() {
    sessions.release(connection, settlement.release(first));
  }
}
