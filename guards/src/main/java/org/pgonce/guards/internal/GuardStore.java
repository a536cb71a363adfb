package org.pgonce.guards.internal;

import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.Backoff;
import org.pgonce.PgOnceException;
import org.pgonce.guards.GuardKey;
import org.pgonce.guards.GuardResult;
import org.pgonce.guards.OutcomeNotRecordedException;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.spi.PayloadCodec;

/**
 * Guards in short transactions of their own. Each token makes beginning and finishing safe to try
 * again when the answer to a commit was lost. Thread-safe.
 *
 * @param instance this process's name for people
 * @param readable types that the codec was asked for, and can make
 */
record GuardStore(
    Transactions transactions, PayloadCodec codec, String instance, Set<Class<?>> readable) {

  // Look-ups by a key, which wait 10 s for a lock at most.
  private static final Duration LONGEST_STATEMENT = Duration.ofSeconds(30);

  // The call has been made: recording its outcome is worth some seconds.
  private static final int ATTEMPTS_TO_RECORD = 4;
  private static final Backoff BETWEEN_ATTEMPTS =
      new Backoff(Duration.ofMillis(100), Duration.ofSeconds(1));

  private static final String LOCK_NOT_AVAILABLE = "55P03";
  private static final String MAY_NOT = "42501";
  private static final String WHO_MAY =
      ". Have a superuser install once, or run what Guards.migration() prints (sql/guards/install.sql): this role then finds it done, and needs GRANT pgonce_guard. Any other role that installs needs CREATEROLE, CREATE on the database and, where pgonce_owner is there already, GRANT pgonce_owner";

  static GuardStore over(DataSource dataSource, PayloadCodec codec, String instance) {
    return new GuardStore(
        new Transactions(dataSource, LONGEST_STATEMENT),
        codec,
        instance,
        ConcurrentHashMap.newKeySet());
  }

  /**
   * Refuses a type that no repeat could read its response as: that would show after a crash only.
   */
  void requireReadable(Class<?> responseType) {
    if (!readable.contains(responseType)) {
      codec.requireDecodable(responseType);
      readable.add(responseType);
    }
  }

  void install() {
    try {
      var unused = transactions.run(GuardSchema::install);
    } catch (SQLException e) {
      throw new PgOnceException(
          "pgonce cannot install guards%s: %s"
              .formatted(
                  LostConnection.isLikely(e)
                      ? ", the connection ended and what became of it is not known (install again, it does no harm)"
                      : ", nothing was changed",
                  Failures.withHint(e) + (MAY_NOT.equals(e.getSQLState()) ? WHO_MAY : "")),
          e);
    }
  }

  /**
   * Begins an attempt, or finds what is there.
   *
   * @return empty if an open transaction of others has the key
   */
  Optional<StoredGuard> begin(Attempt attempt) {
    return begin(
        attempt.key(), transaction -> GuardStatements.begin(transaction, attempt, instance));
  }

  /** The same with what is found of the steps. */
  Optional<Resumed> beginSequence(Attempt run) {
    return begin(
        run.key(),
        transaction -> {
          var head = GuardStatements.begin(transaction, run, instance);
          var begun = head.isPresent() && head.get().isBegunBy(run);
          List<StoredGuard> steps =
              begun ? GuardStatements.steps(transaction, run.key()) : List.of();
          return head.map(found -> new Resumed(found, steps));
        });
  }

  /** A sequence with the steps that are there. */
  record Resumed(StoredGuard head, List<StoredGuard> steps) {}

  /**
   * Empty if the run has lost its sequence.
   *
   * @throws PgOnceException also if an open transaction of others has the step or the sequence:
   *     that is no loss, so the run can give its sequence back
   */
  Optional<StoredGuard> beginStep(Attempt step, Attempt run) {
    var key = step.key();
    try {
      return inDoubtAgain(
          key, transaction -> GuardStatements.stepBegin(transaction, step, run, instance));
    } catch (SQLException e) {
      throw LOCK_NOT_AVAILABLE.equals(e.getSQLState())
          ? new PgOnceException(
              "pgonce cannot begin %s, and the call was not made: another transaction has locked its row, or that of its sequence, for longer than pgonce waits. End that transaction (pg_stat_activity shows the oldest by xact_start), and run the sequence again: %s"
                  .formatted(key, Failures.withHint(e)),
              e)
          : notBegun(key, e);
    }
  }

  private <T> Optional<T> begin(GuardKey key, Transactions.Work<Optional<T>> work) {
    try {
      return inDoubtAgain(key, work);
    } catch (SQLException e) {
      if (LOCK_NOT_AVAILABLE.equals(e.getSQLState())) {
        return Optional.empty();
      }
      throw notBegun(key, e);
    }
  }

  private <T> T inDoubtAgain(GuardKey key, Transactions.Work<T> work) throws SQLException {
    try {
      return runOnOwnStatements(key, work);
    } catch (SQLException e) {
      // In doubt, if it ended in the commit: the same token finds what is its own. A second
      // statement waits for what the lost session may still be committing.
      if (!LostConnection.isLikely(e) || e instanceof SQLTransientConnectionException) {
        throw e;
      }
      return runOnOwnStatements(key, work);
    }
  }

  private static PgOnceException notBegun(GuardKey key, SQLException e) {
    return new PgOnceException(
        "pgonce cannot begin %s, and the call was not made%s: %s"
            .formatted(
                key,
                LostConnection.isLikely(e)
                    ? " (if it was committed before the connection ended, it is listed as open)"
                    : "",
                Failures.withHint(e)),
        e);
  }

  /** The call rests on the commit of its beginning, so that must be one. */
  private <T> T runOnOwnStatements(GuardKey key, Transactions.Work<T> work) throws SQLException {
    var problem = transactions.namedStatementsProblem();
    if (problem != null) {
      throw new PgOnceException(
          "pgonce cannot begin %s, and the call was not made: %s".formatted(key, problem));
    }
    return transactions.runBounded(work);
  }

  /**
   * Records what the call came to.
   *
   * @param response what it returned, for the exception
   * @throws OutcomeNotRecordedException if that cannot be stored, or something else stands there
   */
  StoredGuard finish(Attempt attempt, CallOutcome outcome, @Nullable Object response) {
    var after =
        recorded(
            attempt.key(),
            response,
            outcome,
            it ->
                transactions.runBounded(
                    transaction -> GuardStatements.finish(transaction, attempt, it)));
    var stored = after.orElse(null);
    if (stored == null || !stored.isOf(attempt) || stored.state().outcome() != outcome.outcome()) {
      throw new OutcomeNotRecordedException(
          "%s: the call was made and came to %s, which was not recorded: meanwhile %s; pgonce_guards.guard_history has both"
              .formatted(
                  attempt.key(),
                  outcome.outcome(),
                  stored == null
                      ? "its guard was removed"
                      : "it stands as "
                          + stored.state().outcome()
                          + " by attempt "
                          + stored.state().attempt()),
          response,
          null);
    }
    return stored;
  }

  /** The same of a call that threw; an interrupt is given back to the thread. */
  <R> GuardResult<R> finishFailed(
      Attempt attempt, CallOutcome outcome, Class<R> type, Exception failure) {
    passOnInterrupt(failure);
    try {
      return finish(attempt, outcome, null).result(codec, type, failure);
    } catch (OutcomeNotRecordedException e) {
      e.addSuppressed(failure);
      throw e;
    }
  }

  static void passOnInterrupt(Exception failure) {
    if (failure instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
  }

  /** Keeps the result of a repeatable step; empty if the run has lost its sequence. */
  Optional<StoredGuard> stepDone(GuardKey step, Attempt run, CallOutcome outcome, Object response) {
    return recorded(
        step,
        response,
        outcome,
        it ->
            transactions.runBounded(
                transaction -> GuardStatements.stepDone(transaction, step, run, instance, it)));
  }

  private interface Recording {
    Optional<StoredGuard> of(CallOutcome outcome) throws SQLException;
  }

  private static Optional<StoredGuard> recorded(
      GuardKey key, @Nullable Object response, CallOutcome outcome, Recording recording) {
    // A pool gives an interrupted thread no connection, and the interrupt was meant for the call.
    var interrupted = Thread.interrupted();
    try {
      var what = outcome;
      for (var attempt = 1; ; attempt++) {
        try {
          return recording.of(what);
        } catch (SQLException | RuntimeException e) { // A data source may throw either.
          if (e instanceof SQLException refused && isAboutTexts(refused)) {
            // Not the texts' encoding, nor their size, may keep the outcome from being stored.
            what =
                outcome.withoutTexts(
                    "its text could not be stored: SQLState " + refused.getSQLState());
          }
          if (attempt == ATTEMPTS_TO_RECORD) {
            throw new OutcomeNotRecordedException(
                "%s: the call was made and came to %s, which could not be recorded in %d attempts (if it was not, the guard becomes UNKNOWN): %s"
                    .formatted(key, outcome.outcome(), ATTEMPTS_TO_RECORD, Failures.withHint(e)),
                response,
                e);
          }
          Thread.sleep(BETWEEN_ATTEMPTS.after(attempt).toMillis());
        }
      }
    } catch (InterruptedException e) {
      interrupted = true;
      throw new OutcomeNotRecordedException(
          "%s: the call was made and came to %s; this thread was interrupted while that could not be recorded yet"
              .formatted(key, outcome.outcome()),
          response,
          e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static boolean isAboutTexts(SQLException failure) {
    var state = failure.getSQLState();
    return state != null && (state.startsWith("22") || state.startsWith("54"));
  }

  /** Runs what neither begins nor finishes a call. */
  <T> T run(String what, Transactions.Work<T> work) {
    try {
      return transactions.runBounded(work);
    } catch (SQLException e) {
      throw new PgOnceException("pgonce cannot " + what + ": " + Failures.withHint(e), e);
    }
  }
}
