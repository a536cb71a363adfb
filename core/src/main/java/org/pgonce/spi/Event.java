package org.pgonce.spi;

import java.time.Duration;
import org.pgonce.Mode;

/**
 * What an {@link Observer} hears. None holds a payload. A channel is its name alone; {@code
 * subscription} is {@code default} where the channel defines none.
 */
public sealed interface Event {

  /**
   * One attempt at one notification.
   *
   * @param id of the notification
   * @param attempt from 1
   */
  record Attempt(String channel, String subscription, Mode mode, long id, int attempt) {}

  /** Something happened to a notification. */
  sealed interface OfNotification extends Event {
    Attempt about();
  }

  /**
   * A notification has been claimed, and its handler is about to run; each of a batch before the
   * first of them.
   *
   * @param lag from when it was due to the claim, both by the database's clock: from its storing,
   *     the end of its delay or that of its backoff, or of the lease of a process that died; zero
   *     in BROADCAST
   */
  record Claimed(Attempt about, Duration lag) implements OfNotification {}

  /**
   * A notification was handled, and that is committed. None comes where the driver does not say
   * whether it is: the answer to the commit is lost, or the server ends the claim that follows the
   * commit in the same message. The log says so then.
   *
   * @param lag as in {@link Claimed}
   * @param inHandler the time of the handler and what intercepts it, by the JVM's monotonic clock;
   *     of a batch, the time of all of it
   */
  record Handled(Attempt about, Duration lag, Duration inHandler) implements OfNotification {}

  /**
   * An attempt failed, and that is committed; a further one follows. A batch that failed is no
   * event: each of its notifications is handled alone then.
   *
   * @param inHandler from the begin of the handler to its failure, by the same clock
   * @param errorClass the name of the exception's class
   * @param reason what it says, without values of the payload
   * @param retryIn from now, by the database's clock
   */
  record Failed(
      Attempt about, Duration inHandler, String errorClass, String reason, Duration retryIn)
      implements OfNotification {}

  /** A notification is done unhandled, as its handler's condition did not hold; committed. */
  record Skipped(Attempt about) implements OfNotification {}

  /**
   * A notification became a dead letter.
   *
   * @param errorClass as in {@link Failed}; empty where no exception led to it: its process died
   */
  record Dead(Attempt about, String errorClass, String reason) implements OfNotification {}

  /**
   * This process published, by {@link org.pgonce.PgOnce#publisher} or in a handler; whether that
   * takes effect is up to the transaction. Comes on the publisher's thread.
   *
   * @param id of the notification; of the earlier one where {@code isNew} is false
   * @param isNew false where its delivery key was there before
   */
  record Published(String channel, long id, boolean isNew) implements Event {}

  /**
   * A BROADCAST could not be handled by this process (queue full, unreadable, too large, too deep)
   * and is gone.
   */
  record BroadcastDropped(String channel, String subscription, String reason) implements Event {}

  /** What a worker waits for. */
  enum WaitCause {
    /** A connection of the data source. */
    CONNECTION,
    /** The channel's maximum rate. */
    RATE
  }

  /**
   * A worker waits, a millisecond or more, before it can claim.
   *
   * @param time for a connection, how long it took to get it; for the rate, how long until a permit
   *     is free
   */
  record Waited(String channel, String subscription, WaitCause cause, Duration time)
      implements Event {}

  /**
   * This process has learnt that a subscription is paused.
   *
   * @param by the person, instance or role that paused it
   */
  record Paused(String channel, String subscription, String by, String reason) implements Event {}

  /** This process has learnt that a subscription is not paused any more. */
  record Resumed(String channel, String subscription) implements Event {}

  /**
   * This process does not handle a subscription any more: it was dropped, or its channel is
   * installed with another definition than this process has.
   *
   * @param difference what differs, and what to do; several lines
   */
  record Outdated(String channel, String subscription, String difference) implements Event {}

  /** A subscription that was {@link Outdated} is installed as defined here again, and handled. */
  record UpToDate(String channel, String subscription) implements Event {}

  /**
   * What feeds a channel works otherwise than expected: for example its trigger is disabled.
   * Checked at the start, a second after an installation has replaced the function of its triggers,
   * and once in 600 poll intervals, which is 10 minutes by default. Each problem is reported once,
   * until it is mended.
   *
   * @param problem what is wrong, and what to do
   */
  record FeedTrouble(String channel, String problem) implements Event {}

  /** The process hears wake-ups through the named source from now on. */
  record Listening(String source) implements Event {}

  /** The process does not hear wake-ups any more and works by polling until it does again. */
  record Disconnected(String reason) implements Event {}

  /**
   * A claim, poll or housekeeping failed, for example because the database is down, and is tried
   * again; or the server's NOTIFY queue fills, see the log.
   *
   * @param channel empty where it is not of one channel
   */
  record DatabaseTrouble(String channel, String reason) implements Event {}
}
