package org.pgonce.guards;

import java.util.concurrent.Callable;
import org.pgonce.PgOnceException;

/**
 * The steps of one run of a sequence. Each has a name; a step that an earlier run has completed is
 * not done again and gives its stored result. For the thread of the run.
 */
public interface Steps {

  /** Something to do that gives nothing. */
  @FunctionalInterface
  interface Action {
    void run() throws Exception;
  }

  /**
   * A step that happens at most once, as {@link Guards#once} does it: begun and committed before
   * the call, its result committed after it. Two short transactions.
   *
   * @param step its name, as a scope is named; once in a run
   * @param type of its result, which must not be null
   * @throws StepNotDoneException if it failed, or its outcome is not known: now, or in an earlier
   *     run. Also if another run has taken the sequence over
   * @throws IllegalArgumentException if there is no such name, or the run had this step already
   * @throws OutcomeNotRecordedException if it was made, and that could not be stored
   * @throws PgOnceException if it was done, but its result is not there or cannot be read
   */
  <R> R once(String step, Class<R> type, Callable<R> call) throws StepNotDoneException;

  /**
   * A step that may be repeated: after a crash within it, it is done again; once its result is
   * committed it is not. One short transaction.
   *
   * @param type of its result, which must not be null
   * @throws StepNotDoneException if another run has taken the sequence over: then this one has done
   *     the step, and its result is not kept
   * @throws IllegalArgumentException as {@link #once}; or if the result cannot be stored
   * @throws Exception whatever the call throws; the run ends, and another may resume here
   */
  <R> R repeatable(String step, Class<R> type, Callable<R> call) throws Exception;

  /** As {@link #once(String, Class, Callable)}, without a result. */
  default void once(String step, Action action) throws StepNotDoneException {
    var unused =
        once(
            step,
            Boolean.class,
            () -> {
              action.run();
              return true;
            });
  }

  /** As {@link #repeatable(String, Class, Callable)}, without a result. */
  default void repeatable(String step, Action action) throws Exception {
    var unused =
        repeatable(
            step,
            Boolean.class,
            () -> {
              action.run();
              return true;
            });
  }
}
