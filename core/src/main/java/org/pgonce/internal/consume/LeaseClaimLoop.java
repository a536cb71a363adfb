package org.pgonce.internal.consume;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimCursor;
import org.pgonce.internal.claim.HandlerSession;
import org.pgonce.internal.claim.KeyCursors;
import org.pgonce.internal.claim.KeyLook;
import org.pgonce.internal.claim.KeyLook.Seen;
import org.pgonce.internal.claim.LeaseStatements;
import org.pgonce.internal.context.BoundedSessions;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.context.Quarantine;
import org.pgonce.internal.context.Quarantine.Stay;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.OwnTransaction;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.settle.LeaseSettlement;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * AT_LEAST_ONCE and AT_MOST_ONCE: the claim is a lease, committed before the handler begins; the
 * end is a transaction of its own, which the handler may share. In between no connection is held.
 */
final class LeaseClaimLoop implements ClaimLoop {

  private static final Logger LOG = LoggerFactory.getLogger(LeaseClaimLoop.class);

  private final Registration<?> subscribed;
  private final ListenerContext context;
  private final BoundedSessions sessions;
  private final Delivery<?> delivery;
  private final LeaseSettlement settlement;
  private final ClaimCursor cursor;
  private final KeyCursors keys;
  private final Renewals renewals;
  private final LeaseStatements.Rules rules;

  LeaseClaimLoop(
      Registration<?> subscribed,
      ListenerContext context,
      BoundedSessions sessions,
      Delivery<?> delivery,
      LeaseSettlement settlement,
      ClaimCursor cursor,
      KeyCursors keys) {
    this.subscribed = subscribed;
    this.context = context;
    this.sessions = sessions;
    this.delivery = delivery;
    this.settlement = settlement;
    this.cursor = cursor;
    this.keys = keys;
    this.renewals = new Renewals(subscribed, context, sessions);
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
  public void work(Control control) throws SQLException {
    do {
      var leasing = new Leasing(control.begins());
      try {
        var claim = lease(leasing, control);
        if (claim != null && !handle(claim, control)) {
          return;
        }
      } finally {
        leasing.leave();
      }
    } while (control.mayGoOn());
  }

  /** Leases one row, and commits that; null if there is none to run. */
  private @Nullable Claim lease(Leasing leasing, Control control) throws SQLException {
    leasing.look();
    control.found(leasing.claim, leasing.claim == null ? 0 : 1);
    if (leasing.claim == null) {
      return null;
    }
    if (leasing.leased == null) {
      control.notBegun(1);
      if (subscribed.goesByKey()) {
        control.ended(settlement.afterFailure()); // others may have waited for it
      }
      return null;
    }
    var late = System.nanoTime() - leasing.asked > subscribed.options().lease().toNanos();
    if (late && !isStillOurs(leasing.leased)) {
      control.notBegun(1);
      return null;
    }
    return leasing.leased;
  }

  /** One look for a row, and what it has found. */
  private final class Leasing {

    private final boolean due;
    private long asked; // by System.nanoTime()
    private @Nullable Claim claim;
    private @Nullable Claim leased; // null as well if it is a dead letter, or waits for its turn
    private @Nullable Stay stay;
    private @Nullable Seen seen;

    Leasing(boolean due) {
      this.due = due;
    }

    void look() throws SQLException {
      try {
        if (subscribed.goesByKey()) {
          var unused =
              keys.of(due)
                  .claim(
                      where -> {
                        look(where);
                        return new KeyLook.Result(claim, seen);
                      });
        } else if (due) {
          look(KeyLook.behind(0));
        } else {
          var unused =
              cursor.claim(
                  after -> {
                    look(KeyLook.behind(after));
                    return claim == null ? 0 : claim.id();
                  },
                  id -> id);
        }
      } catch (SQLException e) {
        if (leased != null && LostConnection.isLikely(e)) {
          // Whether it is leased is not known; that its handler has not begun is.
          settlement.giveBack(leased);
        }
        throw e;
      }
    }

    private void look(KeyLook where) throws SQLException {
      context.transactions().make(connection -> lookIn(connection, where));
    }

    /** In its transaction, which may be begun again. */
    private void lookIn(Connection connection, KeyLook where) throws SQLException {
      leave();
      leased = null;
      asked = System.nanoTime();
      var found =
          sessions.within(
              CLAIM_TIMEOUT,
              connection,
              same -> LeaseStatements.lease(same, rules, due, where, context.transactions()));
      seen = found.seen();
      claim = found.claim();
      if (claim == null) {
        return;
      }
      var died = claim.token();
      if (died != null && (found.spent() || claim.suspect())) {
        // Its holder may be frozen or cut off, and keep what its handler has locked.
        HandlerSession.end(connection, died);
      }
      if (found.spent()) {
        settlement.bury(connection, claim);
      } else {
        leased = claim.suspect() ? suspected(connection, claim) : claim;
      }
    }

    /** It may have to wait until it is the only one of its kind here; only then is it counted. */
    private @Nullable Claim suspected(Connection connection, Claim died) throws SQLException {
      if (died.mustBeAlone(died.attempts(), died.attempts() + 1, rules.maxAttempts())) {
        stay = context.quarantine().enter(longestCall());
        if (stay == null) {
          settlement.postpone(connection, died, Quarantine.TURN);
          return null;
        }
      }
      return settlement.leaseAgain(connection, died);
    }

    void leave() {
      if (stay != null) {
        context.quarantine().leave(stay);
        stay = null;
      }
    }
  }

  /**
   * The answer took longer than the lease, so another may have the row by now, or have buried it.
   * The token tells.
   */
  private boolean isStillOurs(Claim claim) throws SQLException {
    var held = renewals.renew(List.of(claim)).contains(claim.id());
    if (!held) {
      LOG.warn(
          "pgonce: the lease of {} of channel {} was over before the database had answered that it is leased; its"
              + " handler does not run here",
          claim,
          subscribed.label());
    }
    return held;
  }

  /** Later than the deadlines of statement and handler: those know what they cut off. */
  private Duration longestCall() {
    return CLAIM_TIMEOUT.plus(subscribed.options().handlerTimeout());
  }

  /** Runs the handler and settles; false if this worker's place is lost. */
  private boolean handle(Claim claim, Control control) {
    if (control.isPaused()) {
      settlement.giveBack(claim);
      control.notBegun(1);
      return true;
    }
    var transaction =
        new OwnTransaction(
            context,
            longestCall(),
            claim + " of channel " + subscribed.label(),
            claim.headers(),
            subscribed.options().handlerTimeout(),
            Objects.requireNonNull(claim.token()));
    var attempt = new LeaseAttempt(claim, subscribed, transaction, settlement, sessions, renewals);
    // Before anybody may cut the attempt off, which then lets go of it.
    renewals.hold(claim, () -> control.place().loseLease(attempt));
    if (!control.place().begin(attempt)) {
      renewals.letGo(claim);
      settlement.giveBack(claim); // The listener stops.
      return false;
    }
    var inTime = false;
    try {
      control.ended(attempt.run(delivery, control.place()));
    } finally {
      inTime = control.place().end();
    }
    if (inTime) {
      return true;
    }
    transaction.cutOff(); // whoever does that may not have got to it yet
    return false;
  }
}
