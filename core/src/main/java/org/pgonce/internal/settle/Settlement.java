package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import org.pgonce.Mode;
import org.pgonce.PauseException;
import org.pgonce.internal.Transactions;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.HandlerSession;
import org.pgonce.internal.handle.GuardedConnection;
import org.pgonce.internal.handle.Subscribed;
import org.pgonce.internal.jdbc.ClientCheck;
import org.pgonce.internal.jdbc.Following;
import org.pgonce.internal.jdbc.LostConnection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends the transaction of a claim, one way or the other, for one subscription. */
public final class Settlement {

  private static final Logger LOG = LoggerFactory.getLogger(Settlement.class);

  // How long the late record of a failure waits for whoever holds the row: its own session, being
  // ended, or the next attempt. And how long it may hold the row itself when its process freezes: a
  // shorter bound of the session's stays.
  private static final String BOUND_THE_WAIT =
      """
      SELECT pg_catalog.set_config('lock_timeout', '5s', true),
             pg_catalog.set_config('idle_in_transaction_session_timeout',
               CASE WHEN s.idle::pg_catalog.interval BETWEEN INTERVAL '1 microsecond' AND INTERVAL '30 seconds'
                 THEN s.idle ELSE '30s' END, true),
             %s
        FROM pg_catalog.current_setting('idle_in_transaction_session_timeout') AS s (idle)
      """
          .formatted(ClientCheck.COLUMN);

  // What cut one connection has cut others of the pool, which does not know yet.
  private static final int TRIES = 3;

  private final Subscribed<?> subscribed;
  private final String channel;
  private final boolean byKey;
  private final Transactions transactions;
  private final Reports reports;
  private final LongSupplier lookedAt;
  private final Pauser pauser;
  private final Backlog backlog = new Backlog();

  /**
   * How an attempt has ended.
   *
   * @param fit whether the connection is fit for the next claim
   * @param left what may lie behind the notification that it had
   */
  public record Outcome(boolean fit, Left left) {}

  /**
   * @param lookedAt up to which id claims have looked, where the channel goes by key
   * @param pauser does what a handler asks for that pauses
   */
  public Settlement(
      Subscribed<?> subscribed,
      Transactions transactions,
      Reports reports,
      LongSupplier lookedAt,
      Pauser pauser) {
    this.subscribed = subscribed;
    this.channel = subscribed.label();
    this.byKey = subscribed.goesByKey();
    this.transactions = transactions;
    this.reports = reports;
    this.lookedAt = lookedAt;
    this.pauser = pauser;
  }

  /**
   * The handler returned: deletes the row and commits. That the handler swallowed an SQL error, or
   * ended the transaction, shows here: the driver's commit() would return normally on an aborted
   * transaction.
   *
   * @param handled whether it ran at all: not if its condition does not hold any more
   * @param onward asked amid a backlog, for what is to follow the commit in its message
   * @throws SQLException if it is not committed, or not known to be
   */
  public Outcome complete(
      Connection transaction,
      Claim claim,
      GuardedConnection guarded,
      boolean handled,
      Duration inHandler,
      Onward onward)
      throws SQLException {
    var deletion = deletion(claim);
    // Where it is not sure that more is left, a claim might be in vain.
    var next = deletion.ofMany() && isKeyless(claim) ? onward.begin() : null;
    Left left;
    try {
      var commit = next == null ? Following.COMMIT : next;
      left = seen(deletion, commit(transaction, List.of(claim), guarded, deletion, commit));
    } catch (SQLException e) {
      if (next == null || !isCommitted(transaction, claim, guarded, e)) {
        throw e;
      }
      LOG.debug("pgonce: behind the commit of {} nothing could be claimed", claim, e);
      next.undone();
      reports.told(claim, handled, inHandler);
      return new Outcome(false, new Left(true, false)); // how the handler left its session is lost
    }
    reports.told(claim, handled, inHandler);
    return new Outcome(restoreSession(guarded, claim), left);
  }

  /** Whether a failure came from behind the commit. */
  private static boolean isCommitted(
      Connection transaction, Claim claim, GuardedConnection guarded, SQLException failure) {
    if (!guarded.mayBeCommitted() || claim.holder() == null || LostConnection.isLikely(failure)) {
      return false;
    }
    try {
      transaction.rollback();
      var isCommitted = claim.holder().isCommitted(transaction);
      transaction.rollback();
      return isCommitted;
    } catch (SQLException | RuntimeException e) {
      LOG.debug("pgonce: whether {} is committed could not be asked", claim, e);
      return false;
    }
  }

  /**
   * The same for several: all are done, or none.
   *
   * @param handled the ids of those whose handler ran
   */
  public Outcome completeAll(
      Connection transaction,
      List<Claim> claims,
      GuardedConnection guarded,
      Set<Long> handled,
      Duration inHandler)
      throws SQLException {
    var left =
        commit(transaction, claims, guarded, new Deletion.OfSeveral(claims), Following.COMMIT);
    claims.forEach(claim -> reports.told(claim, handled.contains(claim.id()), inHandler));
    return new Outcome(restoreSession(guarded, claims.get(0)), left);
  }

  private Deletion.OfOne deletion(Claim claim) {
    return new Deletion.OfOne(
        claim, isPlain(claim) && backlog.goesOn(), byKey ? lookedAt.getAsLong() : null);
  }

  private Left seen(Deletion.OfOne deletion, Left left) {
    return isPlain(deletion.claim()) && !deletion.ofMany() ? backlog.seen(left) : left;
  }

  /** Whether its deletion says of new rows what lies behind it, and of nothing else. */
  private boolean isPlain(Claim claim) {
    return !byKey && !claim.scheduled();
  }

  private static boolean isKeyless(Claim claim) {
    return claim.origin().deliveryKey() == null;
  }

  /** Deletes them and commits. */
  private static Left commit(
      Connection transaction,
      List<Claim> claims,
      GuardedConnection guarded,
      Deletion deletion,
      Following commit)
      throws SQLException {
    if (claims.stream().allMatch(Settlement::isKeyless)) {
      return guarded.commitWith(deletion, commit);
    }
    var left = guarded.sealWith(deletion);
    SettleStatements.keysDone(transaction, claims);
    transaction.commit();
    return left;
  }

  private static void end(Connection transaction, Claim claim) throws SQLException {
    if (claim.holder() != null) {
      claim.holder().end(transaction);
    } else if (claim.token() != null) {
      HandlerSession.end(transaction, claim.token());
    }
  }

  /** Ends the session of a claim that is given up; what it holds is free then. */
  public void endSession(Claim claim) {
    try {
      transactions.make(transaction -> end(transaction, claim));
    } catch (SQLException | RuntimeException e) {
      LOG.warn(
          "pgonce: a session of channel {} that is given up could not be ended ({}); its rows stay locked until the server notices",
          channel,
          Failures.inWords(e));
      LOG.debug("pgonce: the failure in full", e);
    }
  }

  /**
   * The handler of a leased notification returned: deletes the row, in the handler's transaction,
   * and may commit it in the same message. {@link #told} follows when that is committed.
   *
   * @return what lies behind it
   * @throws SQLException if the lease is lost: roll the transaction back then
   */
  public Left acknowledge(Connection transaction, Claim claim) throws SQLException {
    var deletion = deletion(claim);
    if (isKeyless(claim)) {
      return seen(deletion, deletion.commitAfter(transactions.text(BOUND_THE_WAIT), transaction));
    }
    boundTheWait(transaction);
    var left = seen(deletion, deletion.on(transaction));
    SettleStatements.keysDone(transaction, List.of(claim));
    return left;
  }

  /** The same in a transaction of its own. */
  public Left acknowledgeAlone(Claim claim) throws SQLException {
    return transactions.run(transaction -> acknowledge(transaction, claim));
  }

  /** What {@link #acknowledge} has settled is committed. */
  public void told(Claim claim, boolean handled, Duration inHandler) {
    reports.told(claim, handled, inHandler);
  }

  /** What may lie behind one that has failed. */
  public Left afterFailure() {
    return new Left(true, byKey);
  }

  /**
   * Gives a leased notification back whose handler has not begun, its attempt uncounted, in a
   * transaction of its own. If that fails, its lease ends by itself.
   */
  public void giveBack(Claim claim) {
    try {
      var unused =
          transactions.run(
              transaction -> {
                boundTheWait(transaction);
                return SettleStatements.giveBack(transaction, claim);
              });
    } catch (SQLException | RuntimeException e) {
      LOG.warn(
          "pgonce: notification {} of channel {}, which is leased and was not begun, could not be given back ({}); its lease ends by itself",
          claim.id(),
          channel,
          Failures.inWords(e));
      LOG.debug("pgonce: the failure in full", e);
    }
  }

  /**
   * The listener stops before the handler of a leased notification has returned: the statements
   * that say so, and return what is to be told when they are committed. Where it may run again it
   * goes back uncounted; the session of the handler's own is ended first, which may be in a
   * statement that keeps locks.
   */
  public Transactions.Work<Runnable> release(Claim claim) {
    return transaction -> {
      end(transaction, claim);
      if (subscribed.channel().mode() == Mode.AT_MOST_ONCE) {
        var failure =
            new UnknownOutcomeException("the listener stopped before its handler returned");
        var verdict = Verdict.on(failure, claim, subscribed);
        var there = verdict.record(transaction, claim, pauser);
        return () -> reports.tell(there, claim, verdict, failure);
      }
      var unused = SettleStatements.giveBack(transaction, claim, DeadLetterReason.OUTCOME_UNKNOWN);
      return () -> {};
    };
  }

  /**
   * The same where a session holds it: that is ended. What was counted before the handler began is
   * taken back.
   */
  public Transactions.Work<Runnable> releaseHeld(Claim claim) {
    return transaction -> {
      if (claim.holder() != null) {
        claim.holder().end(transaction);
      }
      if (claim.token() != null) {
        boundTheWait(transaction);
        var unused =
            SettleStatements.giveBack(transaction, claim, DeadLetterReason.OUTCOME_UNKNOWN);
      }
      return () -> {};
    };
  }

  /**
   * The attempt failed: undoes the handler's work and records the failure. While the transaction
   * lives this happens inside it, so the row is held throughout and nobody can take it before its
   * backoff is written; otherwise in a transaction of its own.
   *
   * @return whether the connection is fit for the next claim
   */
  public boolean fail(
      Connection transaction, Claim claim, GuardedConnection guarded, Throwable failure) {
    if (!(failure instanceof PauseException)) {
      return failNow(transaction, claim, guarded, failure);
    }
    pauser.begins();
    try {
      return failNow(transaction, claim, guarded, failure);
    } finally {
      pauser.ends();
    }
  }

  private boolean failNow(
      Connection transaction, Claim claim, GuardedConnection guarded, Throwable failure) {
    var verdict = Verdict.on(failure, claim, subscribed);
    boolean there;
    try {
      guarded.undo();
      there = verdict.record(transaction, claim, pauser);
      transaction.commit();
    } catch (SQLException | RuntimeException transactionLost) {
      LOG.debug("pgonce: the transaction of a failed attempt is lost", transactionLost);
      var connectionLost =
          LostConnection.isToldBy(failure) || LostConnection.isToldBy(transactionLost);
      if (!connectionLost && rollBack(transaction) && failAgain(transaction, claim, failure)) {
        return true;
      }
      LostConnection.abandon(transaction);
      failElsewhere(transaction, claim, failure);
      return false;
    }
    reports.tell(there, claim, verdict, failure);
    return true;
  }

  /**
   * The transaction is lost but its connection lives: records the failure in the next one there.
   */
  private boolean failAgain(Connection connection, Claim claim, Throwable failure) {
    return recordAgain(connection, claim, failure)
        || (failure instanceof PauseException
            && rollBack(connection)
            && recordAgain(connection, claim, notPaused(failure)));
  }

  /** A pause that cannot be recorded is a failure that counts: else the row would run at once. */
  private static Throwable notPaused(Throwable asked) {
    return new IllegalStateException(
        "its handler asked for a pause, which could not be recorded (may the role execute pgonce.pause?): "
            + Failures.inWords(asked),
        asked);
  }

  private boolean recordAgain(Connection connection, Claim claim, Throwable failure) {
    var verdict = Verdict.on(failure, claim, subscribed);
    boolean there;
    try {
      boundTheWait(connection);
      there = verdict.record(connection, claim, pauser);
      connection.commit();
    } catch (SQLException | RuntimeException e) {
      LOG.debug("pgonce: nor could the failure be recorded on its connection", e);
      return false;
    }
    reports.tell(there, claim, verdict, failure);
    return true;
  }

  private void failElsewhere(Connection lost, Claim claim, Throwable failure) {
    try {
      // First, so that a pool of one connection has one to give.
      lost.close();
    } catch (SQLException | RuntimeException e) {
      LOG.debug("pgonce: the lost connection could not be closed", e);
    }
    failLate(claim, failure);
  }

  /**
   * Records a failure whose transaction is lost, or whose handler does not come back, in one of its
   * own. Its session is ended first, in the same transaction: the record waits for the row when the
   * session lets go of it, so that hardly anyone can claim it in between. If the record fails too,
   * the attempt is not counted and the row runs again.
   */
  public void failLate(Claim claim, Throwable failure) {
    if (!(failure instanceof PauseException)) {
      failLateNow(claim, failure);
      return;
    }
    pauser.begins();
    try {
      var verdict = Verdict.on(failure, claim, subscribed);
      reports.tell(recordElsewhere(claim, verdict, TRIES), claim, verdict, failure);
    } catch (SQLException | RuntimeException e) {
      LOG.debug("pgonce: a pause could not be recorded", e);
      failLateNow(claim, notPaused(failure));
    } finally {
      pauser.ends();
    }
  }

  private void failLateNow(Claim claim, Throwable failure) {
    var verdict = Verdict.on(failure, claim, subscribed);
    try {
      reports.tell(recordElsewhere(claim, verdict, TRIES), claim, verdict, failure);
    } catch (SQLException | RuntimeException e) {
      LOG.warn(
          "pgonce: attempt {} of notification {} of channel {} failed ({}) and that could not be recorded ({}); it runs again uncounted",
          claim.attempt(),
          claim.id(),
          channel,
          verdict.why(),
          Failures.inWords(e));
      LOG.debug("pgonce: the failure that could not be recorded", failure);
    }
  }

  private boolean recordElsewhere(Claim claim, Verdict verdict, int tries) throws SQLException {
    try {
      return transactions.run(
          transaction -> {
            boundTheWait(transaction);
            var holder = claim.holder();
            if (holder != null) {
              holder.end(transaction);
            }
            return verdict.record(transaction, claim, pauser);
          });
    } catch (SQLException e) {
      // What a pool says when it has none to give: it has waited long enough.
      var noneToHave = e instanceof SQLTransientConnectionException;
      if (tries > 1 && !noneToHave && LostConnection.isLikely(e)) {
        return recordElsewhere(claim, verdict, tries - 1);
      }
      throw e;
    }
  }

  /**
   * The handler changed the session in a way that its SQL did not show: the next one must not
   * inherit it.
   */
  private boolean restoreSession(GuardedConnection guarded, Claim claim) {
    try {
      var holder = claim.holder();
      guarded.restoreSession(holder == null ? null : holder.idleTimeout());
      return true;
    } catch (SQLException e) {
      LOG.warn(
          "pgonce: the handler of notification {} of channel {} changed its session's settings, and they could not be set back ({}); the"
              + " connection is closed",
          claim.id(),
          channel,
          Failures.inWords(e));
      return false;
    }
  }

  private void boundTheWait(Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(transactions.text(BOUND_THE_WAIT));
    }
  }

  private static boolean rollBack(Connection transaction) {
    try {
      transaction.rollback();
      return true;
    } catch (SQLException | RuntimeException lost) {
      LOG.debug("pgonce: the connection is lost", lost);
      return false;
    }
  }
}
