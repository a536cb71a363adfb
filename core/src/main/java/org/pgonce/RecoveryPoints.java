package org.pgonce;

import java.util.Objects;
import javax.sql.DataSource;
import org.pgonce.internal.guard.GuardStore;
import org.pgonce.internal.guard.SequenceDesk;

/**
 * Runs sequences of steps that go on after a crash where they stood. After each step its result is
 * committed; a rerun with the same key gives the stored results and does what is missing.
 *
 * <pre>{@code
 * var shipped = pgonce.recoveryPoints().run(FULFILMENT, "order-42", order, steps -> {
 *   var receipt = steps.once("charge", Receipt.class, () -> bank.charge(order));        // never twice
 *   var label = steps.repeatable("label", Label.class, () -> carrier.label(order));     // twice after a crash within
 *   steps.once("mail", () -> mail.send(order, receipt, label));
 *   return new Shipped(receipt.id(), label.number());
 * });
 * }</pre>
 *
 * <p>Who begins a sequence that is being run is told so ({@link GuardResult.InProgress}); nobody
 * waits. A run holds its sequence from step to step, each time for {@link
 * GuardOptions#longestCall()} of the database's clock. Dead or not, after that long without a word
 * another run may take it over: what the first one then still does as a repeatable step happens
 * twice, and it is told so at its end; a step that happens at most once stays so. A run that ends
 * in an exception gives its sequence back at once, and can be resumed at once.
 *
 * <p>What happens between the steps is done again in each run, so keep it to looking and deciding.
 * Steps are known by their names: one may be added, one that others have completed must not change
 * its meaning.
 *
 * <p>A sequence takes connections from the data source for short transactions of its own: one to
 * begin, one per repeatable step, two per step that happens at most once, one to end; none is held
 * while a step runs. Safe for use by several threads. The role needs {@code pgonce_guard} or {@code
 * pgonce_listener}.
 */
public final class RecoveryPoints {

  private final SequenceDesk desk;

  RecoveryPoints(GuardStore store) {
    this.desk = new SequenceDesk(store);
  }

  /** Without a {@link PgOnce}: with the standard codec, and this process's id as its name. */
  public static RecoveryPoints using(DataSource dataSource) {
    return PgOnce.using(dataSource).recoveryPoints();
  }

  /** What a sequence does. */
  @FunctionalInterface
  public interface Body<R> {
    R run(Steps steps) throws Exception;
  }

  /**
   * Runs the sequence from where it stands to its end, or says what keeps it from that.
   *
   * @return Succeeded with the body's result, or with the stored one of an earlier run; InProgress
   *     if another run has it; Unknown or Failed, as the step that was not done; Failed and
   *     repeatable, with the cause, if the body threw anything else: the next run resumes. An
   *     interrupt of the body is given back to the thread
   * @throws IllegalArgumentException if the key is not as {@link GuardKey} says, or the request
   *     cannot be encoded; before any SQL runs
   * @throws RequestMismatchException if the key was begun with another request
   * @throws OutcomeNotRecordedException if the body, or a step that happens at most once, came to
   *     its end and that could not be stored
   * @throws PgOnceException if the database refuses or cannot be reached; nothing was run then
   */
  public <Q, R> GuardResult<R> run(Sequence<Q, R> sequence, String key, Q request, Body<R> body) {
    Objects.requireNonNull(sequence, "sequence");
    var where = sequence.key(key);
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(body, "body");
    return desk.run(sequence, where, request, body);
  }
}
