package org.pgonce.guards;

import java.util.Objects;

/**
 * A step of a sequence was not done. Let it pass, and {@link Guards#run} gives its result; catch it
 * to go another way.
 */
public class StepNotDoneException extends Exception {

  private static final long serialVersionUID = 1L;

  private final transient GuardResult<?> result;

  /**
   * @param result of the step
   * @throws IllegalArgumentException if that is Succeeded
   */
  public StepNotDoneException(String message, GuardResult<?> result) {
    super(
        Objects.requireNonNull(message, "message"),
        Objects.requireNonNull(result, "result").cause());
    if (result instanceof GuardResult.Succeeded) {
      throw new IllegalArgumentException(
          "a step that was done is no reason to end: " + result.key());
    }
    this.result = result;
  }

  /** What there is of the step; InProgress if another run has the sequence now. */
  public GuardResult<?> result() {
    return result;
  }
}
