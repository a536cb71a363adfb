package org.pgonce.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.pgonce.ChannelOptions;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimStatement;
import org.pgonce.internal.claim.KeyLook.Result;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.Subscribed;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.PoolSettings.Taken;
import org.pgonce.internal.settle.Left;
import org.pgonce.internal.settle.Settlement;
import org.pgonce.internal.settle.Settlement.Outcome;
import org.pgonce.internal.settle.Suspects;

/** EXACTLY_ONCE: claim, handler and deletion are one transaction, on one connection. */
final class HeldStint implements Stint {

  private final int subscription;
  private final Duration handlerTimeout;
  private final int maxAttempts;
  private final Context context;
  private final Sessions sessions;
  private final Delivery<?> delivery;
  private final Settlement settlement;
  private final Suspects suspects;
  private final Front front;
  private final KeyFronts keys;
  private final ChannelOptions rules;
  private final boolean goesByKey;
  private final String label;
  private final int batch;
  private final NextInHand.Of nextOf;
  private final BatchLimit limit;
  // How many are claimed one by one from now on, instead of as a batch.
  private final AtomicInteger alone = new AtomicInteger();

  HeldStint(
      Subscribed<?> subscribed,
      Context context,
      Sessions sessions,
      Delivery<?> delivery,
      Settlement settlement,
      Suspects suspects,
      Front front,
      KeyFronts keys) {
    this.subscription = subscribed.installed().subscription();
    this.handlerTimeout = subscribed.options().handlerTimeout();
    this.maxAttempts = subscribed.options().maxAttempts();
    this.context = context;
    this.sessions = sessions;
    this.delivery = delivery;
    this.settlement = settlement;
    this.suspects = suspects;
    this.front = front;
    this.keys = keys;
    this.rules = subscribed.channel().options();
    this.goesByKey = subscribed.goesByKey();
    this.label = subscribed.label();
    this.batch = subscribed.options().batch();
    this.limit = new BatchLimit(batch, System::nanoTime);
    // Whoever waits for a turn, by a rate or by its key, waits without a transaction.
    var isFree = !goesByKey && rules.maxRate() == ChannelOptions.NO_MAX_RATE;
    this.nextOf = new NextInHand.Of(isFree && batch == 1, subscription, handlerTimeout, front);
  }

  @Override
  public void work(Turns turns) throws SQLException {
    try (var connection = context.dataSource().getConnection()) {
      var fit = false;
      try {
        var taken = context.pool().take(connection, longestCall());
        var hand = new NextInHand(nextOf, connection, taken, turns);
        do {
          fit = false;
          fit =
              isAlone()
                  ? next(connection, taken, turns, hand)
                  : nextLot(connection, taken, turns, hand);
        } while (fit && (hand.isMade() || turns.mayGoOn()));
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

  /** Claims and handles one notification; false if the connection must not be used any more. */
  private boolean next(Connection connection, Taken taken, Turns turns, NextInHand hand)
      throws SQLException {
    var claim = hand.isMade() ? hand.take() : claim(connection, taken, turns);
    if (claim != null && !turns.isPaused()) {
      return handleAlone(connection, taken, turns, hand, claim);
    }
    if (claim == null) {
      connection.rollback();
    } else {
      turns.notBegun(1);
      giveBack(connection);
    }
    return true;
  }

  private @Nullable Claim claim(Connection connection, Taken taken, Turns turns)
      throws SQLException {
    var due = turns.looks();
    var claim =
        bounded(
            connection,
            same ->
                goesByKey
                    ? claimByKey(same, taken, due)
                    : due
                        ? ClaimStatement.claim(same, taken, subscription, true, 0, handlerTimeout)
                        : front
                            .claim(
                                after ->
                                    Optional.ofNullable(
                                        ClaimStatement.claim(
                                            same,
                                            taken,
                                            subscription,
                                            false,
                                            after,
                                            handlerTimeout)),
                                found -> found.map(Claim::id).orElse(0L))
                            .orElse(null));
    turns.found(claim, claim == null ? 0 : 1);
    return claim;
  }

  private @Nullable Claim claimByKey(Connection connection, Taken taken, boolean due)
      throws SQLException {
    var keyFront = keys.of(due);
    var look = keyFront.begin();
    Result result = null;
    try {
      result =
          ClaimStatement.claimByKey(
              connection, taken, subscription, due, rules, look.where(), handlerTimeout);
      return result.claim();
    } finally {
      keyFront.ended(look, result);
    }
  }

  private boolean handleAlone(
      Connection connection, Taken taken, Turns turns, NextInHand hand, Claim claim)
      throws SQLException {
    // The first death was not counted.
    var next = claim.attempts() + 1;
    if (!Quarantine.isFor(claim, next, next, maxAttempts)) {
      return handleNow(connection, taken, turns, hand, claim);
    }
    var stay = context.quarantine().enter(longestCall());
    if (stay == null) {
      suspects.postpone(connection, claim, Quarantine.TURN);
      turns.notBegun(1);
      if (goesByKey) {
        turns.ended(settlement.afterFailure()); // its place is another's
      }
      return true;
    }
    try {
      return handleNow(connection, taken, turns, hand, claim);
    } finally {
      context.quarantine().leave(stay);
    }
  }

  private boolean handleNow(
      Connection connection, Taken taken, Turns turns, NextInHand hand, Claim claim)
      throws SQLException {
    var clear = claim.suspect() ? suspected(connection, taken, claim) : claim;
    if (clear != null) {
      var attempt = new Attempt(clear, connection, settlement, sessions, hand);
      if (turns.place().begin(attempt)) {
        var fit = false;
        try {
          var outcome = attempt.run(delivery, turns.place());
          limit.passed(1);
          if (!clear.scheduled() || goesByKey) {
            turns.ended(outcome.left()); // else a scheduled one says nothing of the others
          }
          fit = outcome.fit();
        } finally {
          hand.settled(fit);
        }
        return fit;
      }
    }
    // It is a dead letter, or goes back at once: the listener stops.
    turns.notBegun(1);
    giveBack(connection);
    if (goesByKey) {
      turns.ended(settlement.afterFailure());
    }
    if (clear != null && clear.token() != null) {
      settlement.giveBack(clear);
    }
    return true;
  }

  /** The same with as many as there are, and at most a batch. */
  private boolean nextLot(Connection connection, Taken taken, Turns turns, NextInHand hand)
      throws SQLException {
    var due = turns.looks();
    var most = turns.mayClaim(limit.now());
    var claims =
        sessions.within(
            CLAIM_TIMEOUT,
            connection,
            same ->
                due
                    ? ClaimStatement.claimSeveral(
                        same, taken, subscription, true, 0, most, handlerTimeout)
                    : front.claim(
                        after ->
                            ClaimStatement.claimSeveral(
                                same, taken, subscription, false, after, most, handlerTimeout),
                        lot -> lot.isEmpty() ? 0 : lot.get(lot.size() - 1).id()));
    turns.notBegun(most - Math.max(1, claims.size()));
    turns.found(claims.isEmpty() ? null : claims.get(0), claims.size());
    if (claims.isEmpty()) {
      connection.rollback();
      return true;
    }
    if (turns.isPaused()) {
      turns.notBegun(claims.size());
      giveBack(connection);
      return true;
    }
    if (claims.size() == 1) {
      return handleAlone(connection, taken, turns, hand, claims.get(0));
    }
    // What has failed before must not fail the others, nor get off uncounted among them.
    var clean = claims.stream().filter(claim -> !claim.suspect() && claim.attempts() == 0).toList();
    var others = claims.size() - clean.size();
    if (others > 0) {
      alone.set(others);
      turns.notBegun(others);
    }
    if (clean.isEmpty()) {
      giveBack(connection);
      turns.ended(new Left(true, due));
      return true;
    }
    // The clean ones are not let go: what was held and let go would be suspect itself, and make
    // those suspect that are claimed with it, and so on without an end.
    if (clean.size() == 1) {
      var fit = handleAlone(connection, taken, turns, hand, clean.get(0));
      front.wentBack();
      turns.ended(new Left(true, due));
      return fit;
    }
    if (others > 0) {
      front.wentBack();
    }
    var outcome = together(connection, taken, turns, hand, clean);
    if (outcome == null) {
      giveBack(connection);
      return true;
    }
    // Where a whole batch was found, another may lie behind it.
    turns.ended(
        new Left(
            outcome.left().more() || others > 0,
            outcome.left().due() || (due && (claims.size() == most || others > 0))));
    return outcome.fit();
  }

  /** Handles several as one; null, and they are still held, if no handler may begin any more. */
  private @Nullable Outcome together(
      Connection connection, Taken taken, Turns turns, NextInHand hand, List<Claim> claims)
      throws SQLException {
    var attempt = new LotAttempt(label, claims, connection, settlement, sessions, limit);
    if (!turns.place().begin(attempt)) {
      return null;
    }
    var outcome = attempt.run(delivery, turns.place());
    var part = attempt.partAfterUndo();
    if (part == 0) {
      return outcome;
    }
    var fit = outcome.fit();
    for (var from = 0; fit && from < claims.size(); ) {
      // A part that met a conflict too has lowered the limit for those behind it.
      var size = Math.min(Math.min(part, limit.now()), claims.size() - from);
      if (!turns.mayRedo(size)) {
        break;
      }
      fit = again(connection, taken, turns, hand, claims.subList(from, from + size));
      from += size;
    }
    front.wentBack(); // what was not claimed again
    return new Outcome(fit, new Left(true, claims.get(0).scheduled()));
  }

  /** Claims what was undone once more, and handles it; false as for {@link #next}. */
  private boolean again(
      Connection connection, Taken taken, Turns turns, NextInHand hand, List<Claim> undone)
      throws SQLException {
    var claims =
        sessions.within(
            CLAIM_TIMEOUT,
            connection,
            same -> ClaimStatement.claimAgain(same, taken, undone, handlerTimeout));
    turns.notBegun(undone.size() - claims.size());
    if (claims.size() == 1) {
      return handleNow(connection, taken, turns, hand, claims.get(0));
    }
    var outcome = claims.isEmpty() ? null : together(connection, taken, turns, hand, claims);
    if (outcome == null) {
      connection.rollback();
      return true;
    }
    return outcome.fit();
  }

  private void giveBack(Connection connection) throws SQLException {
    connection.rollback();
    front.wentBack();
  }

  private boolean isAlone() {
    return limit.now() == 1 || alone.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
  }

  /**
   * An earlier claim of it ended without a word. It may be what killed its process, and would
   * again: so this attempt is counted, and that is committed, before it begins.
   *
   * @return the claim of the counted attempt, in a transaction of its own; null if there is none
   */
  private @Nullable Claim suspected(Connection connection, Taken taken, Claim claim)
      throws SQLException {
    return bounded(
        connection,
        same -> {
          var token = suspects.countAhead(same, claim);
          return token == null
              ? null
              : ClaimStatement.claimLeased(same, taken, claim, token, rules, handlerTimeout);
        });
  }

  private interface Claiming {
    @Nullable Claim on(Connection connection) throws SQLException;
  }

  private @Nullable Claim bounded(Connection connection, Claiming claiming) throws SQLException {
    return sessions
        .within(CLAIM_TIMEOUT, connection, same -> Optional.ofNullable(claiming.on(same)))
        .orElse(null);
  }
}
