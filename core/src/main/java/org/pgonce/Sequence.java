package org.pgonce;

import java.util.Objects;
import org.pgonce.internal.store.ChannelNames;

/**
 * A named sequence of steps that goes on after a crash where it stood. Defined in code, once,
 * usually as a constant; immutable and safe for use by several threads. {@link RecoveryPoints} runs
 * it.
 *
 * @param scope what the keys belong to, named as {@link Channel#name()} allows. It must not be the
 *     scope of a guard
 * @param requestType of what is asked for, as in {@link Guard}
 * @param responseType of the result of the whole
 * @param options for the whole and each step: {@link GuardOptions#longestCall()} is the most that
 *     one step may take, with what lies before it; after that long without a word another run may
 *     take over
 */
public record Sequence<Q, R>(
    String scope, Class<Q> requestType, Class<R> responseType, GuardOptions options) {

  public Sequence {
    Objects.requireNonNull(scope, "scope");
    ChannelNames.requireValid("sequence scope", scope);
    Objects.requireNonNull(requestType, "requestType");
    Objects.requireNonNull(responseType, "responseType");
    Objects.requireNonNull(options, "options");
  }

  /**
   * With {@link GuardOptions#DEFAULT}.
   *
   * @throws IllegalArgumentException if the scope is not as a channel's name must be
   */
  public static <Q, R> Sequence<Q, R> of(
      String scope, Class<Q> requestType, Class<R> responseType) {
    return new Sequence<>(scope, requestType, responseType, GuardOptions.DEFAULT);
  }

  public Sequence<Q, R> withOptions(GuardOptions options) {
    return new Sequence<>(scope, requestType, responseType, options);
  }

  /**
   * Where one of them is stored.
   *
   * @throws IllegalArgumentException if the key is not as {@link GuardKey} says
   */
  public GuardKey key(String key) {
    return new GuardKey(scope, key, "");
  }
}
