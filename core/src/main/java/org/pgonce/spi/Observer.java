package org.pgonce.spi;

import java.time.Duration;

/**
 * Hears what happens, for metrics and alarms. Every method does nothing by default.
 *
 * <p>Called on pgonce's threads, several at once, between a notification and the next: methods must
 * be quick and must not throw (what they throw is logged). They get no payload. A channel is named;
 * a subscription other than {@code default} follows its name and {@code /}.
 */
public interface Observer {

  /** Hears nothing. */
  Observer NONE = new Observer() {};

  /**
   * A notification was handled, and that is committed.
   *
   * @param sinceStored from the storing to the claim, both by the database's clock
   * @param inHandler the handler's own time, by the JVM's monotonic clock
   */
  default void handled(
      String channel, long id, int attempt, Duration sinceStored, Duration inHandler) {}

  /**
   * An attempt failed; a further one follows after the delay.
   *
   * @param reason the exception, without values of the payload
   */
  default void retried(String channel, long id, int attempt, Duration delay, String reason) {}

  /** A notification is done unhandled, as its handler's condition does not hold; committed. */
  default void skipped(String channel, long id, int attempt) {}

  /** A notification became a dead letter. */
  default void deadLettered(String channel, long id, int attempt, String reason) {}

  /**
   * A BROADCAST could not be handled by this process (queue full, unreadable, too large, too deep)
   * and is gone.
   */
  default void broadcastDropped(String channel, String reason) {}

  /**
   * This process has learnt that a subscription is paused.
   *
   * @param by the person, instance or role that paused it
   */
  default void paused(String channel, String subscription, String by, String reason) {}

  /** This process has learnt that a subscription is not paused any more. */
  default void resumed(String channel, String subscription) {}

  /**
   * This process does not handle a subscription any more: it was dropped, or its channel is
   * installed with another definition than this process has.
   *
   * @param difference what differs, and what to do; several lines
   */
  default void outdated(String channel, String subscription, String difference) {}

  /** A subscription that was {@link #outdated} is installed as defined here again, and handled. */
  default void upToDate(String channel, String subscription) {}

  /**
   * What feeds a channel works otherwise than expected: for example its trigger is disabled.
   * Checked at the start, and then once in 600 poll intervals, which is 10 minutes by default. Each
   * problem is reported once, until it is mended.
   *
   * @param problem what is wrong, and what to do
   */
  default void feedTrouble(String channel, String problem) {}

  /** The process hears wake-ups through the named source from now on. */
  default void listening(String source) {}

  /** The process does not hear wake-ups any more and works by polling until it does again. */
  default void disconnected(String reason) {}

  /**
   * A claim, poll or housekeeping failed, for example because the database is down, and is tried
   * again; or the server's NOTIFY queue fills, see the log.
   */
  default void databaseTrouble(String channel, String reason) {}
}
