package org.pgonce.example;

import java.time.Duration;
import java.util.List;
import java.util.Random;

/** Kills listeners at random, while there is work that they could lose. For one thread. */
final class Killer {

  private final Plan plan;
  private final Random random;
  private final Listeners listeners;
  private int killed;
  private long lastKill = System.nanoTime();

  /** When listeners are to be killed. */
  sealed interface Plan {

    /** Whether the next kill is due. */
    boolean isDue(int killed, long handled, Duration sinceLastKill);

    /** How many kills the last rows wait for. */
    int promised();

    /** How many of so many listeners must be at work for one to be killed. */
    int leastAtWork(int listeners);
  }

  /**
   * At points drawn from the seed, in rows handled: so all of them fall into the work, on a slow
   * machine and on a fast one.
   */
  record AtPoints(List<Long> points) implements Plan {

    static AtPoints spread(int kills, long rows, Random random) {
      return new AtPoints(
          random.longs(kills, rows / 20, rows * 9 / 10 + 1).sorted().boxed().toList());
    }

    @Override
    public boolean isDue(int killed, long handled, Duration sinceLastKill) {
      return killed < points.size() && handled >= points.get(killed);
    }

    @Override
    public int promised() {
      return points.size();
    }

    @Override
    public int leastAtWork(int listeners) {
      return 1;
    }
  }

  /** One after each interval, as long as the work lasts. */
  record Every(Duration interval, int atMost) implements Plan {

    @Override
    public boolean isDue(int killed, long handled, Duration sinceLastKill) {
      return killed < atMost && sinceLastKill.compareTo(interval) >= 0;
    }

    @Override
    public int promised() {
      return 0;
    }

    /** Where JVMs start slowly, all would be killed before they have done anything. */
    @Override
    public int leastAtWork(int listeners) {
      return (listeners + 1) / 2;
    }
  }

  Killer(Plan plan, Random random, Listeners listeners) {
    this.plan = plan;
    this.random = random;
    this.listeners = listeners;
  }

  int killed() {
    return killed;
  }

  boolean hasKeptPromise() {
    return killed >= plan.promised();
  }

  /** Kills as many as are due; what finds too few listeners at work stays due. */
  void step(long handled) {
    while (plan.isDue(killed, handled, Duration.ofNanos(System.nanoTime() - lastKill))
        && listeners.killOne(random, plan.leastAtWork(listeners.now().size()))) {
      killed++;
      lastKill = System.nanoTime();
    }
  }
}
