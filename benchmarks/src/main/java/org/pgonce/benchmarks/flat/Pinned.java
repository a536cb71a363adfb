package org.pgonce.benchmarks.flat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.work.Contender;
import org.pgonce.benchmarks.work.Entrant;

/**
 * Each entrant in turn handles what is stored while somebody holds a transaction open. There are
 * always some that wait, and never many.
 */
public final class Pinned {

  private static final int MOST_AT_ONCE = 10_000;
  private static final Duration LOOK = Duration.ofMillis(5);

  private final List<Curve> all;
  private final int count;
  private final int atOnce;
  private final Duration atMost;
  private final Consumer<String> log;

  /**
   * A comparison that has yet to run.
   *
   * @param count notifications of a turn
   * @param atMost how long a turn may take: one that comes to a standstill is ended then
   */
  public Pinned(List<Entrant> entrants, int count, Duration atMost, Consumer<String> log) {
    this.all = entrants.stream().map(Curve::new).toList();
    this.count = count;
    this.atOnce = Math.min(MOST_AT_ONCE, count / 2);
    this.atMost = atMost;
    this.log = log;
  }

  /** Runs it, after a short round that is not measured. */
  public List<Curve> run(int rounds) throws Exception {
    for (var each : all) {
      var unused = progress(each.entrant(), Math.min(count, 2 * atOnce));
    }
    for (var round = 1; round <= rounds; round++) {
      var order = new ArrayList<>(all);
      Collections.rotate(order, round); // nobody is always first
      for (var each : order) {
        var progress = progress(each.entrant(), count);
        each.add(progress);
        log.accept(
            "round %d  %-24s %s handled, the last tenth at %.2f of the first"
                .formatted(
                    round,
                    each.entrant().label(),
                    Table.whole(progress.count()),
                    each.last().latest() / each.first().latest()));
      }
    }
    return all;
  }

  private Progress progress(Entrant entrant, int count) throws Exception {
    var progress = new Progress(count, Curve.SLICES);
    var contender = entrant.open();
    var stored = 0;
    try (contender) {
      contender.settle();
      var pin = new Pin(entrant.database());
      try {
        contender.fill(1, atOnce);
        contender.start(progress::started);
        stored = feed(contender, progress, count);
      } finally {
        pin.close();
      }
    }
    entrant.requireNothingLost(stored, contender.left());
    return progress;
  }

  /** Returns how many it has stored in all. */
  private int feed(Contender contender, Progress progress, int count) throws Exception {
    var stored = atOnce;
    var begun = System.nanoTime();
    while (!progress.isComplete() && System.nanoTime() - begun < atMost.toNanos()) {
      // One slice more than is counted, so that the last does not wait for work.
      if (stored - progress.count() < atOnce && stored < count + 2 * atOnce) {
        contender.fill(stored + 1, atOnce);
        stored += atOnce;
      } else {
        LockSupport.parkNanos(LOOK.toNanos());
      }
    }
    return stored;
  }
}
