package org.pgonce.spi;

import java.time.Duration;

/**
 * Hears what happens, for metrics and alarms. Every method does nothing by default.
 *
 * <p>Methods are called on pgonce's threads, several at once, between a notification and the next:
 * they must be quick and must not throw (what they throw is logged and goes no further). They get
 * no payload. A channel is told by its name; another subscription than {@code default} by the name,
 * {@code /} and its own.
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

  /**
   * A notification was not handled because its handler's condition does not hold any more, and is
   * done; that is committed.
   */
  default void skipped(String channel, long id, int attempt) {}

  /** A notification became a dead letter. */
  default void deadLettered(String channel, long id, int attempt, String reason) {}

  /**
   * A BROADCAST could not be handled by this process (queue full, unreadable, too large, too deep)
   * and is gone.
   */
  default void broadcastDropped(String channel, String reason) {}

  /**
   * This process has learnt that a subscription is paused, by a person or by a handler.
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
   * What feeds a channel works otherwise than one may expect, or than at the start: for example its
   * table was attached to another, or its trigger is disabled. Found at the start, and then once in
   * 600 poll intervals, which is 10 minutes by default. Each line is told once, until it is mended.
   *
   * @param problem what is wrong, and what to do
   */
  default void feedTrouble(String channel, String problem) {}

  /** The process hears wake-ups through the named source from now on. */
  default void listening(String source) {}

  /** The process does not hear wake-ups any more and works by polling until it does again. */
  default void disconnected(String reason) {}

  /**
   * A claim or poll failed for a reason that is not a notification's, for example because the
   * database is down; it is tried again. Or housekeeping failed, or the server's NOTIFY queue
   * fills, see the log.
   */
  default void databaseTrouble(String channel, String reason) {}
}
