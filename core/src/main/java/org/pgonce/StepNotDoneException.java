package org.pgonce;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A step of a sequence was not done. Let it pass, and {@link RecoveryPoints#run} gives its result;
 * catch it to go another way.
 */
public class StepNotDoneException extends Exception {

  private static final long serialVersionUID = 1L;

  private final transient GuardResult<?> result;

  /**
   * @param result of the step: any but Succeeded
   */
  public StepNotDoneException(String message, GuardResult<?> result, @Nullable Throwable cause) {
    super(Objects.requireNonNull(message, "message"), cause);
    this.result = Objects.requireNonNull(result, "result");
  }

  /** What there is of the step; InProgress if another run has the sequence now. */
  public GuardResult<?> result() {
    return result;
  }
}
