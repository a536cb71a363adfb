package org.pgonce.internal.guard;

import org.jspecify.annotations.Nullable;
import org.pgonce.FailureMeaning;
import org.pgonce.GuardAnswer;
import org.pgonce.GuardOutcome;
import org.pgonce.internal.settle.Failures;
import org.pgonce.internal.store.StorableText;
import org.pgonce.spi.PayloadCodec;

/** What a call came to, as it is stored. */
record Ending(
    GuardOutcome outcome, boolean repeatable, @Nullable String response, @Nullable String error) {

  /**
   * It returned. A response that cannot be stored must not cost the fact that the call was made:
   * then the error says why it is missing.
   */
  static <R> Ending returned(PayloadCodec codec, @Nullable R response, Class<R> type) {
    if (response == null) {
      return new Ending(GuardOutcome.SUCCEEDED, false, null, "the call returned null");
    }
    try {
      return new Ending(GuardOutcome.SUCCEEDED, false, encode(codec, response, type), null);
    } catch (RuntimeException | StackOverflowError e) {
      return new Ending(
          GuardOutcome.SUCCEEDED, false, null, "it could not be stored: " + Failures.inWords(e));
    }
  }

  static Ending threw(Throwable failure, FailureMeaning meaning) {
    return failed(meaning, Failures.inWords(failure));
  }

  static Ending failed(FailureMeaning meaning, String error) {
    return new Ending(
        meaning == FailureMeaning.UNKNOWN ? GuardOutcome.UNKNOWN : GuardOutcome.FAILED,
        meaning == FailureMeaning.NO_EFFECT,
        null,
        error);
  }

  /** As somebody else says; null if he cannot tell. */
  static <R> @Nullable Ending told(PayloadCodec codec, GuardAnswer<R> answer, Class<R> type) {
    if (answer instanceof GuardAnswer.Happened<R> happened) {
      return new Ending(
          GuardOutcome.SUCCEEDED, false, encode(codec, happened.response(), type), null);
    }
    if (answer instanceof GuardAnswer.DidNotHappen<R> not) {
      return failed(
          not.repeatable() ? FailureMeaning.NO_EFFECT : FailureMeaning.FINAL,
          Failures.storable(not.reason()));
    }
    return null;
  }

  /** For a database that refused the texts. */
  Ending withoutTexts(String reason) {
    return new Ending(outcome, repeatable, null, reason);
  }

  static <R> String encode(PayloadCodec codec, R response, Class<R> type) {
    return StorableText.requireStorable(codec.encode(response, type));
  }
}
