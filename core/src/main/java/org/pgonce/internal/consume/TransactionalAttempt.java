package org.pgonce.internal.consume;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.PauseException;
import org.pgonce.Tx.Outcome;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.ClaimStatement;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.handle.GuardedConnection;
import org.pgonce.internal.handle.HandlerTx;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.internal.handle.WorkerSlots.Cause;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.settle.FailedAttempt;
import org.pgonce.internal.settle.TransactionalSettlement;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Delivers and settles what was claimed, in the claim's transaction: one notification, or a batch,
 * of which all are done or none. {@link Claim} says when it is counted; {@link WorkerSlots} cuts it
 * off where its handler overruns its time.
 */
final class TransactionalAttempt implements WorkerSlots.Attempt {

  private static final Logger LOG = LoggerFactory.getLogger(TransactionalAttempt.class);

  /** How often a single notification runs again for a conflict, before that counts as a failure. */
  private static final int MOST_CONFLICTS = 3;

  private static final Duration LAST_RESORT = Duration.ofSeconds(1);

  private final TransactionalClaimLoop loop;
  private final TransactionalSettlement settlement;
  private final List<Claim> claims;
  private final Claim first;
  private final ClaimSession session;
  private final Connection connection;
  private final Supplier<Pipeline.@Nullable Next> next;
  private final long begun = System.nanoTime();
  private boolean isUndone;
  // Of the handler's latest run, and how that ended.
  private @Nullable HandlerTx tx;
  private Outcome outcome = Outcome.ROLLED_BACK;

  /**
   * @param claims in the order of their ids
   * @param next what may follow the commit of a single one
   */
  TransactionalAttempt(
      TransactionalClaimLoop loop,
      List<Claim> claims,
      ClaimSession session,
      Supplier<Pipeline.@Nullable Next> next) {
    this.loop = loop;
    this.settlement = loop.settlement;
    this.claims = claims;
    this.first = claims.get(0);
    this.session = session;
    this.connection = session.connection();
    this.next = next;
  }

  private boolean isSingle() {
    return claims.size() == 1;
  }

  /** Whether it was a batch that failed: each of its notifications is to be handled alone. */
  boolean isUndone() {
    return isUndone;
  }

  /** Returns what may lie behind them. */
  RowsBehind run(WorkerSlots.Slot slot) {
    try {
      loop.reports.claimed(claims);
      return deliverAndSettle(slot);
    } finally {
      if (!slot.end()) {
        session.giveUp();
      }
    }
  }

  private RowsBehind deliverAndSettle(WorkerSlots.Slot slot) {
    var headers = isSingle() ? first.headers() : Claim.headersOf(claims);
    var before = first.sessionBefore();
    for (var conflicts = 0; ; conflicts++) {
      var guarded =
          new GuardedConnection(
              connection, headers, before, this, GuardedConnection.DEFAULT_PATIENCE);
      var run = new HandlerTx(guarded::connection, loop.context.publisher());
      tx = run;
      var runs = System.nanoTime();
      try {
        var handled = handle(guarded, run);
        var inHandler = Duration.ofNanos(System.nanoTime() - runs);
        return settle(guarded, run, handled, inHandler, slot);
      } catch (Throwable failure) {
        // Whatever a handler throws, Errors included, fails its attempt and not its worker.
        if (failure instanceof VirtualMachineError) {
          guarded.distrust(); // of a stack or a memory that was too small, perhaps for the driver
        }
        if (slot.isCutOff()) {
          return settlement.afterFailure();
        }
        if (isSingle() && conflicts < MOST_CONFLICTS && isUndoneToRunAgain(guarded, failure)) {
          before = guarded.before();
          complete();
          if (slot.isCutOff()) {
            return settlement.afterFailure(); // while it completed, which took the interrupt
          }
          continue;
        }
        if (isSingle() || failure instanceof PauseException) {
          settlement.fail(session, first, guarded, FailedAttempt.since(begun, failure));
        } else {
          undoBatch(guarded, failure);
        }
        return settlement.afterFailure();
      }
    }
  }

  private RowsBehind settle(
      GuardedConnection guarded,
      HandlerTx run,
      Set<Long> handled,
      Duration inHandler,
      WorkerSlots.Slot slot)
      throws SQLException {
    if (slot.isCutOff()) {
      return settlement.afterFailure(); // it may have returned for its interrupt, half-way
    }
    try {
      var left =
          settlement.complete(
              session,
              claims,
              guarded,
              handled,
              inHandler,
              // What is claimed behind the commit would wait for the callbacks.
              run.hasCallbacks() ? () -> null : next);
      outcome = Outcome.COMMITTED;
      return left;
    } catch (Throwable e) {
      outcome = LostConnection.mayHaveCommitted(e) ? Outcome.UNKNOWN : Outcome.ROLLED_BACK;
      throw e;
    }
  }

  boolean hasCallbacks() {
    return tx != null && tx.hasCallbacks();
  }

  /** Runs what the handler registered in its latest run. The slot's end comes before it. */
  void complete() {
    if (tx != null) {
      tx.complete(outcome);
    }
  }

  /** Runs the handler; returns the ids of those that it ran for. */
  private Set<Long> handle(GuardedConnection guarded, HandlerTx run) throws Exception {
    try {
      if (!isSingle()) {
        return loop.delivery.runAll(claims, guarded, run);
      }
      var ran = loop.delivery.run(first, run);
      return ran ? Set.of(first.id()) : Set.of();
    } finally {
      // What the handler left: settling must not meet it.
      Thread.interrupted();
      guarded.revoke();
    }
  }

  /**
   * A deadlock says nothing against the notification: it runs again at once, while the transaction
   * keeps its row. The other transaction of the deadlock has the locks by now, so the handler waits
   * for them without any of its own.
   */
  private boolean isUndoneToRunAgain(GuardedConnection guarded, Throwable failure) {
    if (!guarded.isConflict(failure)) {
      return false;
    }
    try {
      guarded.undoToRunAgain();
      if (!ClaimStatement.mayBeginAgain(connection, first)) {
        return false;
      }
    } catch (SQLException | RuntimeException e) {
      LOG.debug("pgonce: after a conflict {} could not be undone alone", this, e);
      return false;
    }
    LOG.info(
        "pgonce: {} met a deadlock or serialization failure ({}) and runs again at once, uncounted, {} times at the most",
        this,
        Failures.inWords(failure),
        MOST_CONFLICTS);
    return true;
  }

  /** Nothing is counted: which notification has failed shows when each is handled alone. */
  private void undoBatch(GuardedConnection guarded, Throwable failure) {
    isUndone = true;
    if (guarded.isConflict(failure)) {
      loop.conflicted();
    } else if (guarded.isSettingRefused()) {
      loop.forbidBatches();
      LOG.warn(
          "pgonce: the handler of channel {} changes settings of its transaction, which a batch would hand on to its next notification; from now on each"
              + " notification is handled in a transaction of its own. Leave ListenOptions.batch at 1, or use Handler.batch",
          loop.subscribed.label());
    }
    LOG.info(
        "pgonce: {} failed together ({}); all are undone, and handled again one by one",
        this,
        Failures.inWords(failure));
    LOG.debug("pgonce: the failure in full", failure);
    try {
      if (!guarded.isLost(failure)) {
        connection.rollback();
        return;
      }
    } catch (SQLException | RuntimeException lost) {
      LOG.debug("pgonce: the connection is lost", lost);
    }
    session.giveUp();
    LostConnection.abandon(connection);
  }

  @Override
  public void cutOff(Cause cause) {
    if (cause == Cause.OVERRUN) {
      overran();
    } else {
      // It goes back uncounted, unless its settlement is under way, which may still be committed.
      session.closeLost();
      settlement.endAndGiveBack(first);
    }
  }

  /**
   * Of a single notification: the transaction that records the failure ends the session first, and
   * then waits for the row, so that hardly any other claim can take it in between: so the socket is
   * closed after it. Of a batch it is not known which handler did not return: the next claim finds
   * the rows suspect, and counts each when it is handled alone.
   */
  private void overran() {
    // Where handlers that do not return hold all connections of the pool, it gets this one back.
    var lastResort = loop.context.threads().runLater(LAST_RESORT, session::closeLost);
    try {
      if (isSingle()) {
        var timeout = loop.subscribed.options().handlerTimeout();
        settlement.failLate(
            first,
            FailedAttempt.since(
                begun,
                new TimeoutException(
                    "the handler did not return within " + timeout.toMillis() + " ms")));
      } else {
        settlement.endSession(first);
      }
    } finally {
      lastResort.cancel(false);
      LostConnection.abandon(connection);
    }
  }

  @Override
  public String toString() {
    return isSingle()
        ? first.toString()
        : "%d notifications of channel %s, from %d to %d"
            .formatted(
                claims.size(),
                loop.subscribed.label(),
                first.id(),
                claims.get(claims.size() - 1).id());
  }
}
