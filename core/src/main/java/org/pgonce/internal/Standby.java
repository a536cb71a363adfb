package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Lock;

/**
 * Whether this process answers a wake-up for new rows at once, or stands by. Each wake-up reaches
 * every process that listens, and one claim is enough: the first of them, whom the list of
 * listeners tells, always answers at once. The others answer a moment later, once for all that they
 * have heard meanwhile, and mostly in vain. Who then finds something stands in for the first, who
 * may be gone, until others are quicker again. Who is called looks at once, and answers at once for
 * a while.
 *
 * <p>A wake-up is only ever answered later, and never dropped: the models have it as a bell that is
 * not answered yet, whose look may be as late as it likes. Looks that nobody else can make are not
 * put off: those of {@link Wakefulness}, of a scan, and of a worker who goes on.
 *
 * <p>It is not {@link HeadStart}, which lets others begin with what this process cannot handle.
 * Thread-safe, by the drain's lock.
 */
final class Standby {

  // All of them together look so often, however many they are: on the average the quickest one is
  // as late as that where the first one does not answer.
  private static final Duration SHARE = Duration.ofMillis(50);
  private static final Duration LONGEST = Duration.ofSeconds(1);

  // The first one has that long for the last wake-up, so that what is found then was left by him.
  private static final Duration GRACE = Duration.ofMillis(5);

  /** How long those who were called answer at once; while calls go on, all the time. */
  static final Duration CALLED = Duration.ofMillis(150);

  // For what it finds, up to a bound; with a look in vain half of it is lost. From ENOUGH on it
  // answers at once.
  private static final int ENOUGH = 2;
  private static final int MOST = 8;

  private final Threads threads;
  private final Lock lock;
  private final Runnable look;
  private boolean first = true;
  private int listeners = 1;
  private int credit;
  private long calledUntil = System.nanoTime();
  // A wake-up for which nobody here has looked yet, and the timer that sees to it.
  private boolean heard;
  private long heardAt = System.nanoTime();
  private boolean waits;

  /**
   * @param look called with the lock held; must return at once
   */
  Standby(Threads threads, Lock lock, Runnable look) {
    this.threads = threads;
    this.lock = lock;
    this.look = look;
  }

  /** What the list of listeners says. */
  void told(boolean isFirst, int count) {
    lock.lock();
    try {
      first = isFirst;
      listeners = count;
      if (first && heard) {
        look.run();
      }
    } finally {
      lock.unlock();
    }
  }

  /** A wake-up came. */
  void heard() {
    lock.lock();
    try {
      heard = true;
      heardAt = System.nanoTime();
      if (answersAtOnce()) {
        look.run();
      } else if (!waits) {
        waits = true;
        threads.tickLater(delay(), this::gracefully);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Somebody has more to do than he can, or leaves looks to all. */
  void called() {
    lock.lock();
    try {
      calledUntil = System.nanoTime() + CALLED.toNanos();
      look.run();
    } finally {
      lock.unlock();
    }
  }

  /** Whether nobody else listens. Called with the lock held. */
  boolean isAlone() {
    return listeners <= 1;
  }

  private boolean answersAtOnce() {
    return first || credit >= ENOUGH || calledUntil - System.nanoTime() > 0;
  }

  private Duration delay() {
    var longest = Math.min(SHARE.toNanos() * listeners, LONGEST.toNanos());
    return Duration.ofNanos(ThreadLocalRandom.current().nextLong(longest + 1));
  }

  private void gracefully() {
    threads.tickLater(grace(), this::waited);
  }

  private Duration grace() {
    lock.lock();
    try {
      return Duration.ofNanos(Math.max(0, GRACE.toNanos() - (System.nanoTime() - heardAt)));
    } finally {
      lock.unlock();
    }
  }

  private void waited() {
    lock.lock();
    try {
      waits = false;
      if (heard) {
        look.run();
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * A claim of new rows begins. Called with the lock held, as {@link #found}.
   *
   * @return whether it answers a wake-up
   */
  boolean begins() {
    var answers = heard;
    heard = false;
    return answers;
  }

  /**
   * It has ended. What a worker does not find for reasons of his own says nothing of who is
   * quicker.
   */
  void found(boolean something, boolean answers) {
    if (something) {
      // Just announced, the first one may be about to find it as well.
      var byChance = !answersAtOnce() && System.nanoTime() - heardAt < GRACE.toNanos();
      credit = Math.min(credit + (byChance ? 1 : ENOUGH), MOST);
    } else if (answers) {
      credit /= 2;
    }
  }
}
