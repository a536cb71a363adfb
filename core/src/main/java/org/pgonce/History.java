package org.pgonce;

import java.time.Duration;

/**
 * Whether a channel keeps what was handled, how long, and with what. Immutable.
 *
 * <pre>{@code
 * ChannelOptions.DEFAULT.withHistory(Duration.ofDays(7))
 * ChannelOptions.DEFAULT.withHistory(History.of(Duration.ofDays(7)).withPayloads())
 * }</pre>
 *
 * <p>Each subscription writes one entry for a notification, in the transaction that deletes it
 * after its handler: which notification, when it was stored, due, claimed and handled, how long the
 * handler took, at which attempt, and by which instance. So there is an entry if and only if what
 * the handler wrote through its transaction is committed. A notification that a handler's condition
 * has skipped has one too, marked so. A dead letter has none, unless it is redriven and then
 * handled; what operators cancel or discard has none, it is in {@code pgonce.operation_log}.
 *
 * @param retention how long an entry is shown: 1 minute to 400 days, in whole milliseconds, or 0
 *     for no history. What is older is not shown, and its partition is dropped whole: up to an
 *     hour, a day, or a week after the longest retention of all channels of the database
 * @param payloads whether the payload is kept as well; false without a retention
 */
public record History(Duration retention, boolean payloads) {

  /** Nothing is kept, and nothing costs: the default. */
  public static final History NONE = new History(Duration.ZERO, false);

  public History {
    if (!Duration.ZERO.equals(retention)) {
      OptionRanges.require(
          "history retention",
          retention,
          Duration.ofMinutes(1),
          Duration.ofDays(400),
          "1 minute and 400 days, nor 0 for none");
    }
    retention = Duration.ofMillis(retention.toMillis());
    if (payloads && retention.isZero()) {
      throw new IllegalArgumentException(
          "a history with payloads needs a retention: give one, as in History.of(Duration.ofDays(7)).withPayloads()");
    }
  }

  /** Kept for this time, without payloads. */
  public static History of(Duration retention) {
    return new History(retention, false);
  }

  /** The same with the payloads, which may be secret: read by {@code pgonce_admin} only. */
  public History withPayloads() {
    return new History(retention, true);
  }

  /** Whether anything is kept. */
  public boolean isKept() {
    return !retention.isZero();
  }
}
