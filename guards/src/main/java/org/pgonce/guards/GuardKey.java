package org.pgonce.guards;

import java.util.Objects;
import org.pgonce.internal.store.ChannelNames;

/**
 * Where a guard, a sequence or one of its steps is stored. Keys are compared to the letter, and
 * seen by whoever may look at {@code pgonce_guards.guard_status}: no secrets.
 *
 * @param scope of the guard or the sequence
 * @param key 1 to 500 characters, without NUL
 * @param step of a sequence, named as a scope is; empty for the sequence itself and for a guard
 */
public record GuardKey(String scope, String key, String step) {

  /**
   * Checks them.
   *
   * @throws IllegalArgumentException if one of them is not as above
   */
  public GuardKey {
    Objects.requireNonNull(scope, "scope");
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(step, "step");
    ChannelNames.requireValid("guard scope", scope);
    var length = key.codePointCount(0, key.length());
    if (length < 1 || length > 500) {
      throw new IllegalArgumentException(
          "a key of guard " + scope + " has " + length + " characters: 1 to 500");
    }
    if (key.codePoints().anyMatch(c -> c == 0 || (c >= 0xD800 && c <= 0xDFFF))) {
      throw new IllegalArgumentException(
          "a key of guard "
              + scope
              + " holds a NUL character or a lone surrogate, which PostgreSQL cannot store");
    }
    if (!step.isEmpty()) {
      ChannelNames.requireValid("step", step);
    }
  }

  @Override
  public String toString() {
    return "guard " + scope + " key " + key + (step.isEmpty() ? "" : " step " + step);
  }
}
