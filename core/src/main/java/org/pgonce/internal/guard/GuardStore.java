package org.pgonce.internal.guard;

import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.pgonce.Backoff;
import org.pgonce.GuardKey;
import org.pgonce.OutcomeNotRecordedException;
import org.pgonce.PgOnceException;
import org.pgonce.internal.deliver.LostConnection;
import org.pgonce.internal.guard.GuardStatements.Beginning;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.internal.settle.Failures;
import org.pgonce.spi.PayloadCodec;

/**
 * Guards in short transactions of their own. Each token makes beginning and finishing safe to try
 * again when the answer to a commit was lost. Thread-safe.
 *
 * @param instance this process's name for people
 */
public record GuardStore(Transactions transactions, PayloadCodec codec, String instance) {

  /** What no statement of ours exceeds, unless somebody has the same key in a long transaction. */
  static final Duration LOCK_WAIT = Duration.ofSeconds(10);

  // The call has been made: telling what it came to is worth some seconds.
  private static final int ATTEMPTS_TO_FINISH = 4;
  private static final Backoff BETWEEN_ATTEMPTS =
      new Backoff(Duration.ofMillis(100), Duration.ofSeconds(1));

  private static final String LOCK_NOT_AVAILABLE = "55P03";

  /**
   * Begins an attempt, or says what is there.
   *
   * @return empty if somebody's open transaction has the key
   */
  Optional<StoredGuard> begin(Beginning what) {
    return begin(what.key(), transaction -> GuardStatements.begin(transaction, what, instance));
  }

  /** The same with what is found of the steps. */
  Optional<Resumed> beginSequence(Beginning what) {
    return begin(
        what.key(),
        transaction -> {
          var head = GuardStatements.begin(transaction, what, instance);
          var begun = head.isPresent() && head.get().isBegunBy(what.token());
          List<StoredGuard> steps =
              begun ? GuardStatements.steps(transaction, what.key()) : List.of();
          return head.map(found -> new Resumed(found, steps));
        });
  }

  /** A sequence with the steps that are there. */
  record Resumed(StoredGuard head, List<StoredGuard> steps) {}

  /** Empty if the run has lost its sequence. */
  Optional<StoredGuard> beginStep(Beginning what, UUID run) {
    return begin(
        what.key(), transaction -> GuardStatements.stepBegin(transaction, what, run, instance));
  }

  private <T> Optional<T> begin(GuardKey key, Transactions.Work<Optional<T>> work) {
    try {
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
    } catch (SQLException e) {
      if (LOCK_NOT_AVAILABLE.equals(e.getSQLState())) {
        return Optional.empty();
      }
      throw new PgOnceException(
          "pgonce cannot begin %s, and the call was not made%s: %s"
              .formatted(
                  key,
                  LostConnection.isLikely(e)
                      ? " (if it was committed before the connection ended, it is listed as open)"
                      : "",
                  Failures.withHint(e)),
          e);
    }
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
   * Says what the call came to.
   *
   * @param response what it returned, for the exception
   * @throws OutcomeNotRecordedException if that cannot be stored, or something else stands there
   */
  StoredGuard finish(GuardKey key, UUID token, Ending ending, @Nullable Object response) {
    var after =
        tell(
            key,
            response,
            ending,
            it ->
                transactions.runBounded(
                    transaction -> GuardStatements.finish(transaction, key, token, it)));
    var stored = after.orElse(null);
    if (stored == null || !stored.isOf(token) || stored.state().outcome() != ending.outcome()) {
      throw new OutcomeNotRecordedException(
          "%s: the call was made and came to %s, which was not recorded: meanwhile %s; pgonce.guard_history has both"
              .formatted(
                  key,
                  ending.outcome(),
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

  /** Keeps the result of a repeatable step; empty if the run has lost its sequence. */
  Optional<StoredGuard> stepDone(Beginning what, Ending ending, Object response) {
    return tell(
        what.key(),
        response,
        ending,
        it ->
            transactions.runBounded(
                transaction -> GuardStatements.stepDone(transaction, what, instance, it)));
  }

  private interface Recording {
    Optional<StoredGuard> of(Ending ending) throws SQLException;
  }

  private static Optional<StoredGuard> tell(
      GuardKey key, @Nullable Object response, Ending ending, Recording recording) {
    // A pool gives an interrupted thread no connection, and the interrupt was meant for the call.
    var interrupted = Thread.interrupted();
    try {
      var what = ending;
      for (var attempt = 1; ; attempt++) {
        try {
          return recording.of(what);
        } catch (SQLException e) {
          if (isAboutTexts(e)) {
            // Not the texts' encoding, nor their size, may keep the outcome from being stored.
            what = ending.withoutTexts("its text could not be stored: SQLState " + e.getSQLState());
          }
          if (attempt == ATTEMPTS_TO_FINISH) {
            throw new OutcomeNotRecordedException(
                "%s: the call was made and came to %s, which could not be recorded in %d attempts (if it was not, the guard becomes UNKNOWN): %s"
                    .formatted(key, ending.outcome(), ATTEMPTS_TO_FINISH, Failures.withHint(e)),
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
              .formatted(key, ending.outcome()),
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
  public <T> T run(String what, Transactions.Work<T> work) {
    try {
      return transactions.runBounded(work);
    } catch (SQLException e) {
      throw new PgOnceException("pgonce cannot " + what + ": " + Failures.withHint(e), e);
    }
  }
}
