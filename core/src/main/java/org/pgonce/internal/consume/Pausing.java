package org.pgonce.internal.consume;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status.Paused;
import org.pgonce.internal.handle.Registration;
import org.pgonce.spi.Observer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether a subscription is paused, as far as this process knows. The poll asks the database; no
 * claim does. Until the first poll has answered, nothing is claimed.
 *
 * <p>A wake-up that says «pause» is believed at once, until the next poll has answered: handlers
 * may hold all connections, and the poll gets one when they stop claiming. But any role can forge
 * it, so it is believed once a second at most, and asks for a poll otherwise. Thread-safe.
 */
final class Pausing {

  private static final Logger LOG = LoggerFactory.getLogger(Pausing.class);

  private static final Duration BETWEEN_BELIEFS = Duration.ofSeconds(1);
  private static final Duration POLL_IF_NOT_BELIEVED = Duration.ofMillis(100);

  private final Registration<?> subscribed;
  private final Observer observer;

  private volatile boolean on = true;
  private volatile @Nullable Paused known;
  // The last poll that may not have seen what was heard, or done here, since.
  private long outdated;
  // Handlers that are pausing it at this moment.
  private int asking;
  // By System.nanoTime().
  private long believesFrom = System.nanoTime();

  Pausing(Registration<?> subscribed, Observer observer) {
    this.subscribed = subscribed;
    this.observer = observer;
  }

  /** Whether no claim may begin. */
  boolean isOn() {
    return on;
  }

  /** What the last poll has found. */
  @Nullable Paused known() {
    return known;
  }

  /**
   * A wake-up says that it is paused, or otherwise not to be claimed from.
   *
   * @param polls how many polls have begun
   * @return within which time a poll is to say whether that is so
   */
  synchronized Duration heardPause(long polls) {
    var now = System.nanoTime();
    if (now - believesFrom < 0) {
      return POLL_IF_NOT_BELIEVED;
    }
    believesFrom = now + BETWEEN_BELIEFS.toNanos();
    on = true;
    outdated = Math.max(outdated, polls);
    return Duration.ZERO;
  }

  /** A handler pauses it: {@link #asked} follows. */
  synchronized void asks() {
    on = true;
    asking++;
  }

  /** The handler's pause is committed, or has failed: a poll that begins from now on tells. */
  synchronized void asked(long polls) {
    asking--;
    outdated = Math.max(outdated, polls);
  }

  /**
   * A poll has answered.
   *
   * @param found null if it is not paused
   * @param poll its number
   * @return whether claims may begin that were held up until now
   */
  boolean told(@Nullable Paused found, long poll) {
    Paused before;
    boolean goesOn;
    synchronized (this) {
      if (found == null && (asking > 0 || poll <= outdated)) {
        return false;
      }
      before = known;
      known = found;
      goesOn = on && found == null;
      on = found != null;
    }
    if (!Objects.equals(before, found)) {
      report(found);
    }
    return goesOn;
  }

  private void report(@Nullable Paused paused) {
    if (paused == null) {
      LOG.info("pgonce: channel {} is not paused any more", subscribed.label());
      observer.resumed(subscribed.name(), subscribed.subscription());
      return;
    }
    LOG.warn(
        "pgonce: channel {} is paused since {} by {}: {}; what is stored for it waits until it is resumed (Operations.resume, or"
            + " SELECT pgonce.resume)",
        subscribed.label(),
        paused.since(),
        paused.by(),
        paused.reason());
    observer.paused(subscribed.name(), subscribed.subscription(), paused.by(), paused.reason());
  }
}
