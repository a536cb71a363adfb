package org.pgonce.internal;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.pgonce.internal.claim.WordStatements;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls the other listeners of a channel to look for new rows: those that stand by are later than
 * they need be where the one who answers wake-ups has no worker left. Safe for use by several
 * threads.
 */
final class CallForHelp {

  private static final Logger LOG = LoggerFactory.getLogger(CallForHelp.class);

  // Whoever has called: those who were called do not stand by yet when the next call comes.
  private static final Duration PAUSE = Standby.CALLED.multipliedBy(2).dividedBy(3);

  private final String channel;
  private final Context context;
  // The pool may have no connection to give for long: one waits for it.
  private final AtomicBoolean calling = new AtomicBoolean();
  private final AtomicLong lastAt = new AtomicLong(System.nanoTime() - PAUSE.toNanos());

  CallForHelp(String channel, Context context) {
    this.channel = channel;
    this.context = context;
  }

  /** Somebody, maybe this one, has called. */
  void heard() {
    lastAt.set(System.nanoTime());
  }

  /** Calls, unless somebody has lately. Returns at once. */
  void make() {
    var now = System.nanoTime();
    if (now - lastAt.get() >= PAUSE.toNanos() && calling.compareAndSet(false, true)) {
      lastAt.set(now);
      context.threads().run(this::call);
    }
  }

  private void call() {
    try {
      context.transactions().make(transaction -> WordStatements.call(transaction, channel));
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws some of what goes wrong on the wire unchecked. They look all the same.
      LOG.debug("pgonce: channel {} could not call the other listeners", channel, e);
    } finally {
      calling.set(false);
    }
  }
}
