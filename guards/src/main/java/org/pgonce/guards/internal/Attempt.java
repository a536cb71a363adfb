package org.pgonce.guards.internal;

import java.util.UUID;
import org.pgonce.guards.FailureMeaning;
import org.pgonce.guards.GuardKey;
import org.pgonce.guards.GuardOptions;

/**
 * One attempt at a call, a sequence or a step.
 *
 * @param kind CALL or SEQUENCE
 * @param fingerprint of the request
 * @param token tells this attempt from all others
 */
record Attempt(GuardKey key, String kind, String fingerprint, UUID token, GuardOptions options) {

  static Attempt at(GuardKey key, String kind, String fingerprint, GuardOptions options) {
    return new Attempt(key, kind, fingerprint, UUID.randomUUID(), options);
  }

  /** The outcome where the call threw; a rule that fails itself, and is told, leaves it open. */
  CallOutcome threw(Exception failure) {
    FailureMeaning meaning;
    try {
      meaning = options.failures().of(failure);
    } catch (RuntimeException | Error ruleFailed) {
      if (ruleFailed != failure) { // it may throw what it was given
        failure.addSuppressed(ruleFailed);
      }
      meaning = FailureMeaning.UNKNOWN;
    }
    return CallOutcome.threw(failure, meaning == null ? FailureMeaning.UNKNOWN : meaning);
  }
}
