package org.pgonce.internal.guard;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.pgonce.Guard;
import org.pgonce.GuardAnswer;
import org.pgonce.GuardKey;
import org.pgonce.GuardOutcome;
import org.pgonce.GuardProbe;
import org.pgonce.GuardResult;
import org.pgonce.GuardState;
import org.pgonce.internal.guard.GuardStatements.Beginning;

/** What the public classes of guards are made of. Thread-safe. */
public final class GuardDesk {

  private static final int PURGE_BATCH = 1_000;

  private final GuardStore store;

  public GuardDesk(GuardStore store) {
    this.store = store;
  }

  public <Q, R> GuardResult<R> once(Guard<Q, R> guard, GuardKey key, Q request, Callable<R> call) {
    var beginning = beginning(guard, key, request);
    var there = store.begin(beginning);
    if (there.isEmpty()) {
      return new GuardResult.InProgress<>(key, null);
    }
    var stored = there.get().requireRequest(beginning.fingerprint());
    return stored.isBegunBy(beginning.token())
        ? new OwnCall<>(store, key, beginning.token(), guard.responseType(), guard.options())
            .make(call)
        : Results.of(stored, store.codec(), guard.responseType());
  }

  public <Q, R> GuardResult<R> inTransaction(
      Connection transaction, Guard<Q, R> guard, GuardKey key, Q request, Callable<R> step)
      throws Exception {
    var beginning = beginning(guard, key, request);
    if (transaction.getAutoCommit()) {
      throw new IllegalArgumentException(
          "the connection for "
              + key
              + " has autocommit on: the guard would be committed before the step; begin a transaction, or use once()");
    }
    var there = GuardStatements.enter(transaction, beginning, store.instance());
    if (there.isEmpty()) {
      return new GuardResult.InProgress<>(key, null);
    }
    var stored = there.get().requireRequest(beginning.fingerprint());
    if (!stored.isBegunBy(beginning.token())) {
      return Results.of(stored, store.codec(), guard.responseType());
    }
    try {
      var response = step.call();
      var ending =
          response == null
              ? Ending.returned(store.codec(), null, guard.responseType())
              : new Ending(
                  GuardOutcome.SUCCEEDED,
                  false,
                  Ending.encode(store.codec(), response, guard.responseType()),
                  null);
      requireFinished(GuardStatements.finish(transaction, key, beginning.token(), ending), key);
      return new GuardResult.Succeeded<>(key, response, false, ending.error());
    } catch (Exception e) {
      recordFailure(transaction, beginning, e);
      throw e;
    }
  }

  private static void requireFinished(Optional<StoredGuard> stored, GuardKey key)
      throws SQLException {
    if (stored.isEmpty() || stored.get().state().outcome() != GuardOutcome.SUCCEEDED) {
      throw new SQLException(
          key
              + ": the step has removed or changed its own guard, in its own transaction: roll it back");
    }
  }

  /** For a caller who commits all the same. Whoever rolls back takes it away. */
  private static void recordFailure(Connection transaction, Beginning what, Exception failure) {
    try {
      var ending = Ending.threw(failure, OwnCall.meaning(what.options(), failure));
      var unused = GuardStatements.finish(transaction, what.key(), what.token(), ending);
    } catch (SQLException aborted) {
      // Then it can only be rolled back. Not added as suppressed: pgjdbc-ng throws one and the same
      // object for every closed connection.
    }
  }

  private <Q, R> Beginning beginning(Guard<Q, R> guard, GuardKey key, Q request) {
    var fingerprint = Fingerprint.of(store.codec(), request, guard.requestType());
    return new Beginning(key, "CALL", fingerprint, UUID.randomUUID(), guard.options());
  }

  public Optional<GuardState> find(GuardKey key) {
    return standing(key).map(StoredGuard::state);
  }

  private Optional<StoredGuard> standing(GuardKey key) {
    return store.run("look up " + key, transaction -> GuardStatements.standing(transaction, key));
  }

  public List<GuardState> open(@Nullable String scope, int limit) {
    return store.run(
        "list the open guards",
        transaction -> GuardStatements.open(transaction, Optional.ofNullable(scope), limit));
  }

  public <R> Optional<GuardResult<R>> probe(GuardKey key, Class<R> type, GuardProbe<R> probe)
      throws Exception {
    var there = standing(key);
    if (there.isEmpty()) {
      return Optional.empty();
    }
    var stored = there.get();
    if (stored.state().outcome() != GuardOutcome.UNKNOWN) {
      return Optional.of(Results.of(stored, store.codec(), type));
    }
    var ending = Ending.told(store.codec(), probe.ask(stored.state()), type);
    if (ending == null) {
      return Optional.of(Results.of(stored, store.codec(), type));
    }
    return store
        .run(
            "record what became of " + key,
            transaction ->
                GuardStatements.probed(transaction, key, stored.state().attempt(), ending))
        .map(after -> Results.of(after, store.codec(), type));
  }

  public <R> void settle(
      GuardKey key, Class<R> type, GuardAnswer<R> answer, String who, String why) {
    var ending = Ending.told(store.codec(), answer, type);
    if (ending == null) {
      throw new IllegalArgumentException(
          key + " cannot be settled by an answer that cannot tell: leave it open");
    }
    settle(key, ending, who, why);
  }

  public void release(GuardKey key, String who, String why) {
    settle(key, new Ending(GuardOutcome.FAILED, true, null, null), who, why);
  }

  private void settle(GuardKey key, Ending ending, String who, String why) {
    var unused =
        store.run(
            "settle " + key,
            transaction -> GuardStatements.settle(transaction, key, ending, who, why));
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

  public GuardStore store() {
    return store;
  }
}
