package org.pgonce.internal.poll;

import org.pgonce.spi.Observer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns while PostgreSQL's NOTIFY queue fills, long before it is full and commits that notify fail.
 * The queue is one for the whole server. It is emptied as far as the slowest listening session of
 * any database has read, and a session with an open transaction reads nothing. To ask how full it
 * is (pg_notification_queue_usage) frees what all have read. Only the poll calls this.
 */
final class QueueWatch {

  private static final Logger LOG = LoggerFactory.getLogger(QueueWatch.class);

  private static final double FIRST_WARNING = 0.05;

  private final Observer observer;
  private double nextWarning = FIRST_WARNING;

  QueueWatch(Observer observer) {
    this.observer = observer;
  }

  /**
   * @param usage the share of the queue that is in use, 0 to 1
   */
  void found(double usage) {
    if (usage >= nextWarning) {
      var percent = Math.round(100 * usage);
      LOG.warn(
          "pgonce: PostgreSQL's NOTIFY queue, one for the whole server, is {} % full, and at 100 % every commit that"
              + " notifies fails: a session that listens has a transaction open and does not read. Look for the oldest"
              + " xact_start in pg_stat_activity, of any database, and end that transaction or its session",
          percent);
      observer.databaseTrouble("", "PostgreSQL's NOTIFY queue is " + percent + " % full");
      nextWarning = 2 * usage;
    } else if (usage < FIRST_WARNING / 2 && nextWarning > FIRST_WARNING) {
      LOG.info("pgonce: PostgreSQL's NOTIFY queue is empty again, or nearly so");
      nextWarning = FIRST_WARNING;
    }
  }
}
