package org.pgonce.guards;

import java.util.Objects;
import org.pgonce.internal.store.ChannelNames;

/**
 * What is done at most once per key: a payment, a mail, a business step, a sequence of steps.
 * Defined in code, once, usually as a constant; immutable and safe for use by several threads.
 * {@link Guards} does it.
 *
 * @param scope what the keys belong to, named as a channel is: 1 to 48 of a to z, 0 to 9, {@code
 *     _}, {@code .} and {@code -}, first a letter; another guard with the same scope is the same
 *     guard
 * @param requestType of what is asked for. Only a hash of the encoded request is stored: the same
 *     key with another request is an error. So let its encoding say the same each time: records,
 *     lists and maps do, sets need not. A component that is null counts as one that is not there
 * @param responseType of the result that is stored and that a repeat gives
 * @param options of a sequence: for the whole and each step; {@link GuardOptions#longestCall()} is
 *     the most that one step may take, with what lies before it
 */
public record Guard<Q, R>(
    String scope, Class<Q> requestType, Class<R> responseType, GuardOptions options) {

  public Guard {
    Objects.requireNonNull(scope, "scope");
    ChannelNames.requireValid("guard scope", scope);
    Objects.requireNonNull(requestType, "requestType");
    Objects.requireNonNull(responseType, "responseType");
    Objects.requireNonNull(options, "options");
  }

  /**
   * With {@link GuardOptions#DEFAULT}.
   *
   * @throws IllegalArgumentException if the scope is not as a channel's name must be
   */
  public static <Q, R> Guard<Q, R> of(String scope, Class<Q> requestType, Class<R> responseType) {
    return new Guard<>(scope, requestType, responseType, GuardOptions.DEFAULT);
  }

  public Guard<Q, R> withOptions(GuardOptions options) {
    return new Guard<>(scope, requestType, responseType, options);
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
