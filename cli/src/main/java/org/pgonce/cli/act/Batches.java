package org.pgonce.cli.act;

import java.util.List;
import java.util.function.LongFunction;
import java.util.function.ToLongFunction;
import org.pgonce.cli.terminal.FailedException;
import org.pgonce.cli.terminal.Terminal;
import org.pgonce.operations.internal.sql.RefusedException;

/**
 * A change in batches: each is a transaction and an entry of the operation log, so that no
 * transaction is long, and what was done before a failure stays done.
 *
 * @param what the command's name
 * @param done what stands behind the number, if it fails later: «dead letters were redriven»
 */
record Batches(Terminal terminal, String what, String done, Why why) {

  /** How many ids one batch has at most. */
  static final int SIZE = 10_000;

  /**
   * Runs all of them, the first one even if it is empty, so that a channel that is not there is
   * refused.
   *
   * @param total for the progress
   * @param next the ids behind one, in their order: those of one batch
   * @param change returns how many it has touched
   * @return how many are touched
   */
  long run(long total, LongFunction<List<Long>> next, ToLongFunction<List<Long>> change) {
    var touched = 0L;
    try {
      var last = Long.MIN_VALUE;
      while (true) {
        var batch = next.apply(last);
        touched += change.applyAsLong(batch);
        if (batch.size() < SIZE) {
          break;
        }
        last = batch.get(batch.size() - 1);
        terminal.progress("%s: %,d of %,d".formatted(what, touched, total));
      }
      terminal.progressEnds();
      return touched;
    } catch (RefusedException e) {
      throw touched == 0 || why.dryRun()
          ? e
          : new FailedException(
              "%s\n%,d %s before; give the command again to go on"
                  .formatted(e.getMessage(), touched, done),
              e);
    }
  }
}
