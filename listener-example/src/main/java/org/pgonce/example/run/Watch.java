package org.pgonce.example.run;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.pgonce.example.run.Tally.Counts;

/** Follows the work until it is done, shows how it stands, and gives up where nothing moves. */
final class Watch {

  private static final Duration TICK = Duration.ofMillis(50);
  private static final Duration COUNT = Duration.ofMillis(500);

  private final Console console;
  private final Tally tally;
  private final Writers writers;
  private final Listeners listeners;
  private final Mishap mishap;
  private long counted = System.nanoTime() - COUNT.toNanos();
  private long moved = System.nanoTime();
  private long movement = -1;

  /** What befalls the run while it works. */
  interface Mishap {

    Mishap NONE =
        new Mishap() {
          @Override
          public void step(long handled) {}

          @Override
          public String soFar() {
            return "";
          }
        };

    /** May strike, now that so many posts are written. */
    void step(long handled) throws InterruptedException;

    /** What has befallen so far, for the progress line. */
    String soFar();
  }

  Watch(Console console, Tally tally, Writers writers, Listeners listeners, Mishap mishap) {
    this.console = console;
    this.tally = tally;
    this.writers = writers;
    this.listeners = listeners;
    this.mishap = mishap;
  }

  /**
   * What is waited for.
   *
   * @param posts below so many it is not reached
   * @param patience how long nothing may move
   */
  record Goal(long posts, Predicate<Counts> reached, Duration patience) {

    /** So many posts, within which nothing stands still for a minute. */
    static Goal posts(long posts) {
      return new Goal(posts, counts -> counts.posts() >= posts, Duration.ofSeconds(60));
    }
  }

  /** Waits for the goal; false if it is given up because nothing moves. */
  boolean until(Goal goal) throws InterruptedException {
    while (true) {
      writers.check();
      listeners.check();
      var atMost = tally.atMost();
      mishap.step(atMost);
      if (atMost >= goal.posts() || System.nanoTime() - counted >= COUNT.toNanos()) {
        var counts = tally.count();
        counted = System.nanoTime();
        var stalled = isStalled(counts, goal.patience());
        if (goal.reached().test(counts) || stalled) {
          console.endProgress(line(counts));
          return goal.reached().test(counts);
        }
        console.progress(line(counts));
      }
      LockSupport.parkNanos(TICK.toNanos());
    }
  }

  private boolean isStalled(Counts counts, Duration patience) {
    var now = counts.posts() + writers.inserted();
    if (now != movement) {
      movement = now;
      moved = System.nanoTime();
    }
    return System.nanoTime() - moved > patience.toNanos();
  }

  private String line(Counts counts) {
    return "inserted %s | handled %s %s | backlog %s%s | p50 %s p99 %s"
        .formatted(
            Text.number(writers.inserted()),
            Text.number(counts.posts()),
            Text.byPlace(counts.byPlace()),
            Text.number(Math.max(0, writers.inserted() - counts.posts())),
            mishap.soFar(),
            wait(counts, 50),
            wait(counts, 99));
  }

  private static String wait(Counts counts, int percentile) {
    var waits = counts.waits();
    return waits.getTotalCount() == 0 ? "-" : Text.time(waits.getValueAtPercentile(percentile));
  }
}
