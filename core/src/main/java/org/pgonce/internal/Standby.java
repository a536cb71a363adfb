package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Lock;

/**
 * Whether this process answers a wake-up for new rows at once, or stands by. Each wake-up reaches
 * every process that listens, and one claim is enough: the first of them, whom the list of
 * listeners tells, always answers at once. The others answer a moment later, once for all that they
 * have heard meanwhile, and mostly in vain. Who then finds something stands in for the first, who
 * may be gone, until others are quicker again. Where the first has more to do than he can, he asks
 * for help: who stands by looks then, unless he has been asked in vain before.
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
  private static final Duration LONGEST = Duration.ofSeconds(3);

  // Who has answered in vain n times in a row stands by for up to 2^n times as long: the first one
  // is there. If he is frozen later, the quickest of the others is as late as that, once.
  private static final int MOST_PATIENT = 3;
  private static final Duration LONGEST_OF_ALL = Duration.ofSeconds(10);

  // The first one has that long for the last wake-up, so that what is found then was left by him.
  private static final Duration GRACE = Duration.ofMillis(5);

  // Who has been asked in vain n times in a row looks one time of 2^n. There may be no more than a
  // few rows each time, and where processors are what is short, many who look in vain keep those
  // busy who are to help. So many of all look nevertheless, as there may be more by now; and who
  // has not been asked for so long looks as if for the first time.
  private static final int HELPERS = 4;
  private static final int MOST_IN_VAIN = 30;
  private static final Duration FORGOTTEN = Duration.ofSeconds(1);

  // For what it finds when it answers, up to a bound; with a look in vain half of it is lost, and
  // all of it when it is old. From ENOUGH on it answers at once.
  private static final int ENOUGH = 2;
  private static final int MOST = 8;
  private static final Duration OLD = Duration.ofSeconds(3);

  private final Threads threads;
  private final Lock lock;
  private final Runnable look;
  private volatile boolean first = true;
  private int listeners = 1;
  private int credit;
  private long creditedAt = System.nanoTime();
  private int answeredInVain;
  private int askedInVain;
  private long askedAt = System.nanoTime();
  private boolean asked;
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

  /** Somebody has more to do than he can. */
  void asked() {
    lock.lock();
    try {
      var now = System.nanoTime();
      if (now - askedAt > FORGOTTEN.toNanos()) {
        askedInVain = 0;
      }
      askedAt = now;
      if (first || helps()) {
        asked = true;
        look.run();
      }
    } finally {
      lock.unlock();
    }
  }

  private boolean helps() {
    var chance = Math.max(Math.scalb(1.0, -askedInVain), (double) HELPERS / listeners);
    return ThreadLocalRandom.current().nextDouble() < chance;
  }

  /** Safe on any thread, without the lock. */
  boolean isFirst() {
    return first;
  }

  /** Whether nobody else listens. Called with the lock held. */
  boolean isAlone() {
    return listeners <= 1;
  }

  /** Whether it is the first, or stands in for it. Called with the lock held. */
  boolean answersAtOnce() {
    return first || (credit >= ENOUGH && !isOld());
  }

  private boolean isOld() {
    return System.nanoTime() - creditedAt > OLD.toNanos();
  }

  private Duration delay() {
    return Duration.ofNanos(ThreadLocalRandom.current().nextLong(longestDelay().toNanos() + 1));
  }

  /** Called with the lock held. */
  Duration longestDelay() {
    var longest = Math.min(SHARE.toNanos() * listeners, LONGEST.toNanos());
    return Duration.ofNanos(Math.min(longest << answeredInVain, LONGEST_OF_ALL.toNanos()));
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

  /** A claim of new rows begins; returns why. Called with the lock held, as {@link #found}. */
  Cause begins() {
    var cause = asked ? Cause.ASKED : heard ? Cause.HEARD : Cause.OTHER;
    asked = false;
    heard = false;
    return cause;
  }

  /**
   * It has ended. What a worker does not find for reasons of his own says nothing of who is
   * quicker.
   */
  void found(boolean something, Cause cause) {
    if (something) {
      askedInVain = 0;
      credit(cause);
    } else if (cause != Cause.OTHER) {
      credit /= 2;
      if (cause == Cause.ASKED) {
        askedInVain = Math.min(askedInVain + 1, MOST_IN_VAIN);
      } else {
        answeredInVain = Math.min(answeredInVain + 1, MOST_PATIENT);
      }
    }
  }

  private void credit(Cause cause) {
    if (cause == Cause.OTHER) {
      return; // amid a backlog everybody finds something
    }
    // Just announced, the first one may be about to find it as well.
    var byChance = !answersAtOnce() && System.nanoTime() - heardAt < GRACE.toNanos();
    if (!byChance) {
      answeredInVain = 0;
    }
    credit = Math.min((isOld() ? 0 : credit) + (byChance ? 1 : ENOUGH), MOST);
    creditedAt = System.nanoTime();
  }

  /** Why a claim begins. */
  enum Cause {
    /** A wake-up for new rows. */
    HEARD,
    /** Somebody needs help. */
    ASKED,
    /** The worker goes on, or the look is owed to nobody in particular. */
    OTHER
  }
}
