package org.pgonce.guards.internal;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.pgonce.guards.GuardKey;
import org.pgonce.guards.GuardResult;
import org.pgonce.guards.StepNotDoneException;
import org.pgonce.guards.Steps;
import org.pgonce.internal.store.ChannelNames;

/** The steps of a sequence that this run holds. For the thread of the run. */
final class SequenceRun implements Steps {

  private final GuardStore store;
  private final Attempt run;
  private final Map<String, StoredGuard> found = new HashMap<>();
  private final Set<String> seen = new HashSet<>();
  private boolean lost;

  SequenceRun(GuardStore store, Attempt run, List<StoredGuard> steps) {
    this.store = store;
    this.run = run;
    steps.forEach(step -> found.put(step.state().key().step(), step));
  }

  /** Whether another run has taken the sequence over. */
  boolean isLost() {
    return lost;
  }

  @Override
  public <R> R once(String step, Class<R> type, Callable<R> call) throws StepNotDoneException {
    var key = next(step, type, call);
    var done = done(step);
    if (done != null) {
      return given(done.result(store.codec(), type));
    }
    var attempt = Attempt.at(key, "CALL", run.fingerprint(), run.options());
    var begun = store.beginStep(attempt, run).orElseThrow(() -> lost(step));
    return given(
        begun.isBegunBy(attempt)
            ? new GuardedCall<>(store, attempt, type).make(call)
            : begun.result(store.codec(), type));
  }

  @Override
  public <R> R repeatable(String step, Class<R> type, Callable<R> call) throws Exception {
    var key = next(step, type, call);
    var done = done(step);
    if (done != null) {
      return given(done.result(store.codec(), type));
    }
    var response =
        Objects.requireNonNull(
            call.call(), () -> key + " returned null, which cannot be stored as its result");
    var outcome = CallOutcome.succeeded(store.codec(), response, type);
    var unused = store.stepDone(key, run, outcome, response).orElseThrow(() -> lost(step));
    return response;
  }

  /** What an earlier run has stored of the step; null if it may be begun. */
  private @Nullable StoredGuard done(String step) {
    var stored = found.get(step);
    return stored == null || stored.state().repeatable() ? null : stored;
  }

  private GuardKey next(String step, Class<?> type, Callable<?> call) {
    Objects.requireNonNull(step, "step");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(call, "call");
    ChannelNames.requireValid("step", step);
    store.requireReadable(type);
    if (!seen.add(step)) {
      throw new IllegalArgumentException(
          run.key()
              + " has step "
              + step
              + " twice in one run: the second would get the first one's result; give each a name of its own");
    }
    return new GuardKey(run.key().scope(), run.key().key(), step);
  }

  private StepNotDoneException lost(String step) {
    lost = true;
    return new StepNotDoneException(
        "%s step %s: another run has taken the sequence over, as nothing was heard of this one for %s"
            .formatted(run.key(), step, run.options().longestCall()),
        new GuardResult.InProgress<>(run.key(), null));
  }

  private static <R> R given(GuardResult<R> result) throws StepNotDoneException {
    if (result instanceof GuardResult.Succeeded<R> succeeded) {
      return succeeded.orElseThrow();
    }
    throw new StepNotDoneException(
        result.key() + " was not done: " + result.getClass().getSimpleName(), result);
  }
}
