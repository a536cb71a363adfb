package org.pgonce.internal.consume;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.ChannelOptions;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimCursor;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.ClaimStatement;
import org.pgonce.internal.claim.KeyCursors;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.context.BoundedSessions;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.context.Quarantine;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.Following;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.settle.TransactionalSettlement;
import org.pgonce.internal.settle.TransactionalSettlement.Outcome;

/** EXACTLY_ONCE: claim, handler and deletion are one transaction, on one connection. */
final class TransactionalClaimLoop implements ClaimLoop {

  private final int subscription;
  private final Duration handlerTimeout;
  private final int maxAttempts;
  private final ListenerContext context;
  private final BoundedSessions sessions;
  private final Delivery<?> delivery;
  private final TransactionalSettlement settlement;
  private final ClaimCursor cursor;
  private final KeyCursors keys;
  private final ChannelOptions rules;
  private final boolean goesByKey;
  private final String label;
  private final boolean mayPrefetch;
  private final AtomicLong prefetchFrom = new AtomicLong(System.nanoTime());
  private final BatchLimit limit;
  // How many are claimed one by one from now on, instead of as a batch.
  private final AtomicInteger alone = new AtomicInteger();

  TransactionalClaimLoop(
      Registration<?> subscribed,
      ListenerContext context,
      BoundedSessions sessions,
      Delivery<?> delivery,
      TransactionalSettlement settlement,
      ClaimCursor cursor,
      KeyCursors keys) {
    this.subscription = subscribed.installed().subscription();
    this.handlerTimeout = subscribed.options().handlerTimeout();
    this.maxAttempts = subscribed.options().maxAttempts();
    this.context = context;
    this.sessions = sessions;
    this.delivery = delivery;
    this.settlement = settlement;
    this.cursor = cursor;
    this.keys = keys;
    this.rules = subscribed.channel().options();
    this.goesByKey = subscribed.goesByKey();
    this.label = subscribed.label();
    var batch = subscribed.options().batch();
    this.limit = new BatchLimit(batch, System::nanoTime);
    // Whoever waits for a turn, by a rate or by its key, waits without a transaction.
    this.mayPrefetch = !goesByKey && rules.maxRate() == ChannelOptions.NO_MAX_RATE && batch == 1;
  }

  @Override
  public void work(Control control) throws SQLException {
    try (var connection = context.dataSource().getConnection()) {
      var fit = false;
      try {
        var taken = context.pool().take(connection, longestCall());
        var run =
            new Run(
                control,
                new ClaimSession(connection, taken, handlerTimeout),
                mayPrefetch && taken.commitsAmongOthers());
        do {
          fit = false;
          fit = run.next();
        } while (fit && (run.prefetch.isMade() || control.mayGoOn()));
        if (fit) {
          taken.restore();
        }
      } finally {
        if (!fit) {
          LostConnection.giveBack(connection);
        }
      }
    }
  }

  /** Later than the deadlines of claim and handler: those know what they cut off. */
  private Duration longestCall() {
    return CLAIM_TIMEOUT.plus(handlerTimeout);
  }

  /** A worker's time with one connection. What returns a boolean says whether that is still fit. */
  private final class Run {

    private final Control control;
    private final ClaimSession session;
    private final Connection connection;
    private final Prefetch prefetch;
    private final Supplier<@Nullable Following> next;

    Run(Control control, ClaimSession session, boolean prefetches) {
      this.control = control;
      this.session = session;
      this.connection = session.connection();
      this.prefetch = new Prefetch(subscription, cursor, session, control, prefetchFrom);
      this.next = prefetches ? prefetch::begin : () -> null;
    }

    /** Claims and handles what there is: one notification, or a batch. */
    boolean next() throws SQLException {
      if (prefetch.isMade()) {
        return handle(prefetch.take(), 1);
      }
      var due = control.begins();
      var most = isAlone() ? 1 : control.mayClaim(limit.now());
      var claims = claim(due, most);
      control.notBegun(most - Math.max(1, claims.size()));
      control.found(claims.isEmpty() ? null : claims.get(0), claims.size());
      return handle(claims, most);
    }

    private boolean isAlone() {
      return limit.now() == 1 || alone.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
    }

    private List<Claim> claim(boolean due, int most) throws SQLException {
      if (goesByKey) {
        return claimByKey(due);
      }
      return due
          ? bounded(() -> ClaimStatement.claim(session, subscription, true, 0, most))
          : cursor.claim(
              after ->
                  bounded(() -> ClaimStatement.claim(session, subscription, false, after, most)),
              claims -> claims.isEmpty() ? 0 : claims.get(claims.size() - 1).id());
    }

    private List<Claim> claimByKey(boolean due) throws SQLException {
      var claim =
          keys.of(due)
              .claim(
                  look ->
                      bounded(
                          () -> ClaimStatement.claimByKey(session, subscription, due, rules, look)))
              .claim();
      return claim == null ? List.of() : List.of(claim);
    }

    private <R> R bounded(Claiming<R> claiming) throws SQLException {
      return sessions.within(CLAIM_TIMEOUT, connection, same -> claiming.run());
    }

    private boolean handle(List<Claim> claims, int most) throws SQLException {
      if (claims.isEmpty()) {
        connection.rollback();
        return true;
      }
      if (control.isPaused()) {
        control.notBegun(claims.size());
        giveBack();
        return true;
      }
      return claims.size() == 1 ? handleAlone(claims.get(0)) : handleSeveral(claims, most);
    }

    private boolean handleAlone(Claim claim) throws SQLException {
      // The first death was not counted.
      var attempt = claim.attempts() + 1;
      if (!claim.mustBeAlone(attempt, attempt, maxAttempts)) {
        return handleNow(claim);
      }
      var stay = context.quarantine().enter(longestCall());
      if (stay == null) {
        settlement.postpone(connection, claim, Quarantine.TURN);
        control.notBegun(1);
        if (goesByKey) {
          control.ended(settlement.afterFailure()); // its place is another's
        }
        return true;
      }
      try {
        return handleNow(claim);
      } finally {
        context.quarantine().leave(stay);
      }
    }

    private boolean handleNow(Claim claim) throws SQLException {
      var clear = claim.suspect() ? suspected(claim) : claim;
      if (clear != null) {
        var attempt = new SingleAttempt(clear, session, settlement, sessions, next);
        if (control.place().begin(attempt)) {
          return attempt(attempt, clear);
        }
      }
      // It is a dead letter, or goes back at once: the listener stops.
      control.notBegun(1);
      giveBack();
      if (goesByKey) {
        control.ended(settlement.afterFailure());
      }
      if (clear != null && clear.token() != null) {
        settlement.giveBack(clear);
      }
      return true;
    }

    private boolean attempt(SingleAttempt attempt, Claim claim) {
      var fit = false;
      try {
        var outcome = attempt.run(delivery, control.place());
        limit.passed(1);
        if (!claim.scheduled() || goesByKey) {
          control.ended(outcome.left()); // else a scheduled one says nothing of the others
        }
        fit = outcome.fit();
      } finally {
        prefetch.settled(fit);
      }
      return fit;
    }

    /**
     * An earlier claim of it ended without a word. It may be what killed its process, and would
     * again: so this attempt is counted, and that is committed, before it begins.
     *
     * @return the claim of the counted attempt, in a transaction of its own; null if there is none
     */
    private @Nullable Claim suspected(Claim claim) throws SQLException {
      var claims =
          bounded(
              () -> {
                var token = settlement.countAhead(connection, claim);
                return token == null
                    ? List.<Claim>of()
                    : ClaimStatement.claimLeased(session, claim, token, rules);
              });
      return claims.isEmpty() ? null : claims.get(0);
    }

    /**
     * Handles a batch.
     *
     * @param most how many there might have been
     */
    private boolean handleSeveral(List<Claim> claims, int most) throws SQLException {
      var due = claims.get(0).scheduled();
      // What has failed before must not fail the others, nor get off uncounted among them.
      var clean =
          claims.stream().filter(claim -> !claim.suspect() && claim.attempts() == 0).toList();
      var others = claims.size() - clean.size();
      if (others > 0) {
        alone.set(others);
        control.notBegun(others);
      }
      if (clean.isEmpty()) {
        giveBack();
        control.ended(new RowsBehind(true, due));
        return true;
      }
      // The clean ones are not let go: what was held and let go would be suspect itself, and make
      // those suspect that are claimed with it, and so on without an end.
      if (clean.size() == 1) {
        var fit = handleAlone(clean.get(0));
        cursor.wentBack();
        control.ended(new RowsBehind(true, due));
        return fit;
      }
      if (others > 0) {
        cursor.wentBack();
      }
      var outcome = together(clean);
      if (outcome == null) {
        giveBack();
        return true;
      }
      // Where a whole batch was found, another may lie behind it.
      control.ended(
          new RowsBehind(
              outcome.left().more() || others > 0,
              outcome.left().due() || (due && (claims.size() == most || others > 0))));
      return outcome.fit();
    }

    /** Handles several as one; null, and they are still held, if no handler may begin any more. */
    private @Nullable Outcome together(List<Claim> claims) throws SQLException {
      var attempt = new BatchAttempt(label, claims, session, settlement, sessions, limit);
      if (!control.place().begin(attempt)) {
        return null;
      }
      var outcome = attempt.run(delivery, control.place());
      var part = attempt.partAfterUndo();
      if (part == 0) {
        return outcome;
      }
      var fit = outcome.fit();
      for (var from = 0; fit && from < claims.size(); ) {
        // A part that met a conflict too has lowered the limit for those behind it.
        var size = Math.min(Math.min(part, limit.now()), claims.size() - from);
        if (!control.mayRedo(size)) {
          break;
        }
        fit = again(claims.subList(from, from + size));
        from += size;
      }
      cursor.wentBack(); // what was not claimed again
      return new Outcome(fit, new RowsBehind(true, claims.get(0).scheduled()));
    }

    /** Claims what was undone once more, and handles it. */
    private boolean again(List<Claim> undone) throws SQLException {
      var claims = bounded(() -> ClaimStatement.claimAgain(session, undone));
      control.notBegun(undone.size() - claims.size());
      if (claims.size() == 1) {
        return handleNow(claims.get(0));
      }
      var outcome = claims.isEmpty() ? null : together(claims);
      if (outcome == null) {
        connection.rollback();
        return true;
      }
      return outcome.fit();
    }

    private void giveBack() throws SQLException {
      connection.rollback();
      cursor.wentBack();
    }
  }

  private interface Claiming<R> {
    R run() throws SQLException;
  }
}
