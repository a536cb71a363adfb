package org.pgonce.test;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.PgOnceException;

/**
 * Tries whether a handler's effects are exactly once, though faults happen at the worst moments of
 * its runs. The faults are real: the server ends the session, the connection is cut.
 *
 * <p>Publish first: one notification for a run without a fault, and one more for each fault. They
 * should have the same number of effects each, at least one, and not stand in each other's way. A
 * handler of a list gets lists of one, whatever its options say.
 *
 * <p>A fault comes when the handler has done its work, before pgonce commits. Then the handler runs
 * again, where a listener would run it again. Without any fault named, all four are tried. For
 * EXACTLY_ONCE and AT_LEAST_ONCE.
 *
 * @param <T> the channel's payload type
 */
public final class Chaos<T> {

  private final PgOnceTester tester;
  private final Drain.Of<T> what;
  private final Set<Fault> faults = EnumSet.noneOf(Fault.class);

  Chaos(PgOnceTester tester, Drain.Of<T> what) {
    var mode = what.channel().mode();
    if (mode != Mode.EXACTLY_ONCE && mode != Mode.AT_LEAST_ONCE) {
      throw new IllegalArgumentException(
          "channel %s is %s, which never runs a handler again: chaos is for EXACTLY_ONCE and AT_LEAST_ONCE"
              .formatted(what.channel().name(), mode));
    }
    this.tester = tester;
    this.what = what.oneByOne();
  }

  /** The server ends the session of the handler's transaction: all in it is undone. */
  public Chaos<T> killBeforeCommit() {
    faults.add(Fault.KILL_BEFORE_COMMIT);
    return this;
  }

  /**
   * The server commits, and the connection is cut before its answer arrives. The handler's
   * connection goes through a proxy for that, without TLS, to where the DataSource says that it
   * connects.
   */
  public Chaos<T> loseCommitAnswer() {
    faults.add(Fault.LOSE_COMMIT_ANSWER);
    return this;
  }

  /**
   * The handler's session, or its lease, ends while it still runs, as of a process that is frozen
   * or cut off. The notification is handled a second time, whole and on another thread, before the
   * first run returns.
   */
  public Chaos<T> runTwice() {
    faults.add(Fault.RUN_TWICE);
    return this;
  }

  /** The handler throws after its work, once. */
  public Chaos<T> failOnceAfter() {
    faults.add(Fault.FAIL_ONCE_AFTER);
    return this;
  }

  /**
   * Handles a notification without a fault, and then one with each fault, in the order of the
   * methods above. Each must change the count as much as the one without a fault.
   *
   * @param sql a query that gives one number: of all effects so far
   * @throws AssertionError if one does not, or is not handled in the end; it names all of them
   * @throws IllegalStateException if too few are due, or the run without a fault has no effect
   */
  public void assertEffectsOnce(String sql) {
    Objects.requireNonNull(sql, "sql");
    assertEffectsOnce(() -> tester.count(sql));
  }

  /** As {@link #assertEffectsOnce(String)}, for effects that are not in the database. */
  public void assertEffectsOnce(LongSupplier count) {
    Objects.requireNonNull(count, "count");
    var one = run(null, count);
    if (one.trouble() != null) {
      throw new IllegalStateException(
          "the handler of channel %s fails without a fault".formatted(what.channel().name()),
          one.trouble());
    }
    if (one.effects() < 1) {
      throw new IllegalStateException(
          "the handler of channel %s changed the count by %d where no fault was: count what it does"
              .formatted(what.channel().name(), one.effects()));
    }
    var outcomes = new ArrayList<Outcome>();
    for (var fault : faults.isEmpty() ? EnumSet.allOf(Fault.class) : faults) {
      outcomes.add(run(fault, count));
    }
    if (outcomes.stream().anyMatch(outcome -> !outcome.isAs(one))) {
      throw failure(one, outcomes);
    }
  }

  private Outcome run(@Nullable Fault fault, LongSupplier count) {
    try (var run = new ChaosRun<>(tester, what, fault)) {
      var before = count.getAsLong();
      Throwable trouble = null;
      try {
        run.toItsEnd();
      } catch (PgOnceException e) {
        throw e; // the database, not the handler
      } catch (AssertionError | Exception e) {
        trouble = e;
      }
      return new Outcome(fault, run.runs(), count.getAsLong() - before, trouble);
    }
  }

  /**
   * What a notification has come to.
   *
   * @param effects by how much the count has changed
   * @param trouble why it is not handled in the end
   */
  private record Outcome(
      @Nullable Fault fault, int runs, long effects, @Nullable Throwable trouble) {

    boolean isAs(Outcome other) {
      return trouble == null && effects == other.effects;
    }

    @Override
    public String toString() {
      return "%s: runs %d, effects %d%s"
          .formatted(
              fault == null ? "without a fault" : fault,
              runs,
              effects,
              trouble == null ? "" : ", and then: " + trouble.getMessage());
    }
  }

  private AssertionError failure(Outcome one, List<Outcome> outcomes) {
    var text = new StringBuilder();
    text.append(
        "the effects of the handler of channel %s are not exactly once:\n  %s"
            .formatted(what.channel().name(), one));
    outcomes.forEach(
        outcome -> text.append(outcome.isAs(one) ? "\n  " : "\n  WRONG ").append(outcome));
    text.append(
        "\nMore effects: it does something outside of tx (another connection, autocommit, a call without the delivery key)."
            + " Fewer: it takes something for done that was undone (kept in memory, or outside).");
    var failure = new AssertionError(text.toString());
    outcomes.stream()
        .map(Outcome::trouble)
        .filter(Objects::nonNull)
        .forEach(failure::addSuppressed);
    return failure;
  }

  /** Too few notifications are due. */
  static PgOnceException tooFew(String channel) {
    return new PgOnceException(
        "chaos needs a notification of channel %s that is due for the run without a fault, and one for each fault: publish more"
            .formatted(channel));
  }
}
