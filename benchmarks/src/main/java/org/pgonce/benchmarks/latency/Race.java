package org.pgonce.benchmarks.latency;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.pgonce.benchmarks.figures.MiscountException;
import org.pgonce.benchmarks.work.Entrant;

/** Measures the entrants in turn, several times, each alone. For one thread. */
public final class Race {

  private static final Duration BOUND = Duration.ofSeconds(30);

  private final List<Latencies> all;
  private final Pace pace;
  private final Consumer<String> log;
  private long nextId = 1;

  /**
   * How fast, and for how long.
   *
   * @param perSecond pieces of work that are stored per second
   * @param seconds how long each turn is measured, after one second that is not
   * @param warmUpSeconds how long each entrant runs before
   * @param warmUpPerSecond how much is stored then
   */
  public record Pace(int perSecond, int seconds, int warmUpSeconds, int warmUpPerSecond) {}

  public Race(List<Entrant> entrants, Pace pace, Consumer<String> log) {
    this.all = entrants.stream().map(Latencies::new).toList();
    this.pace = pace;
    this.log = log;
  }

  /**
   * Runs it. Before the first round each entrant has a turn that is not measured, of many pieces of
   * work: what is compared is how they are in a service that has been up for a while. At that pace
   * a listener of pgonce would look by itself, and what it does when it is woken, as in the rounds,
   * would be code that has hardly run: so each commit wakes it there.
   */
  public List<Latencies> run(int rounds) throws Exception {
    if (pace.warmUpSeconds > 0) {
      for (var each : all) {
        var unused =
            timed(
                each.entrant().wokenByEachCommit(),
                Math.max(pace.perSecond, pace.warmUpPerSecond),
                pace.warmUpSeconds);
      }
    }
    for (var round = 1; round <= rounds; round++) {
      var order = new ArrayList<>(all);
      Collections.rotate(order, round); // nobody is always first
      for (var each : order) {
        // The first second is left out.
        var stopwatch = timed(each.entrant(), pace.perSecond, pace.seconds + 1);
        var told = each.add(stopwatch.latencies(pace.perSecond));
        log.accept("round %d  %-24s %s".formatted(round, each.entrant().label(), told));
      }
    }
    return all;
  }

  private Stopwatch timed(Entrant entrant, int perSecond, int seconds) throws Exception {
    var rows = perSecond * seconds;
    var firstId = nextId;
    nextId += rows;
    var stopwatch = new Stopwatch(firstId, rows);
    try (var contender = entrant.open()) {
      contender.start(stopwatch::started);
      // Each at a point of its own interval. At even times they would meet what a contender does
      // every so often always, or never. The same points in each turn.
      var points = new Random(rows);
      var interval = Duration.ofSeconds(1).toNanos() / perSecond;
      var begun = System.nanoTime();
      for (var row = 0; row < rows; row++) {
        awaitTime(begun + row * interval + points.nextLong(interval));
        contender.store(firstId + row);
        stopwatch.committed(firstId + row);
      }
      if (!stopwatch.awaitAll(BOUND)) {
        throw new MiscountException(
            entrant.label() + " has not handled every row " + BOUND + " after the last");
      }
      entrant.requireEffects(rows);
    }
    return stopwatch;
  }

  private static void awaitTime(long nanoTime) {
    for (var left = nanoTime - System.nanoTime(); left > 0; left = nanoTime - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }
}
