package org.pgonce.example.run;

import java.time.Duration;
import java.util.List;
import java.util.Random;

/** Kills listeners at random, while there is work that they could lose. For one thread. */
public final class Killer {

  private final Plan plan;
  private final Random random;
  private final Listeners listeners;
  private int killed;
  private int killedAtWork;
  private long lastKill = System.nanoTime();

  /** When listeners are to be killed. */
  public sealed interface Plan {

    /** Whether the next kill is due. */
    boolean isDue(int killed, long handled, Duration sinceLastKill);

    /** How many kills the last rows wait for. */
    int promised();

    /** How many of those at work are spared. */
    int spared();

    /** Whether those that still start are killed where too few are at work. */
    default boolean killsStarting() {
      return spared() > 0;
    }
  }

  /**
   * At points drawn from the seed, in rows handled: so all of them fall into the work, on a slow
   * machine and on a fast one.
   */
  public record AtPoints(List<Long> points) implements Plan {

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
    public int spared() {
      return 0;
    }
  }

  /** One after each interval, as long as the work lasts. */
  public record Every(Duration interval, int atMost) implements Plan {

    @Override
    public boolean isDue(int killed, long handled, Duration sinceLastKill) {
      return killed < atMost && sinceLastKill.compareTo(interval) >= 0;
    }

    @Override
    public int promised() {
      return 0;
    }

    /** Where kills come faster than JVMs start, one must go on, or nothing would ever be done. */
    @Override
    public int spared() {
      return 1;
    }
  }

  /** One after each interval as soon as two are at work, who have something to lose; no other. */
  public record AtWork(Duration interval) implements Plan {

    @Override
    public boolean isDue(int killed, long handled, Duration sinceLastKill) {
      return sinceLastKill.compareTo(interval) >= 0;
    }

    @Override
    public int promised() {
      return 0;
    }

    @Override
    public int spared() {
      return 1;
    }

    @Override
    public boolean killsStarting() {
      return false;
    }
  }

  public Killer(Plan plan, Random random, Listeners listeners) {
    this.plan = plan;
    this.random = random;
    this.listeners = listeners;
  }

  public int killed() {
    return killed;
  }

  /** In words, for the report. */
  public String report() {
    return "listeners killed with SIGKILL and replaced"
        + (killed == killedAtWork ? ", all at work" : ", %d at work".formatted(killedAtWork));
  }

  boolean hasKeptPromise() {
    return killed >= plan.promised();
  }

  /** Kills as many as are due; what finds no victim stays due. */
  public void step(long handled) {
    while (plan.isDue(killed, handled, Duration.ofNanos(System.nanoTime() - lastKill))) {
      if (listeners.killAtWork(random, plan.spared())) {
        killedAtWork++;
      } else if (!plan.killsStarting() || !listeners.killYoungest()) {
        return;
      }
      killed++;
      lastKill = System.nanoTime();
    }
  }
}
