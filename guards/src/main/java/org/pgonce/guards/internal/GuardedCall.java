package org.pgonce.guards.internal;

import java.util.concurrent.Callable;
import org.pgonce.guards.FailureMeaning;
import org.pgonce.guards.GuardResult;

/**
 * The call between two transactions: begun and committed, made, its outcome committed. A call that
 * was begun is made here or nowhere.
 *
 * @param attempt was begun
 * @param type of the response
 */
record GuardedCall<R>(GuardStore store, Attempt attempt, Class<R> type) {

  /** Makes the call, and stores what it came to. */
  GuardResult<R> make(Callable<R> call) {
    R response;
    try {
      response = call.call();
    } catch (Exception e) {
      return store.finishFailed(attempt, attempt.threw(e), type, e);
    } catch (Error e) {
      // The worker is to see it as it is; what is kept says that the outcome is unknown.
      try {
        var unused = store.finish(attempt, CallOutcome.threw(e, FailureMeaning.UNKNOWN), null);
      } catch (RuntimeException | Error unrecorded) {
        e.addSuppressed(unrecorded);
      }
      throw e;
    }
    var outcome = CallOutcome.returned(store.codec(), response, type);
    var stored = store.finish(attempt, outcome, response);
    // A probe or a person may have been quicker; the first answer is what repeats give.
    return stored.isSettledByItsCall()
        ? new GuardResult.Succeeded<>(attempt.key(), response, false, outcome.error())
        : stored.result(store.codec(), type);
  }
}
