package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status.Paused;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether a subscription is paused, as far as this process knows. The poll asks the database; no
 * claim does. Nothing is claimed before the first poll has answered.
 *
 * <p>A wake-up «pause» stops claims until the next poll has answered: handlers may hold all
 * connections, and the poll needs one. Any role can forge it, so it stops claims once a second at
 * most. Otherwise it only asks for a poll. Thread-safe.
 */
public final class Pausing {

  private static final Logger LOG = LoggerFactory.getLogger(Pausing.class);

  private static final Duration BETWEEN_BELIEFS = Duration.ofSeconds(1);
  private static final Duration POLL_IF_NOT_BELIEVED = Duration.ofMillis(100);

  private static final String BOUND_THE_WAIT = "SET LOCAL lock_timeout = '5s'";
  private static final String PAUSE = "SELECT pgonce.pause(?, ?, ?)";

  private final Registration<?> subscribed;
  private final String instance;
  private final Observer observer;
  private final LongSupplier polls;

  private volatile boolean on = true;
  private volatile @Nullable Paused known;
  // Polls up to this number may have begun before the latest pause.
  private long outdated;
  // Handlers whose pause is being recorded.
  private int asking;
  // By System.nanoTime().
  private long believesFrom = System.nanoTime();

  /**
   * @param instance in whose name handlers pause it
   * @param polls how many polls have begun
   */
  public Pausing(
      Registration<?> subscribed, String instance, Observer observer, LongSupplier polls) {
    this.subscribed = subscribed;
    this.instance = instance;
    this.observer = observer;
    this.polls = polls;
  }

  String instance() {
    return instance;
  }

  public boolean isOn() {
    return on;
  }

  /** What the last poll has found. */
  public @Nullable Paused known() {
    return known;
  }

  /** A wake-up says that it is paused, or changed. Returns within which time to poll. */
  public synchronized Duration heardPause() {
    var now = System.nanoTime();
    if (now - believesFrom < 0) {
      return POLL_IF_NOT_BELIEVED;
    }
    believesFrom = now + BETWEEN_BELIEFS.toNanos();
    on = true;
    outdated = polls.getAsLong();
    return Duration.ZERO;
  }

  /** A handler asks for a pause: nothing is claimed until {@link #ends} and a poll after it. */
  synchronized void begins() {
    on = true;
    asking++;
  }

  /** Records a handler's pause in the transaction; no error if there is one already. */
  void record(Connection transaction, String reason) throws SQLException {
    Statements.execute(transaction, BOUND_THE_WAIT);
    Transactions.nameOperator(transaction, instance);
    Statements.execute(transaction, PAUSE, subscribed.name(), reason, subscribed.subscription());
  }

  /** The handler's pause is committed, or has failed; the next poll says which. */
  synchronized void ends() {
    asking--;
    outdated = polls.getAsLong();
  }

  /**
   * The poll of this number has answered; {@code found} is null if it is not paused. Returns
   * whether that ends a pause.
   */
  public boolean polled(@Nullable Paused found, long poll) {
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
      observer.on(new Event.Resumed(subscribed.name(), subscribed.subscription()));
      return;
    }
    LOG.warn(
        "pgonce: channel {} is paused since {} by {}: {}; what is stored for it waits until it is resumed (Operations.resume, or"
            + " SELECT pgonce.resume)",
        subscribed.label(),
        paused.since(),
        paused.by(),
        paused.reason());
    observer.on(
        new Event.Paused(
            subscribed.name(), subscribed.subscription(), paused.by(), paused.reason()));
  }
}
