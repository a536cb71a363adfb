package org.pgonce.internal.guard;

import java.util.UUID;
import org.pgonce.FailureMeaning;
import org.pgonce.GuardKey;
import org.pgonce.GuardResult;
import org.pgonce.OutcomeNotRecordedException;
import org.pgonce.RecoveryPoints;
import org.pgonce.Sequence;
import org.pgonce.StepNotDoneException;
import org.pgonce.internal.guard.GuardStatements.Beginning;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Takes a sequence, runs its body, and gives it back with what it came to. Thread-safe. */
public final class SequenceDesk {

  private static final Logger LOG = LoggerFactory.getLogger(SequenceDesk.class);

  private final GuardStore store;

  public SequenceDesk(GuardStore store) {
    this.store = store;
  }

  public <Q, R> GuardResult<R> run(
      Sequence<Q, R> sequence, GuardKey key, Q request, RecoveryPoints.Body<R> body) {
    var fingerprint = Fingerprint.of(store.codec(), request, sequence.requestType());
    var run = new Beginning(key, "SEQUENCE", fingerprint, UUID.randomUUID(), sequence.options());
    var there = store.beginSequence(run);
    if (there.isEmpty()) {
      return new GuardResult.InProgress<>(key, null);
    }
    var head = there.get().head().requireRequest(fingerprint);
    if (!head.isBegunBy(run.token())) {
      return Results.of(head, store.codec(), sequence.responseType());
    }
    var steps = new SequenceRun(store, run, there.get().steps());
    R response;
    try {
      response = body.run(steps);
    } catch (StepNotDoneException e) {
      giveBack(run, steps, e);
      return Results.withoutResponse(e.result());
    } catch (Exception e) {
      if (e instanceof InterruptedException) {
        Thread.currentThread().interrupt();
      }
      return failed(run, steps, e, sequence);
    } catch (Error e) {
      giveBack(run, steps, e);
      throw e;
    }
    var ending = Ending.returned(store.codec(), response, sequence.responseType());
    var unused = store.finish(key, run.token(), ending, response);
    return new GuardResult.Succeeded<>(key, response, false, ending.error());
  }

  private <R> GuardResult<R> failed(
      Beginning run, SequenceRun steps, Exception failure, Sequence<?, R> sequence) {
    if (steps.isLost()) {
      return new GuardResult.InProgress<>(run.key(), null);
    }
    try {
      var ending = Ending.threw(failure, FailureMeaning.NO_EFFECT);
      return Results.of(
          store.finish(run.key(), run.token(), ending, null),
          store.codec(),
          sequence.responseType(),
          failure);
    } catch (OutcomeNotRecordedException e) {
      e.addSuppressed(failure);
      throw e;
    }
  }

  /** So that the next run need not wait until this one is taken for dead. */
  private void giveBack(Beginning run, SequenceRun steps, Throwable reason) {
    if (steps.isLost()) {
      return;
    }
    try {
      var ending = Ending.threw(reason, FailureMeaning.NO_EFFECT);
      var unused = store.finish(run.key(), run.token(), ending, null);
    } catch (OutcomeNotRecordedException e) {
      LOG.warn("pgonce: {}", e.getMessage());
    }
  }
}
