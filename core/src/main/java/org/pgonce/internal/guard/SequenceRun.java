package org.pgonce.internal.guard;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import org.pgonce.GuardKey;
import org.pgonce.GuardOutcome;
import org.pgonce.GuardResult;
import org.pgonce.StepNotDoneException;
import org.pgonce.Steps;
import org.pgonce.internal.guard.GuardStatements.Beginning;
import org.pgonce.internal.store.ChannelNames;

/** The steps of a sequence that this run holds. For the thread of the run. */
final class SequenceRun implements Steps {

  private final GuardStore store;
  private final Beginning run;
  private final Map<String, StoredGuard> found = new HashMap<>();
  private final Set<String> seen = new HashSet<>();
  private boolean lost;

  SequenceRun(GuardStore store, Beginning run, List<StoredGuard> steps) {
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
    var stored = found.get(step);
    if (stored != null && !stored.state().repeatable()) {
      return given(Results.of(stored, store.codec(), type));
    }
    var token = UUID.randomUUID();
    var begun = store.beginStep(beginning(key, token), run.token());
    if (begun.isEmpty()) {
      throw lost(step);
    }
    if (!begun.get().isBegunBy(token)) {
      return given(Results.of(begun.get(), store.codec(), type));
    }
    return given(new OwnCall<>(store, key, token, type, run.options()).make(call));
  }

  @Override
  public <R> R repeatable(String step, Class<R> type, Callable<R> call) throws Exception {
    var key = next(step, type, call);
    var stored = found.get(step);
    if (stored != null && !stored.state().repeatable()) {
      return given(Results.of(stored, store.codec(), type));
    }
    var response =
        Objects.requireNonNull(
            call.call(), () -> key + " returned null, which cannot be stored as its result");
    var ending =
        new Ending(
            GuardOutcome.SUCCEEDED, false, Ending.encode(store.codec(), response, type), null);
    var kept = store.stepDone(beginning(key, run.token()), ending, response);
    if (kept.isEmpty()) {
      throw lost(step);
    }
    return response;
  }

  private <R> GuardKey next(String step, Class<R> type, Callable<R> call) {
    Objects.requireNonNull(step, "step");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(call, "call");
    ChannelNames.requireValid("step", step);
    if (!seen.add(step)) {
      throw new IllegalArgumentException(
          run.key()
              + " has step "
              + step
              + " twice in one run: the second would get the first one's result; give each a name of its own");
    }
    return new GuardKey(run.key().scope(), run.key().key(), step);
  }

  private Beginning beginning(GuardKey key, UUID token) {
    return new Beginning(key, "CALL", run.fingerprint(), token, run.options());
  }

  private StepNotDoneException lost(String step) {
    lost = true;
    return new StepNotDoneException(
        "%s step %s: another run has taken the sequence over, as nothing was heard of this one for %s"
            .formatted(run.key(), step, run.options().longestCall()),
        new GuardResult.InProgress<>(run.key(), null),
        null);
  }

  private <R> R given(GuardResult<R> result) throws StepNotDoneException {
    if (result instanceof GuardResult.Succeeded<R> succeeded) {
      return succeeded.orElseThrow();
    }
    Exception cause = null;
    if (result instanceof GuardResult.Failed<R> failed) {
      cause = failed.cause();
    } else if (result instanceof GuardResult.Unknown<R> unknown) {
      cause = unknown.cause();
    }
    throw new StepNotDoneException(
        result.key() + " was not done: " + result.getClass().getSimpleName(), result, cause);
  }
}
