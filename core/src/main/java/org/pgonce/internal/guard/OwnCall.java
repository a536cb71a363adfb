package org.pgonce.internal.guard;

import java.util.UUID;
import java.util.concurrent.Callable;
import org.pgonce.FailureMeaning;
import org.pgonce.GuardKey;
import org.pgonce.GuardOptions;
import org.pgonce.GuardResult;
import org.pgonce.OutcomeNotRecordedException;

/**
 * The call between two transactions: begun and committed, made, its outcome committed. A call that
 * was begun is made here or by nobody.
 */
final class OwnCall<R> {

  private final GuardStore store;
  private final GuardKey key;
  private final UUID token;
  private final Class<R> type;
  private final GuardOptions options;

  OwnCall(GuardStore store, GuardKey key, UUID token, Class<R> type, GuardOptions options) {
    this.store = store;
    this.key = key;
    this.token = token;
    this.type = type;
    this.options = options;
  }

  /** Makes the call, which must have been begun with the token, and stores what it came to. */
  GuardResult<R> make(Callable<R> call) {
    R response;
    try {
      response = call.call();
    } catch (Exception e) {
      return failed(e);
    } catch (Error e) {
      // The worker is to see it as it is; what is kept says that nobody knows.
      try {
        var unused = store.finish(key, token, Ending.threw(e, FailureMeaning.UNKNOWN), null);
      } catch (RuntimeException | Error untold) {
        e.addSuppressed(untold);
      }
      throw e;
    }
    var ending = Ending.returned(store.codec(), response, type);
    var stored = store.finish(key, token, ending, response);
    // A probe or a person may have been quicker; the first answer is what repeats give.
    return stored.isSettledByItsCall()
        ? new GuardResult.Succeeded<>(key, response, false, ending.error())
        : Results.of(stored, store.codec(), type);
  }

  private GuardResult<R> failed(Exception failure) {
    if (failure instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    try {
      var ending = Ending.threw(failure, meaning(options, failure));
      return Results.of(store.finish(key, token, ending, null), store.codec(), type, failure);
    } catch (OutcomeNotRecordedException e) {
      e.addSuppressed(failure);
      throw e;
    }
  }

  static FailureMeaning meaning(GuardOptions options, Exception failure) {
    try {
      var meaning = options.failures().of(failure);
      return meaning == null ? FailureMeaning.UNKNOWN : meaning;
    } catch (RuntimeException ruleFailed) {
      return FailureMeaning.UNKNOWN;
    }
  }
}
