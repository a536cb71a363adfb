package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.pgonce.PauseException;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.HandlerSession;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.ClientCheck;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What ends a claim of one subscription, whatever its mode: the other half is in each mode's. */
public abstract sealed class Settlement permits TransactionalSettlement, LeaseSettlement {

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

  final Registration<?> subscribed;
  final Transactions transactions;
  final Reports reports;
  private final boolean byKey;
  private final LongSupplier lookedAt;
  private final Pauser pauser;
  private final LookBehind backlog = new LookBehind();

  /**
   * What the settlements of a subscription share.
   *
   * @param lookedAt up to which id claims have looked, where the channel goes by key
   * @param pauser does what a handler asks for that pauses
   */
  public record Parts(
      Registration<?> subscribed,
      Transactions transactions,
      Reports reports,
      LongSupplier lookedAt,
      Pauser pauser) {}

  Settlement(Parts parts) {
    this.subscribed = parts.subscribed();
    this.transactions = parts.transactions();
    this.reports = parts.reports();
    this.byKey = subscribed.goesByKey();
    this.lookedAt = parts.lookedAt();
    this.pauser = parts.pauser();
  }

  // Success.

  final Deletion.OfOne deletion(Claim claim) {
    return new Deletion.OfOne(
        claim, isPlain(claim) && backlog.goesOn(), byKey ? lookedAt.getAsLong() : null);
  }

  final RowsBehind seen(Deletion.OfOne deletion, RowsBehind left) {
    return isPlain(deletion.claim()) && !deletion.ofMany() ? backlog.seen(left) : left;
  }

  /** Whether its deletion says of new rows what lies behind it, and of nothing else. */
  private boolean isPlain(Claim claim) {
    return !byKey && !claim.scheduled();
  }

  static boolean isKeyless(Claim claim) {
    return claim.headers().deliveryKey() == null;
  }

  // Failure.

  /** What may lie behind one that has failed. */
  public final RowsBehind afterFailure() {
    return new RowsBehind(true, byKey);
  }

  /**
   * Decides what the failure becomes, and records that.
   *
   * @return tells of it, when that is committed
   */
  final Runnable record(Connection transaction, Claim claim, Throwable failure)
      throws SQLException {
    var verdict = Verdict.on(failure, claim, subscribed);
    var there = verdict.record(transaction, claim, pauser);
    return () -> reports.tell(there, claim, verdict, failure);
  }

  /** Where a handler asks for a pause, nothing is claimed here until that is recorded. */
  final <R> R heldUp(Throwable failure, Supplier<R> work) {
    if (!(failure instanceof PauseException)) {
      return work.get();
    }
    pauser.begins();
    try {
      return work.get();
    } finally {
      pauser.ends();
    }
  }

  /** A pause that cannot be recorded is a failure that counts: else the row would run at once. */
  private static Throwable notPaused(Throwable asked) {
    return new IllegalStateException(
        "its handler asked for a pause, which could not be recorded (may the role execute pgonce.pause?): "
            + Failures.inWords(asked),
        asked);
  }

  /**
   * Records a failure whose transaction is lost, or whose handler does not come back, in one of its
   * own. Its session is ended first, in the same transaction: the record waits for the row when the
   * session lets go of it, so that hardly anyone can claim it in between. If the record fails too,
   * the attempt is not counted and the row runs again.
   */
  public final void failLate(Claim claim, Throwable failure) {
    var unused =
        heldUp(
            failure,
            () -> {
              recordLate(claim, failure);
              return true;
            });
  }

  private void recordLate(Claim claim, Throwable failure) {
    try {
      recordElsewhere(claim, failure, TRIES).run();
    } catch (SQLException | RuntimeException e) {
      if (failure instanceof PauseException) {
        LOG.debug("pgonce: a pause could not be recorded", e);
        recordLate(claim, notPaused(failure));
        return;
      }
      LOG.warn(
          "pgonce: attempt {} of notification {} of channel {} failed ({}) and that could not be recorded ({}); it runs again uncounted",
          claim.attempt(),
          claim.id(),
          subscribed.label(),
          Failures.inWords(failure),
          Failures.inWords(e));
      LOG.debug("pgonce: the failure that could not be recorded", failure);
    }
  }

  private Runnable recordElsewhere(Claim claim, Throwable failure, int tries) throws SQLException {
    try {
      return transactions.run(
          transaction -> {
            boundTheWait(transaction);
            if (claim.holder() != null) {
              claim.holder().end(transaction);
            }
            return record(transaction, claim, failure);
          });
    } catch (SQLException e) {
      // What a pool says when it has none to give: it has waited long enough.
      var noneToHave = e instanceof SQLTransientConnectionException;
      if (tries > 1 && !noneToHave && LostConnection.isLikely(e)) {
        return recordElsewhere(claim, failure, tries - 1);
      }
      throw e;
    }
  }

  // Neither.

  /**
   * Gives a leased notification back whose handler has not begun, its attempt uncounted, in a
   * transaction of its own. If that fails, its lease ends by itself.
   */
  public final void giveBack(Claim claim) {
    try {
      transactions.make(
          transaction -> {
            boundTheWait(transaction);
            var unused = SettleStatements.giveBack(transaction, claim);
          });
    } catch (SQLException | RuntimeException e) {
      LOG.warn(
          "pgonce: notification {} of channel {}, which is leased and was not begun, could not be given back ({}); its lease ends by itself",
          claim.id(),
          subscribed.label(),
          Failures.inWords(e));
      LOG.debug("pgonce: the failure in full", e);
    }
  }

  /** Ends the session of a claim that is given up; what it holds is free then. */
  public final void endSession(Claim claim) {
    try {
      transactions.make(transaction -> end(transaction, claim));
    } catch (SQLException | RuntimeException e) {
      LOG.warn(
          "pgonce: a session of channel {} that is given up could not be ended ({}); its rows stay locked until the server notices",
          subscribed.label(),
          Failures.inWords(e));
      LOG.debug("pgonce: the failure in full", e);
    }
  }

  static void end(Connection transaction, Claim claim) throws SQLException {
    if (claim.holder() != null) {
      claim.holder().end(transaction);
    } else if (claim.token() != null) {
      HandlerSession.end(transaction, claim.token());
    }
  }

  final void boundTheWait(Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(boundOfTheWait());
    }
  }

  final String boundOfTheWait() {
    return transactions.text(BOUND_THE_WAIT);
  }
}
