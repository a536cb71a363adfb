package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.pgonce.Backoff;
import org.pgonce.Mode;
import org.pgonce.PauseException;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.HandlerSession;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.context.Quarantine;
import org.pgonce.internal.handle.GuardedConnection;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Settles the claims of one subscription: those on lease, and what all modes have in common. What
 * becomes of a failed attempt {@link Verdict} says; when an attempt is counted, {@link Claim}.
 */
public sealed class Settlement permits TransactionalSettlement {

  // HikariCP checks a connection before it gives it, unless it was in use in the last 500 ms.
  private static final int MOST_TRIES = 4;
  private static final Backoff RETRY = new Backoff(Duration.ofMillis(200), Duration.ofMillis(800));

  private static final Logger LOG = LoggerFactory.getLogger(Settlement.class);

  static final String DIED =
      "the process that ran it, or its session, ended without a word, or could not record its failure";
  private static final String NO_MORE =
      "it has failed before, as often as it may by now; the dead letter has its last error";

  // How long a late record waits for the row, which the claim's session or the next attempt holds,
  // and how long it may hold the row if its process freezes. A shorter bound of the session stays.
  private static final String BOUND_THE_WAIT =
      "SELECT pg_catalog.set_config('lock_timeout', '5s', true), pgonce.bound_idle(30000)::pg_catalog.text, "
          + PoolSettings.CLIENT_CHECK;

  final Registration<?> subscribed;
  final Transactions transactions;
  final Reports reports;
  private final boolean byKey;
  private final Pausing pausing;
  private final Backlog backlog = new Backlog();

  public Settlement(
      Registration<?> subscribed, Transactions transactions, Reports reports, Pausing pausing) {
    this.subscribed = subscribed;
    this.transactions = transactions;
    this.reports = reports;
    this.byKey = subscribed.goesByKey();
    this.pausing = pausing;
  }

  // Success.

  /**
   * Deletes a leased row in its handler's transaction, and may commit in the same message.
   *
   * @throws SQLException if the lease is lost: roll the transaction back then
   */
  public final RowsBehind acknowledge(
      Connection transaction, Claim claim, boolean handled, Duration inHandler)
      throws SQLException {
    var deletion = deletion(List.of(claim), handled ? Set.of(claim.id()) : Set.of(), inHandler);
    var message = new Pipeline(transaction);
    message.add(Pipeline.command(BOUND_THE_WAIT));
    var left = message.add(deletion);
    if (Pipeline.isPossible(transaction)) {
      message.add(Pipeline.COMMIT); // the caller's commit sends nothing then
    }
    message.send();
    return seen(deletion, left.result());
  }

  /**
   * @param handled the ids of those whose handler ran
   */
  final Deletion deletion(List<Claim> claims, Set<Long> handled, Duration inHandler) {
    var history = subscribed.channel().options().history();
    var entries =
        history.isKept()
            ? new HistoryEntries(handled, inHandler, pausing.instance(), history.payloads())
            : null;
    return new Deletion(claims, byKey, isPlain(claims) && backlog.goesOn(), entries);
  }

  final RowsBehind seen(Deletion deletion, RowsBehind left) {
    return isPlain(deletion.claims()) && !deletion.amidBacklog() ? backlog.seen(left) : left;
  }

  /** Whether the deletion looks for new rows only. */
  private boolean isPlain(List<Claim> claims) {
    return claims.size() == 1 && !byKey && !claims.get(0).scheduled();
  }

  // Failure.

  /** What may lie behind a notification whose attempt failed. */
  public final RowsBehind afterFailure() {
    return new RowsBehind(true, byKey);
  }

  /** Decides and records what the failure becomes. Returns its report, for after the commit. */
  final Runnable record(Connection transaction, Claim claim, FailedAttempt failure)
      throws SQLException {
    var verdict = Verdict.on(failure.cause(), claim, subscribed);
    var there = verdict.record(transaction, claim, subscribed.channel().mode(), pausing);
    return () -> reports.failed(there, claim, verdict, failure);
  }

  /** If the handler asks for a pause, nothing is claimed until the work has recorded it. */
  final void heldUp(FailedAttempt failure, Runnable work) {
    if (!(failure.cause() instanceof PauseException)) {
      work.run();
      return;
    }
    pausing.begins();
    try {
      work.run();
    } finally {
      pausing.ends();
      reports.dueIn(Duration.ZERO); // a poll says whether it is paused
    }
  }

  /**
   * Records a failure in a transaction of its own, if the handler's is lost or the handler does not
   * return. It ends the claim's session first and waits for the row, so that hardly any other claim
   * takes the row in between. If that fails too, it is as if the process had died.
   */
  public final void failLate(Claim claim, FailedAttempt failure) {
    heldUp(failure, () -> recordLate(claim, failure));
  }

  private void recordLate(Claim claim, FailedAttempt failure) {
    try {
      recordElsewhere(claim, failure).run();
    } catch (SQLException | RuntimeException e) {
      if (failure.cause() instanceof PauseException cause) {
        LOG.debug("pgonce: a pause could not be recorded", e);
        // As a failure that counts: else the row would run at once.
        recordLate(
            claim,
            new FailedAttempt(
                new IllegalStateException(
                    "its handler asked for a pause, which could not be recorded (may the role execute pgonce.pause?): "
                        + Failures.inWords(cause),
                    cause),
                failure.inHandler()));
        return;
      }
      LOG.warn(
          "pgonce: attempt {} of notification {} of channel {} failed ({}) and that could not be recorded ({}); so it goes on as if its process had died",
          claim.attempt(),
          claim.id(),
          subscribed.label(),
          Failures.inWords(failure.cause()),
          Failures.inWords(e));
      LOG.debug("pgonce: the failure that could not be recorded", failure.cause());
    }
  }

  /**
   * What cut the handler's connection may have cut the pool's others too. A pool that hands them
   * out unchecked gives another one each time.
   */
  private Runnable recordElsewhere(Claim claim, FailedAttempt failure) throws SQLException {
    for (var tries = 1; ; tries++) {
      try {
        return transactions.run(
            transaction -> {
              boundTheWait(transaction);
              if (claim.holder() != null) {
                HandlerSession.end(transaction, claim);
              }
              return record(transaction, claim, failure);
            });
      } catch (SQLTransientConnectionException e) {
        throw e; // the pool has none to give, and has waited for it
      } catch (SQLException e) {
        if (tries == MOST_TRIES || !LostConnection.isLikely(e)) {
          throw e;
        }
        LockSupport.parkNanos(RETRY.after(tries).toNanos());
      }
    }
  }

  // Suspects: an earlier claim did not settle the row. Its handler may be what ends processes.

  /**
   * Leases a suspect, and counts its next attempt before it begins. The caller commits.
   *
   * @return the counted attempt; null if the row is not as the claim has it
   */
  public static @Nullable Claim leaseAgain(Connection transaction, Claim claim, Duration lease)
      throws SQLException {
    var token = newToken();
    var there =
        SettleStatements.schedule(
            transaction,
            claim,
            claim.nextAttempt(),
            token,
            lease,
            DIED,
            DeadLetterReason.OUTCOME_UNKNOWN);
    return there ? claim.countedAhead(token) : null;
  }

  /** Makes a suspect due again, uncounted, while another one is in quarantine. Commits. */
  public final void postpone(Connection transaction, Claim claim) throws SQLException {
    GuardedConnection.unready(transaction, claim.sessionBefore());
    var there =
        SettleStatements.schedule(
            transaction,
            claim,
            claim.attempts(),
            newToken(),
            Quarantine.TURN,
            null,
            DeadLetterReason.OUTCOME_UNKNOWN);
    transaction.commit();
    if (there) {
      reports.dueIn(Quarantine.TURN);
    }
  }

  /**
   * Makes what may not be tried again a dead letter. Commits.
   *
   * @param hasFailed whether its last attempt failed, when it might still be tried more often; else
   *     its process died
   */
  public final void bury(Connection transaction, Claim claim, boolean hasFailed)
      throws SQLException {
    var reason =
        subscribed.channel().mode() == Mode.AT_MOST_ONCE
            ? DeadLetterReason.OUTCOME_UNKNOWN
            : DeadLetterReason.ATTEMPTS_USED_UP;
    // Claims without a lease were not counted.
    var attempts = Math.max(1, claim.attempts());
    var there =
        SettleStatements.bury(transaction, claim, attempts, reason, hasFailed ? null : DIED);
    transaction.commit();
    if (there) {
      reports.buried(claim, attempts, reason, null, hasFailed ? NO_MORE : DIED);
    }
  }

  static String newToken() {
    return UUID.randomUUID().toString();
  }

  // Given back or cut off.

  /** Gives a leased notification back, uncounted: its handler has not begun. */
  public final void giveBack(Claim claim) {
    bestEffort(
        claim,
        "could not be given back; its lease ends by itself",
        transaction -> {
          boundTheWait(transaction);
          var begun = SettleStatements.begunBefore(claim, subscribed.channel().mode());
          var unused = SettleStatements.giveBack(transaction, claim, begun);
        });
  }

  /** Ends the session of a claim, so that its locks are released. */
  public final void endSession(Claim claim) {
    bestEffort(
        claim,
        "keeps its locks until the server notices: its session could not be ended",
        transaction -> HandlerSession.end(transaction, claim));
  }

  private void bestEffort(Claim claim, String otherwise, Transactions.Change change) {
    try {
      transactions.make(change);
    } catch (SQLException | RuntimeException e) {
      LOG.warn(
          "pgonce: notification {} of channel {} {} ({})",
          claim.id(),
          subscribed.label(),
          otherwise,
          Failures.inWords(e));
      LOG.debug("pgonce: the failure in full", e);
    }
  }

  /**
   * The listener stops before the handler has returned: ends its session first, which may be in a
   * statement that keeps locks. The notification goes back uncounted, where it may run again.
   */
  public final void endAndGiveBack(Claim claim) {
    bestEffort(
        claim,
        "stays locked until the server notices that its connection is closed, or leased until its lease is over",
        transaction -> {
          HandlerSession.end(transaction, claim);
          if (claim.token() != null) {
            boundTheWait(transaction);
            var unused =
                SettleStatements.giveBack(transaction, claim, DeadLetterReason.OUTCOME_UNKNOWN);
          }
        });
  }

  private static void boundTheWait(Connection transaction) throws SQLException {
    Statements.execute(transaction, BOUND_THE_WAIT);
  }

  /**
   * Decides which deletions look for rows behind theirs: each, until {@link #SEEN} in a row have
   * seen one; then one in {@link #UNSEEN}. The price is an empty claim at the end of a backlog.
   */
  static final class Backlog {

    private static final int SEEN = 8;
    private static final int UNSEEN = 16;

    private int seenInARow;
    private int needNotLook;

    /** Whether the next deletion need not look. */
    synchronized boolean goesOn() {
      if (needNotLook == 0) {
        return false;
      }
      needNotLook--;
      if (needNotLook == 0) {
        seenInARow = SEEN - 1; // one more is enough
      }
      return true;
    }

    /** A deletion has looked. */
    synchronized RowsBehind seen(RowsBehind left) {
      if (needNotLook == 0) {
        seenInARow = left.more() ? seenInARow + 1 : 0;
        needNotLook = seenInARow >= SEEN ? UNSEEN : 0;
      }
      return left;
    }
  }
}
