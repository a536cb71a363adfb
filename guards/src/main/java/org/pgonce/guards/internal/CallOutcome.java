package org.pgonce.guards.internal;

import org.jspecify.annotations.Nullable;
import org.pgonce.guards.FailureMeaning;
import org.pgonce.guards.GuardAnswer;
import org.pgonce.guards.GuardOutcome;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.store.StorableText;
import org.pgonce.spi.PayloadCodec;

/** What a call came to, as it is stored. */
record CallOutcome(
    GuardOutcome outcome, boolean repeatable, @Nullable String response, @Nullable String error) {

  /**
   * It returned.
   *
   * @throws RuntimeException if the response cannot be stored
   */
  static <R> CallOutcome succeeded(PayloadCodec codec, @Nullable R response, Class<R> type) {
    if (response == null) {
      return new CallOutcome(GuardOutcome.SUCCEEDED, false, null, "the call returned null");
    }
    var text = StorableText.requireJson("the response", codec.encode(response, type));
    return new CallOutcome(GuardOutcome.SUCCEEDED, false, text, null);
  }

  /**
   * It returned. A response that cannot be stored must not cost the fact that the call was made:
   * then the error says why it is missing.
   */
  static <R> CallOutcome returned(PayloadCodec codec, @Nullable R response, Class<R> type) {
    try {
      return succeeded(codec, response, type);
    } catch (RuntimeException | Error e) {
      return new CallOutcome(
          GuardOutcome.SUCCEEDED,
          false,
          null,
          "it could not be stored, so a person may give it (Guards.settle): "
              + Failures.inWords(e));
    }
  }

  static CallOutcome threw(Throwable failure, FailureMeaning meaning) {
    return failed(meaning, Failures.inWords(failure));
  }

  private static CallOutcome failed(FailureMeaning meaning, String error) {
    return new CallOutcome(
        meaning == FailureMeaning.UNKNOWN ? GuardOutcome.UNKNOWN : GuardOutcome.FAILED,
        meaning == FailureMeaning.NO_EFFECT,
        null,
        error);
  }

  /** As a probe or a person says; null if the answer is that it cannot tell. */
  static <R> @Nullable CallOutcome answered(
      PayloadCodec codec, GuardAnswer<R> answer, Class<R> type) {
    if (answer instanceof GuardAnswer.Happened<R> happened) {
      return succeeded(codec, happened.response(), type);
    }
    if (answer instanceof GuardAnswer.DidNotHappen<R> not) {
      return failed(
          not.repeatable() ? FailureMeaning.NO_EFFECT : FailureMeaning.FINAL,
          Failures.storable(not.reason()));
    }
    return null;
  }

  /** For a database that refused the texts; what failed is kept in letters that any has. */
  CallOutcome withoutTexts(String reason) {
    var kept = error == null ? reason : reason + ": " + Failures.inAscii(error);
    return new CallOutcome(outcome, repeatable, null, kept);
  }
}
