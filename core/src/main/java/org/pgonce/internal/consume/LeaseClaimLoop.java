package org.pgonce.internal.consume;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimCursors;
import org.pgonce.internal.claim.HandlerSession;
import org.pgonce.internal.claim.KeyLook;
import org.pgonce.internal.claim.KeyLook.Result;
import org.pgonce.internal.claim.LeaseStatements;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.context.Quarantine.Stay;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.handle.WorkerSlots.Cause;
import org.pgonce.internal.settle.Reports;
import org.pgonce.internal.settle.Settlement;
import org.pgonce.spi.Event.WaitCause;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * AT_LEAST_ONCE and AT_MOST_ONCE: the claim is a lease, committed before the handler begins. The
 * settlement is a transaction of its own, which the handler may share. In between no connection is
 * held.
 */
final class LeaseClaimLoop extends ClaimLoop {

  private static final Logger LOG = LoggerFactory.getLogger(LeaseClaimLoop.class);

  private static final Duration WHILE_REFUSED = Duration.ofMillis(100);

  final Settlement settlement;
  final Renewals renewals;
  private final LeaseStatements.Rules rules;

  LeaseClaimLoop(
      Registration<?> subscribed,
      ListenerContext context,
      ClaimCursors cursors,
      Reports reports,
      Settlement settlement) {
    super(subscribed, context, cursors, reports);
    this.settlement = settlement;
    this.renewals = new Renewals(subscribed, context);
    var mode = subscribed.channel().mode();
    this.rules =
        new LeaseStatements.Rules(
            subscribed.installed().subscription(),
            mode,
            subscribed.channel().options(),
            subscribed.options().lease(),
            mode == Mode.AT_MOST_ONCE ? 1 : subscribed.options().maxAttempts());
  }

  @Override
  public void work(Worker worker) throws SQLException {
    do {
      var lease = new Lease(worker.begins());
      try {
        lease.take();
        worker.found(lease.found, 1);
        if (!handle(lease, worker)) {
          return;
        }
        if (lease.isRefused) {
          worker.rest(WHILE_REFUSED);
        }
      } finally {
        lease.leaveQuarantine();
      }
    } while (worker.mayGoOn());
  }

  /** One claim, committed, and what it has found. */
  private final class Lease {

    private final boolean due;
    private long asked; // by System.nanoTime()
    private List<Claim> found = List.of();
    private @Nullable Claim leased; // null as well if it is a dead letter, postponed, or over
    private @Nullable Stay stay;
    private boolean isRefused; // the database did not even look: the mode is being changed

    Lease(boolean due) {
      this.due = due;
    }

    void take() throws SQLException {
      try {
        found = cursors.claim(due, this::take, after -> take(KeyLook.behind(after)).claims());
        if (leased != null && isOver(leased)) {
          leased = null;
        }
      } catch (SQLException e) {
        if (leased != null) {
          // Whether it is leased may not be known; that its handler has not begun is.
          settlement.giveBack(leased);
        }
        throw e;
      }
    }

    private Result take(KeyLook where) throws SQLException {
      var wanted = System.nanoTime();
      var result =
          context
              .transactions()
              .run(
                  transaction -> {
                    asked = System.nanoTime();
                    reports.waited(WaitCause.CONNECTION, Duration.ofNanos(asked - wanted));
                    return take(transaction, where);
                  });
      isRefused = subscribed.goesByKey() && result.seen() == null;
      return result;
    }

    /** In its transaction, which may be begun again. */
    private Result take(Connection transaction, KeyLook where) throws SQLException {
      leaveQuarantine();
      leased = null;
      var result = LeaseStatements.lease(transaction, rules, due, where, context.transactions());
      var claim = result.first();
      if (claim == null) {
        return result;
      }
      if (result.spent() || claim.suspect()) {
        // Its holder may be frozen or cut off, and keep what its handler has locked.
        HandlerSession.end(transaction, claim);
      }
      if (result.spent()) {
        var hasFailed = !claim.suspect() && claim.attempts() >= rules.maxAttempts();
        settlement.bury(transaction, claim, hasFailed);
      } else {
        leased = claim.suspect() ? leaseSuspect(transaction, claim) : claim;
      }
      return result;
    }

    /** It may have to wait until it is the only one of its kind here; only then is it counted. */
    private @Nullable Claim leaseSuspect(Connection transaction, Claim died) throws SQLException {
      if (died.mustBeAlone(rules.maxAttempts())) {
        stay = context.quarantine().enter(longestCall());
        if (stay == null) {
          settlement.postpone(transaction, died);
          return null;
        }
      }
      return Settlement.leaseAgain(transaction, died, rules.lease());
    }

    /**
     * If the answer took so long that the first renewal would be late, it is renewed at once.
     * Another process may have the row by then.
     */
    private boolean isOver(Claim claim) throws SQLException {
      if (System.nanoTime() - asked <= renewals.interval.toNanos()
          || renewals.renew(List.of(claim)).contains(claim.token())) {
        return false;
      }
      LOG.warn(
          "pgonce: the lease of {} of channel {} was over before the database had answered that it is leased; its"
              + " handler does not run here",
          claim,
          subscribed.label());
      return true;
    }

    void leaveQuarantine() {
      if (stay != null) {
        context.quarantine().leave(stay);
        stay = null;
      }
    }
  }

  /** Runs the handler and settles; false if this worker's slot is lost, or none may begin. */
  private boolean handle(Lease lease, Worker worker) {
    var claim = lease.leased;
    if (claim == null) {
      return true;
    }
    var attempt = new LeaseAttempt(this, claim);
    var slot = worker.slot(); // the worker may have left it by then
    // Before anybody may cut the attempt off, which then lets go of it.
    renewals.hold(claim, () -> slot.cutOff(attempt, Cause.LEASE_LOST));
    try {
      if (worker.begin(attempt, 1)) {
        return run(attempt, worker);
      }
    } finally {
      renewals.letGo(claim);
    }
    settlement.giveBack(claim);
    return false;
  }

  private static boolean run(LeaseAttempt attempt, Worker worker) {
    var inTime = false;
    try {
      worker.ended(attempt.run(worker.slot()));
    } finally {
      inTime = worker.slot().end();
      attempt.complete();
    }
    return inTime;
  }
}
