package org.pgonce.guards;

import java.util.concurrent.Callable;
import org.pgonce.PgOnceException;

/**
 * The steps of one run of a sequence, with a recovery point after each: its result is committed,
 * and a rerun with the same key gives the stored results and does what is missing. {@link
 * Guards#run} runs a sequence. For the thread of the run.
 *
 * <pre>{@code
 * var shipped = guards.run(FULFILMENT, "order-42", order, steps -> {
 *   var receipt = steps.once("charge", Receipt.class, () -> bank.charge(order));        // never twice
 *   var label = steps.repeatable("label", Label.class, () -> carrier.label(order));     // twice after a crash within
 *   steps.once("mail", () -> mail.send(order, receipt, label));
 *   return new Shipped(receipt.id(), label.number());
 * });
 * }</pre>
 *
 * <p>A run that meets another one at work returns {@link GuardResult.InProgress}; nobody waits. A
 * run holds its sequence from step to step, each time for {@link GuardOptions#longestCall()} of the
 * database's clock. After that long without a step another run may take it over, whether the first
 * is dead or not. What the first one then still does as a repeatable step happens twice, and it is
 * told so at its end; a step that happens at most once stays so. A run that ends in an exception
 * gives its sequence back at once, and can be resumed at once.
 *
 * <p>What happens between the steps is done again in each run, so keep it to looking and deciding.
 * Steps are known by their names: one may be added, one that others have completed must not change
 * its meaning.
 *
 * <p>A sequence takes connections from the data source for short transactions of its own: one to
 * begin, one per repeatable step, two per step that happens at most once, one to end; none is held
 * while a step runs.
 */
public interface Steps {

  /** What a sequence does. */
  @FunctionalInterface
  interface Body<R> {
    R run(Steps steps) throws Exception;
  }

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
   * @throws IllegalArgumentException if there is no such name, the run had this step already, or
   *     nothing could be decoded as the type
   * @throws OutcomeNotRecordedException if it was made, and that could not be stored
   * @throws PgOnceException if it was done, but its result is not there or cannot be read. Also if
   *     it could not be begun: then the call was not made
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
