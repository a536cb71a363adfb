package org.pgonce.guards.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.guards.Guard;
import org.pgonce.guards.GuardAnswer;
import org.pgonce.guards.GuardKey;
import org.pgonce.guards.GuardOutcome;
import org.pgonce.guards.GuardResult;
import org.pgonce.guards.GuardState;
import org.pgonce.guards.Steps;
import org.pgonce.spi.PayloadCodec;

/** What {@link org.pgonce.guards.Guards} does once its arguments are checked. Thread-safe. */
public final class GuardService {

  private static final int PURGE_BATCH = 1_000;

  private final GuardStore store;

  private GuardService(GuardStore store) {
    this.store = store;
  }

  public static GuardService over(DataSource dataSource, PayloadCodec codec, String instance) {
    return new GuardService(GuardStore.over(dataSource, codec, instance));
  }

  public void install() {
    store.install();
  }

  public <Q, R> GuardResult<R> once(Guard<Q, R> guard, GuardKey key, Q request, Callable<R> call) {
    var attempt = attempt("CALL", guard, key, request);
    var found = store.begin(attempt);
    return found.isPresent() && found.get().isBegunBy(attempt)
        ? new GuardedCall<>(store, attempt, guard.responseType()).make(call)
        : found(found, attempt, guard.responseType());
  }

  public <Q, R> GuardResult<R> inTransaction(
      Connection transaction, Guard<Q, R> guard, GuardKey key, Q request, Callable<R> step)
      throws Exception {
    var attempt = attempt("CALL", guard, key, request);
    if (transaction.getAutoCommit()) {
      throw new IllegalArgumentException(
          "the connection for "
              + key
              + " has autocommit on: the guard would be committed before the step; begin a transaction, or use once()");
    }
    var found = GuardStatements.enter(transaction, attempt, store.instance());
    if (found.isEmpty() || !found.get().isBegunBy(attempt)) {
      return found(found, attempt, guard.responseType());
    }
    try {
      var response = step.call();
      var outcome = CallOutcome.succeeded(store.codec(), response, guard.responseType());
      requireFinished(GuardStatements.finish(transaction, attempt, outcome), key);
      return new GuardResult.Succeeded<>(key, response, false, outcome.error());
    } catch (Exception e) {
      recordFailure(transaction, attempt, e);
      throw e;
    }
  }

  private <Q> Attempt attempt(String kind, Guard<Q, ?> guard, GuardKey key, Q request) {
    store.requireReadable(guard.responseType());
    var fingerprint = Fingerprint.of(store.codec(), request, guard.requestType());
    return Attempt.at(key, kind, fingerprint, guard.options());
  }

  /** Of an attempt that was not begun, as something is there; empty: in an open transaction. */
  private <R> GuardResult<R> found(Optional<StoredGuard> found, Attempt attempt, Class<R> type) {
    return found
        .map(stored -> stored.requireRequest(attempt.fingerprint()).<R>result(store.codec(), type))
        .orElseGet(() -> new GuardResult.InProgress<>(attempt.key(), null));
  }

  private static void requireFinished(Optional<StoredGuard> stored, GuardKey key)
      throws SQLException {
    if (stored.isEmpty() || stored.get().state().outcome() != GuardOutcome.SUCCEEDED) {
      throw new SQLException(
          key
              + ": the step has removed or changed its own guard, in its own transaction: roll it back");
    }
  }

  /** For a caller that commits all the same; a rollback takes it away. */
  private static void recordFailure(Connection transaction, Attempt attempt, Exception failure) {
    try {
      var unused = GuardStatements.finish(transaction, attempt, attempt.threw(failure));
    } catch (SQLException | RuntimeException aborted) {
      // Then it can only be rolled back. Not added as suppressed: pgjdbc-ng throws one and the same
      // object for every closed connection.
    }
  }

  public <Q, R> GuardResult<R> run(Guard<Q, R> guard, GuardKey key, Q request, Steps.Body<R> body) {
    var attempt = attempt("SEQUENCE", guard, key, request);
    return new SequenceRunner(store).run(attempt, guard.responseType(), body);
  }

  public Optional<GuardState> find(GuardKey key) {
    return standing(key).map(StoredGuard::state);
  }

  private Optional<StoredGuard> standing(GuardKey key) {
    return store.run("look up " + key, transaction -> GuardStatements.standing(transaction, key));
  }

  public List<GuardState> open(@Nullable String scope, int limit) {
    return store.run(
        "list the open guards", transaction -> GuardStatements.open(transaction, scope, limit));
  }

  public <R> Optional<GuardResult<R>> probe(
      GuardKey key, Class<R> type, Callable<GuardAnswer<R>> probe) throws Exception {
    var found = standing(key);
    if (found.isPresent() && found.get().state().outcome() == GuardOutcome.UNKNOWN) {
      var attempt = found.get().state().attempt();
      var outcome = CallOutcome.answered(store.codec(), probe.call(), type);
      if (outcome != null) {
        found =
            store.run(
                "record what became of " + key,
                transaction -> GuardStatements.probed(transaction, key, attempt, outcome));
      }
    }
    return found.map(stored -> stored.result(store.codec(), type));
  }

  public <R> void settle(
      GuardKey key, Class<R> type, GuardAnswer<R> answer, String who, String why) {
    var outcome = CallOutcome.answered(store.codec(), answer, type);
    if (outcome == null) {
      throw new IllegalArgumentException(
          key + " cannot be settled by an answer that cannot tell: leave it open");
    }
    var unused =
        store.run(
            "settle " + key,
            transaction -> GuardStatements.settle(transaction, key, outcome, who, why));
  }

  public long purge(long limit) {
    var purged = 0L;
    while (purged < limit) {
      var batch = (int) Math.min(PURGE_BATCH, limit - purged);
      var deleted =
          store.run("delete old guards", transaction -> GuardStatements.purge(transaction, batch));
      purged += deleted;
      if (deleted < batch) {
        break;
      }
    }
    return purged;
  }
}
