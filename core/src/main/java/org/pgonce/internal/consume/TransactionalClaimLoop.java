package org.pgonce.internal.consume;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.ChannelOptions;
import org.pgonce.internal.claim.AttemptCount;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimCursor;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.ClaimStatement;
import org.pgonce.internal.claim.ClaimTimeout;
import org.pgonce.internal.claim.KeyLook;
import org.pgonce.internal.claim.KeyLook.Result;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.context.Quarantine;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.settle.TransactionalSettlement;
import org.pgonce.internal.settle.TransactionalSettlement.Outcome;

/** EXACTLY_ONCE: claim, handler and deletion are one transaction, on one connection. */
final class TransactionalClaimLoop implements ClaimLoop {

  final Parts parts;
  final TransactionalSettlement settlement;
  final BatchLimit limit;
  private final int subscription;
  private final int maxAttempts;
  private final ClaimCursor cursor;
  private final ChannelOptions rules;
  private final boolean goesByKey;
  private final boolean mayPrefetch;
  private final AtomicLong prefetchFrom = new AtomicLong(System.nanoTime());
  // How many are claimed one by one from now on, instead of as a batch.
  private final AtomicInteger alone = new AtomicInteger();

  TransactionalClaimLoop(Parts parts, TransactionalSettlement settlement) {
    this.parts = parts;
    this.settlement = settlement;
    var subscribed = parts.subscribed();
    var batch = subscribed.options().batch();
    this.limit = new BatchLimit(batch, System::nanoTime);
    this.subscription = subscribed.installed().subscription();
    this.maxAttempts = subscribed.options().maxAttempts();
    this.cursor = parts.cursor();
    this.rules = subscribed.channel().options();
    this.goesByKey = subscribed.goesByKey();
    // Who waits for a permit of the rate, or for its key, waits without a transaction.
    this.mayPrefetch = !goesByKey && rules.maxRate() == ChannelOptions.NO_MAX_RATE && batch == 1;
  }

  String label() {
    return parts.subscribed().label();
  }

  @Override
  public void work(ClaimWorker worker) throws SQLException {
    try (var connection = parts.context().dataSource().getConnection()) {
      var fit = false;
      try {
        var taken = parts.context().pool().take(connection, parts.longestCall());
        var handlerTimeout = parts.subscribed().options().handlerTimeout();
        var session = new ClaimSession(connection, taken, handlerTimeout);
        var run = new Run(worker, session, mayPrefetch && Pipeline.isPossible(connection));
        do {
          fit = false;
          fit = run.next();
        } while (fit && (run.prefetch.isMade() || worker.mayGoOn()));
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

  /** A worker's time with one connection. What returns a boolean says whether that is still fit. */
  private final class Run {

    private final ClaimWorker worker;
    private final ClaimSession session;
    private final Connection connection;
    private final Prefetch prefetch;
    private final Supplier<Pipeline.@Nullable Next> next;

    Run(ClaimWorker worker, ClaimSession session, boolean prefetches) {
      this.worker = worker;
      this.session = session;
      this.connection = session.connection();
      this.prefetch = new Prefetch(subscription, cursor, session, worker, prefetchFrom);
      this.next = prefetches ? prefetch::begin : () -> null;
    }

    /** Claims and handles one notification, or a batch. */
    boolean next() throws SQLException {
      if (prefetch.isMade()) {
        return handle(prefetch.take(), 1);
      }
      var due = worker.begins();
      var most = isAlone() ? 1 : worker.permits(limit.now());
      var claims = claim(due, most);
      worker.found(claims);
      return handle(claims, most);
    }

    private boolean isAlone() {
      return limit.now() == 1 || alone.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
    }

    private List<Claim> claim(boolean due, int most) throws SQLException {
      if (goesByKey) {
        var claim = parts.keys().of(due).claim(where -> claimByKey(due, where)).claim();
        return claim == null ? List.of() : List.of(claim);
      }
      return due
          ? bounded(() -> ClaimStatement.claim(session, subscription, true, 0, most))
          : cursor.claim(
              after ->
                  bounded(() -> ClaimStatement.claim(session, subscription, false, after, most)),
              claims -> claims.isEmpty() ? 0 : claims.get(claims.size() - 1).id());
    }

    private Result claimByKey(boolean due, KeyLook where) throws SQLException {
      return bounded(() -> ClaimStatement.claimByKey(session, subscription, due, rules, where));
    }

    private <R> R bounded(ClaimTimeout.Claiming<R> claiming) throws SQLException {
      return ClaimTimeout.bounded(connection, claiming);
    }

    private boolean handle(List<Claim> claims, int most) throws SQLException {
      if (claims.isEmpty()) {
        connection.rollback();
        return true;
      }
      if (!worker.mayBegin()) {
        giveBack();
        endedIfByKey();
        return true;
      }
      return claims.size() == 1 ? handleSingle(claims.get(0)) : handleBatch(claims, most);
    }

    private boolean handleSingle(Claim claim) throws SQLException {
      // The first death was not counted.
      var attempt = AttemptCount.ahead(claim);
      if (!claim.mustBeAlone(attempt, attempt, maxAttempts)) {
        return handleNow(claim);
      }
      var quarantine = parts.context().quarantine();
      var stay = quarantine.enter(parts.longestCall());
      if (stay == null) {
        settlement.postpone(connection, claim, Quarantine.TURN);
        endedIfByKey();
        return true;
      }
      try {
        return handleNow(claim);
      } finally {
        quarantine.leave(stay);
      }
    }

    private boolean handleNow(Claim claim) throws SQLException {
      var clear = claim.suspect() ? suspected(claim) : claim;
      if (clear != null) {
        var attempt =
            new TransactionalAttempt(TransactionalClaimLoop.this, List.of(clear), session, next);
        if (worker.begin(attempt, 1)) {
          return run(attempt, clear);
        }
      }
      // It is a dead letter, or goes back at once: the listener stops, or a pause began.
      giveBack();
      endedIfByKey();
      if (clear != null && clear.token() != null) {
        settlement.giveBack(clear);
      }
      return true;
    }

    private void endedIfByKey() {
      if (goesByKey) {
        worker.ended(settlement.afterFailure()); // others may have waited for its key
      }
    }

    private boolean run(TransactionalAttempt attempt, Claim claim) {
      var fit = false;
      try {
        var outcome = attempt.run(worker.slot());
        if (!claim.scheduled() || goesByKey) {
          worker.ended(outcome.left()); // else a scheduled one says nothing of the others
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
    private boolean handleBatch(List<Claim> claims, int most) throws SQLException {
      var due = claims.get(0).scheduled();
      // What has failed before must not fail the others, nor get off uncounted among them.
      var clean =
          claims.stream().filter(claim -> !claim.suspect() && claim.attempts() == 0).toList();
      var others = claims.size() - clean.size();
      if (others > 0) {
        alone.set(others);
      }
      if (clean.isEmpty()) {
        giveBack();
        worker.ended(new RowsBehind(true, due));
        return true;
      }
      // The clean ones are not let go: what was held and let go would be suspect itself, and make
      // those suspect that are claimed with it, and so on without an end.
      var outcome =
          clean.size() == 1
              ? new Outcome(handleSingle(clean.get(0)), new RowsBehind(false, false))
              : together(clean);
      if (outcome == null) {
        giveBack();
        return true;
      }
      if (others > 0) {
        cursor.wentBack();
      }
      // Where a whole batch was found, another may lie behind it.
      worker.ended(
          new RowsBehind(
              outcome.left().more() || others > 0,
              outcome.left().due() || (due && (claims.size() == most || others > 0))));
      return outcome.fit();
    }

    /** Handles several as one; null, and they are still held, if no handler may begin any more. */
    private @Nullable Outcome together(List<Claim> claims) throws SQLException {
      var attempt =
          new TransactionalAttempt(TransactionalClaimLoop.this, claims, session, () -> null);
      if (!worker.begin(attempt, claims.size())) {
        return null;
      }
      var outcome = attempt.run(worker.slot());
      var part = attempt.partAfterUndo();
      if (part == 0) {
        return outcome;
      }
      var fit = outcome.fit();
      for (var from = 0; fit && from < claims.size(); ) {
        // A part that met a conflict too has lowered the limit for those behind it.
        var size = Math.min(Math.min(part, limit.now()), claims.size() - from);
        if (!worker.mayBegin() || worker.permits(size) < size) {
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
}
