package org.pgonce.testkit;

import java.time.Duration;
import java.util.Collection;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** How a {@link FaultProxy} treats the bytes that come by. */
final class Traffic {

  private static final Duration MAX_DELAY = Duration.ofMinutes(1);

  private enum Flow {
    PASS,
    HOLD,
    LOSE
  }

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Map<Direction, Flow> flows = new EnumMap<>(Direction.class);
  private Duration delay = Duration.ZERO;
  private boolean trickling;

  void pass() {
    change(
        () -> {
          flows.clear();
          delay = Duration.ZERO;
          trickling = false;
        });
  }

  void lose(Collection<Direction> ways) {
    change(() -> ways.forEach(way -> flows.put(way, Flow.LOSE)));
  }

  void hold(Collection<Direction> ways) {
    change(() -> ways.forEach(way -> flows.put(way, Flow.HOLD)));
  }

  void delay(Duration perChunk) {
    if (perChunk.isNegative() || perChunk.compareTo(MAX_DELAY) > 0) {
      throw new IllegalArgumentException(
          "A delay of %s is not between 0 and %s".formatted(perChunk, MAX_DELAY));
    }
    change(() -> delay = perChunk);
  }

  void trickle() {
    change(() -> trickling = true);
  }

  private void change(Runnable change) {
    lock.lock();
    try {
      change.run();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  boolean isTrickling() {
    lock.lock();
    try {
      return trickling;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until a chunk that goes this way may pass, and says whether it does: false if it is lost.
   */
  boolean admit(Direction way) throws InterruptedException {
    lock.lock();
    try {
      var came = System.nanoTime();
      while (true) {
        var flow = flows.getOrDefault(way, Flow.PASS);
        if (flow == Flow.LOSE) {
          return false;
        }
        if (flow == Flow.HOLD) {
          changed.await();
          continue;
        }
        var left = delay.toNanos() - (System.nanoTime() - came);
        if (left <= 0) {
          return true;
        }
        changed.await(left, TimeUnit.NANOSECONDS);
      }
    } finally {
      lock.unlock();
    }
  }
}
