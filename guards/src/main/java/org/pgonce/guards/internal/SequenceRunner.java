package org.pgonce.guards.internal;

import org.pgonce.guards.FailureMeaning;
import org.pgonce.guards.GuardResult;
import org.pgonce.guards.OutcomeNotRecordedException;
import org.pgonce.guards.StepNotDoneException;
import org.pgonce.guards.Steps;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Takes a sequence, runs its body, and gives it back with what it came to. Thread-safe. */
final class SequenceRunner {

  private static final Logger LOG = LoggerFactory.getLogger(SequenceRunner.class);

  private final GuardStore store;

  SequenceRunner(GuardStore store) {
    this.store = store;
  }

  <R> GuardResult<R> run(Attempt run, Class<R> type, Steps.Body<R> body) {
    var found = store.beginSequence(run);
    if (found.isEmpty()) {
      return new GuardResult.InProgress<>(run.key(), null);
    }
    var head = found.get().head().requireRequest(run.fingerprint());
    if (!head.isBegunBy(run)) {
      return head.result(store.codec(), type);
    }
    var steps = new SequenceRun(store, run, found.get().steps());
    R response;
    try {
      response = body.run(steps);
    } catch (StepNotDoneException e) {
      giveBack(run, steps, e);
      // It holds no response of whatever type, as it is not Succeeded.
      @SuppressWarnings("unchecked")
      var result = (GuardResult<R>) e.result();
      return result;
    } catch (OutcomeNotRecordedException e) {
      giveBack(run, steps, e);
      throw e;
    } catch (Exception e) {
      if (steps.isLost()) {
        GuardStore.passOnInterrupt(e);
        return new GuardResult.InProgress<>(run.key(), null);
      }
      return store.finishFailed(run, CallOutcome.threw(e, FailureMeaning.NO_EFFECT), type, e);
    } catch (Error e) {
      giveBack(run, steps, e);
      throw e;
    }
    var outcome = CallOutcome.returned(store.codec(), response, type);
    var unused = store.finish(run, outcome, response);
    return new GuardResult.Succeeded<>(run.key(), response, false, outcome.error());
  }

  /** So that the next run need not wait until this one is taken for dead. */
  private void giveBack(Attempt run, SequenceRun steps, Throwable reason) {
    if (steps.isLost()) {
      return;
    }
    try {
      var outcome = CallOutcome.threw(reason, FailureMeaning.NO_EFFECT);
      var unused = store.finish(run, outcome, null);
    } catch (OutcomeNotRecordedException e) {
      LOG.warn("pgonce: {}", e.getMessage());
    }
  }
}
