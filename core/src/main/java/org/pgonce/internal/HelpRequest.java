package org.pgonce.internal;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.pgonce.internal.claim.WordStatements;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the other listeners of a channel to look for new rows: those that stand by are later than
 * they need be where the one who answers wake-ups has no worker left. Safe for use by several
 * threads.
 */
final class HelpRequest {

  private static final Logger LOG = LoggerFactory.getLogger(HelpRequest.class);

  // Whoever has asked.
  private static final Duration PAUSE = Duration.ofMillis(100);

  private final String channel;
  private final Context context;
  // The pool may have no connection to give for long: one waits for it.
  private final AtomicBoolean asking = new AtomicBoolean();
  private final AtomicLong lastAt = new AtomicLong(System.nanoTime() - PAUSE.toNanos());

  HelpRequest(String channel, Context context) {
    this.channel = channel;
    this.context = context;
  }

  /** Somebody, maybe this one, has asked. */
  void heard() {
    lastAt.set(System.nanoTime());
  }

  /** Asks, unless somebody has lately. Returns at once. */
  void make() {
    var now = System.nanoTime();
    if (now - lastAt.get() >= PAUSE.toNanos() && asking.compareAndSet(false, true)) {
      lastAt.set(now);
      context.threads().run(this::ask);
    }
  }

  private void ask() {
    try {
      context.transactions().make(transaction -> WordStatements.askForHelp(transaction, channel));
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws some of what goes wrong on the wire unchecked. They look all the same.
      LOG.debug("pgonce: channel {} could not ask the other listeners for help", channel, e);
    } finally {
      asking.set(false);
    }
  }
}
