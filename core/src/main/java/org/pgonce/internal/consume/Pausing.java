package org.pgonce.internal.consume;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status.Paused;
import org.pgonce.internal.handle.Registration;
import org.pgonce.spi.Observer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether a subscription is paused, as far as this process knows. The database says so, and the
 * poll asks it; no claim does. Until the first poll has told, nothing is claimed.
 *
 * <p>A wake-up that says «pause» is believed at once, and only until the next poll has told: the
 * handlers may hold all connections, and the poll gets one when they stop claiming. But anybody can
 * forge it. So after one that was not true the next ones are not believed for a second, and the
 * poll is asked no more often than each 100 ms. Thread-safe.
 */
final class Pausing {

  private static final Logger LOG = LoggerFactory.getLogger(Pausing.class);

  private static final Duration DISTRUST = Duration.ofSeconds(1);
  private static final Duration WHILE_DISTRUSTED = Duration.ofMillis(100);

  private final Registration<?> subscribed;
  private final Observer observer;

  private final ReentrantLock lock = new ReentrantLock();
  private volatile boolean on = true;
  private volatile @Nullable Paused known;
  // The last poll that may not have seen what was heard, or done here, since.
  private long outdated;
  // Handlers that are pausing it at this moment.
  private int asking;
  // Whether a wake-up spoke of a change that no poll has confirmed yet.
  private boolean rumoured;
  private boolean distrusts;
  private long distrustsUntil;

  Pausing(Registration<?> subscribed, Observer observer) {
    this.subscribed = subscribed;
    this.observer = observer;
  }

  /** Whether no claim may begin. */
  boolean isOn() {
    return on;
  }

  /** What the last poll has told. */
  @Nullable Paused known() {
    return known;
  }

  /**
   * A wake-up says that it is paused, or otherwise not to be claimed from.
   *
   * @param polls how many polls have begun
   * @return within which time a poll is to say whether that is so
   */
  Duration heardPause(long polls) {
    lock.lock();
    try {
      rumoured = true;
      if (isDistrusted()) {
        return WHILE_DISTRUSTED;
      }
      on = true;
      outdated = Math.max(outdated, polls);
      return Duration.ZERO;
    } finally {
      lock.unlock();
    }
  }

  /** A wake-up says that it is not paused any more; see {@link #heardPause}. */
  Duration heardResume() {
    lock.lock();
    try {
      rumoured = true;
      return isDistrusted() ? WHILE_DISTRUSTED : Duration.ZERO;
    } finally {
      lock.unlock();
    }
  }

  private boolean isDistrusted() {
    distrusts = distrusts && System.nanoTime() - distrustsUntil < 0;
    return distrusts;
  }

  /** A handler pauses it: {@link #asked} follows. */
  void asks() {
    lock.lock();
    try {
      on = true;
      asking++;
    } finally {
      lock.unlock();
    }
  }

  /** The handler's pause is committed, or has failed: a poll that begins from now on tells. */
  void asked(long polls) {
    lock.lock();
    try {
      asking--;
      outdated = Math.max(outdated, polls);
    } finally {
      lock.unlock();
    }
  }

  /**
   * What a poll has found.
   *
   * @param found null if it is not paused
   * @param changed whether something else has changed, of which a wake-up may have spoken
   * @param poll its number
   * @return whether claims may begin that were held up until now
   */
  boolean told(@Nullable Paused found, boolean changed, long poll) {
    Paused before;
    boolean goesOn;
    lock.lock();
    try {
      if (found == null && (asking > 0 || poll <= outdated)) {
        return false;
      }
      before = known;
      if (rumoured && !changed && (before == null) == (found == null)) {
        distrusts = true;
        distrustsUntil = System.nanoTime() + DISTRUST.toNanos();
      }
      rumoured = false;
      known = found;
      goesOn = on && found == null;
      on = found != null;
    } finally {
      lock.unlock();
    }
    if (!Objects.equals(before, found)) {
      tell(found);
    }
    return goesOn;
  }

  private void tell(@Nullable Paused paused) {
    if (paused == null) {
      LOG.info("pgonce: channel {} is not paused any more", subscribed.label());
      observer.resumed(subscribed.name(), subscribed.subscription());
      return;
    }
    LOG.warn(
        "pgonce: channel {} is paused since {} by {}: {}; what is stored for it waits until it is resumed (PgOnce.operations, or"
            + " SELECT pgonce.resume)",
        subscribed.label(),
        paused.since(),
        paused.by(),
        paused.reason());
    observer.paused(subscribed.name(), subscribed.subscription(), paused.by(), paused.reason());
  }
}
