package org.pgonce.internal.consume;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeoutException;
import org.pgonce.Backoff;
import org.pgonce.Mode;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.handle.OwnTransaction;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.internal.handle.WorkerSlots.Cause;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.settle.FailedAttempt;
import org.pgonce.internal.settle.Settlement;
import org.pgonce.internal.settle.UnknownOutcomeException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Delivers and settles one leased notification. {@link Claim} says when it is counted. */
final class LeaseAttempt implements WorkerSlots.Attempt {

  private static final Logger LOG = LoggerFactory.getLogger(LeaseAttempt.class);

  private static final String LOCK_NOT_AVAILABLE = "55P03";
  private static final Backoff PAUSES = new Backoff(Duration.ofMillis(50), Duration.ofSeconds(1));

  private final LeaseClaimLoop loop;
  private final Claim claim;
  private final Registration<?> subscribed;
  private final Settlement settlement;
  private final OwnTransaction transaction;
  private final long begun = System.nanoTime();

  LeaseAttempt(LeaseClaimLoop loop, Claim claim) {
    this.loop = loop;
    this.claim = claim;
    this.subscribed = loop.subscribed;
    this.settlement = loop.settlement;
    this.transaction =
        new OwnTransaction(
            loop.context,
            claim + " of channel " + subscribed.label(),
            claim.headers(),
            subscribed.options().handlerTimeout(),
            Objects.requireNonNull(claim.token()));
  }

  /** Returns what may lie behind it. */
  RowsBehind run(WorkerSlots.Slot slot) {
    // Closed before the failure is recorded, so that a pool of one connection has one to give.
    try (transaction) {
      boolean handled;
      try {
        loop.reports.claimed(List.of(claim));
        handled = loop.delivery.run(claim, transaction.tx());
      } finally {
        // What the handler left: settling must not meet it.
        Thread.interrupted();
        loop.renewals.letGo(claim);
      }
      var inHandler = Duration.ofNanos(System.nanoTime() - begun);
      if (slot.isCutOff()) {
        return settlement.afterFailure(); // it may have returned for its interrupt, half-way
      }
      var left = acknowledge(slot, handled, inHandler);
      loop.reports.settled(claim, handled, inHandler);
      return left;
    } catch (Throwable failure) {
      // Whatever a handler throws, Errors included, fails its attempt and not its worker.
      if (!slot.isCutOff()) {
        settlement.failLate(claim, FailedAttempt.since(begun, failure));
      }
      return settlement.afterFailure();
    }
  }

  private boolean isAtMostOnce() {
    return subscribed.channel().mode() == Mode.AT_MOST_ONCE;
  }

  /**
   * Where the connection ends with the acknowledgement, or before it, another one tries again, if
   * nothing of the handler's is in that transaction. So it does where another transaction, such as
   * a cancellation for another subscription, keeps the delivery key locked. The lease still holds
   * for a while, so the token tells: a deletion by it waits for the first try to end.
   */
  private RowsBehind acknowledge(WorkerSlots.Slot slot, boolean handled, Duration inHandler)
      throws Exception {
    transaction.requireUsable();
    var end = 0L;
    for (var failures = 1; ; failures++) {
      try {
        return transaction.commitWith(
            own -> settlement.acknowledge(own, claim, handled, inHandler));
      } catch (SQLException e) {
        var now = System.nanoTime();
        end = failures == 1 ? now + subscribed.options().lease().toNanos() : end;
        if (transaction.isUsed()
            || !(LostConnection.isLikely(e) || LOCK_NOT_AVAILABLE.equals(e.getSQLState()))
            || slot.isCutOff()
            || now - end > 0) {
          throw isAtMostOnce() ? notRecorded(e) : e;
        }
        LOG.debug("pgonce: the end of {} could not be recorded yet", claim, e);
      }
      try {
        Thread.sleep(PAUSES.after(failures).toMillis());
      } catch (InterruptedException e) {
        throw isAtMostOnce() ? notRecorded(e) : e;
      }
    }
  }

  private static UnknownOutcomeException notRecorded(Exception cause) {
    return new UnknownOutcomeException(
        "its handler returned, but that could not be recorded: " + Failures.inWords(cause), cause);
  }

  /** Runs what the handler registered. The slot's {@link WorkerSlots.Slot#end} comes before it. */
  void complete() {
    transaction.complete();
  }

  /** The work in its transaction is undone. Work elsewhere may go on. */
  @Override
  public void cutOff(Cause cause) {
    loop.renewals.letGo(claim);
    transaction.cutOff();
    if (cause == Cause.OVERRUN) {
      var timeout = subscribed.options().handlerTimeout();
      fail("the handler did not return within " + timeout.toMillis() + " ms");
    } else if (cause == Cause.STOP && isAtMostOnce()) {
      fail("the listener stopped before its handler returned");
    } else if (cause == Cause.STOP) {
      settlement.endAndGiveBack(claim);
    }
  }

  private void fail(String why) {
    if (transaction.isUsed()) {
      settlement.endSession(claim); // The server goes on with its statement, and keeps its locks.
    }
    settlement.failLate(
        claim,
        FailedAttempt.since(
            begun, isAtMostOnce() ? new UnknownOutcomeException(why) : new TimeoutException(why)));
  }
}
