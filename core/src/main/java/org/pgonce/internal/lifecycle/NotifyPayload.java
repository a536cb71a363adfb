package org.pgonce.internal.lifecycle;

/**
 * What a wake-up says: the payloads of {@code pgonce.wake_up}, sql/publish.sql. Besides these there
 * are the parts of a BROADCAST, {@code id/part/parts:text} or {@code
 * id/part/parts/version/depth:text}, {@code id/0/0:} for one that was too large (BroadcastAssembly
 * reads them), and the random token that a LISTEN connection sends to itself on a channel of its
 * own (ListenSession).
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
  /** The channel was installed, changed or dropped, or a subscription was. */
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
