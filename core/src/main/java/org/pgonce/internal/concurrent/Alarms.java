package org.pgonce.internal.concurrent;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Alarms that are set often and hardly ever go off: two for each notification. To set one and to
 * take it back costs an entry in a set; the timer looks at them when the earliest could be due, and
 * is told only of one that is earlier. Thread-safe.
 */
final class Alarms {

  private final Timer timer;
  private final Set<Alarm> alarms = ConcurrentHashMap.newKeySet();
  private final ReentrantLock lock = new ReentrantLock();
  // When the timer looks next, by System.nanoTime(); null if it does not.
  private volatile @Nullable Long next;

  /** What runs a look after a delay, and the work of an alarm that has gone off. */
  interface Timer {

    /** Runs the look on the timer's thread. */
    void lookAfter(long nanos, Runnable look);

    /** Runs the work elsewhere, and returns at once. */
    void run(Runnable work);
  }

  Alarms(Timer timer) {
    this.timer = timer;
  }

  /** Goes off after the time, once, unless it is cancelled before. */
  Threads.Alarm set(Duration after, Runnable work) {
    var alarm = new Alarm(System.nanoTime() + after.toNanos(), work);
    alarms.add(alarm);
    var planned = next;
    if (planned == null || alarm.at - planned < 0) {
      plan(alarm.at);
    }
    return alarm;
  }

  private void plan(long at) {
    lock.lock();
    try {
      var planned = next;
      if (planned == null || at - planned < 0) {
        next = at;
        timer.lookAfter(Math.max(0, at - System.nanoTime()), () -> look(at));
      }
    } finally {
      lock.unlock();
    }
  }

  private void look(long at) {
    lock.lock();
    try {
      var planned = next;
      if (planned == null || planned != at) {
        return; // An earlier one has taken its place, and looked.
      }
      // From here on, whoever sets an alarm plans a look for it. Those set before are in the set.
      next = null;
    } finally {
      lock.unlock();
    }
    var now = System.nanoTime();
    Alarm earliest = null;
    for (var alarms = this.alarms.iterator(); alarms.hasNext(); ) {
      var alarm = alarms.next();
      if (alarm.at - now <= 0) {
        alarms.remove();
        timer.run(alarm.work);
      } else if (earliest == null || alarm.at - earliest.at < 0) {
        earliest = alarm;
      }
    }
    if (earliest != null) {
      plan(earliest.at);
    }
  }

  private final class Alarm implements Threads.Alarm {

    private final long at;
    private final Runnable work;

    Alarm(long at, Runnable work) {
      this.at = at;
      this.work = work;
    }

    @Override
    public void cancel() {
      alarms.remove(this);
    }
  }
}
