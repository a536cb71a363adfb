package org.pgonce.internal.lifecycle;

/**
 * What a NOTIFY says on a stored channel, and by {@link #DEFINITION} on each: {@code
 * pgonce.wake_up} of sql/publish.sql sends it. Two others are read elsewhere: the notifications of
 * a BROADCAST ({@code pgonce.broadcast} there) by BroadcastReceiver, and what the LISTEN connection
 * sends to itself by ListenSession.
 *
 * <p>Any role can send one: whether a channel is paused, or defined anew, only the poll knows.
 */
enum NotifyPayload {
  NEW_ROWS(""),
  /** Scheduled rows may be due, or keys may have been set free. */
  DUE("due"),
  /** Rows were stored that are due later: the poll learns when. */
  LATER("later"),
  PAUSE("pause"),
  RESUME("resume"),
  /** The channel was installed, changed or dropped. */
  DEFINITION("definition");

  private final String text;

  NotifyPayload(String text) {
    this.text = text;
  }

  /** Of the payload; NEW_ROWS if it is none of pgonce's. */
  static NotifyPayload of(String payload) {
    for (var one : values()) {
      if (one.text.equals(payload)) {
        return one;
      }
    }
    return NEW_ROWS;
  }
}
