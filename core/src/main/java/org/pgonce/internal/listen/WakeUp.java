package org.pgonce.internal.listen;

/**
 * The payloads of NOTIFY on a stored channel, as {@code pgonce.wake_up} in sql/publish.sql sends
 * them. Any role can NOTIFY, so nothing but latency depends on them.
 *
 * <p>Two other kinds of NOTIFY exist. A BROADCAST channel carries its messages in parts, which
 * {@code BroadcastAssembly} reads, and {@link #DEFINITION}. The LISTEN connection sends a random
 * token to itself, see {@link ListenSession}.
 */
public enum WakeUp {
  /** New rows: the empty payload, and any that is not known. */
  NEW_ROWS,
  /** {@code due}: scheduled rows may be due, or keys may have been set free. */
  DUE,
  /** {@code later}: rows were stored that are due later, so the poll learns when. */
  LATER,
  /** {@code pause}: a poll reads whether the channel is paused. */
  PAUSE,
  /** {@code resume}: the same. */
  RESUME,
  /** {@code definition}: a poll reads how the channel is installed by now. */
  DEFINITION;

  public static WakeUp of(String payload) {
    return switch (payload) {
      case "due" -> DUE;
      case "later" -> LATER;
      case "pause" -> PAUSE;
      case "resume" -> RESUME;
      case "definition" -> DEFINITION;
      default -> NEW_ROWS;
    };
  }
}
