package org.pgonce.guards;

import java.util.Objects;
import org.pgonce.internal.store.ChannelNames;

/**
 * A named sequence of steps with a recovery point after each: its result is committed, and a rerun
 * with the same key gives the stored results and does what is missing. Defined in code, once,
 * usually as a constant; immutable and safe for use by several threads. {@link Guards#run} runs it.
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
 *
 * @param scope what the keys belong to, named as a channel is. It must not be the scope of a guard
 * @param requestType of what is asked for, as in {@link Guard}
 * @param responseType of the result of the whole
 * @param options for the whole and each step: {@link GuardOptions#longestCall()} is the most that
 *     one step may take, with what lies before it
 */
public record Sequence<Q, R>(
    String scope, Class<Q> requestType, Class<R> responseType, GuardOptions options) {

  /** What a sequence does. */
  @FunctionalInterface
  public interface Body<R> {
    R run(Steps steps) throws Exception;
  }

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
