package org.pgonce.internal.claim;

import java.sql.SQLException;

/**
 * Where the claims of one subscription look for rows. Scheduled rows of a channel without keys need
 * no cursor: those that are due come first in their index.
 *
 * @param byKey whether the channel has an order or a limit per key
 * @param fresh for new rows of a channel that has neither
 * @param freshKeys for new rows of a channel that has one
 * @param dueKeys for its scheduled rows that are due
 */
public record ClaimCursors(
    boolean byKey, ClaimCursor fresh, KeyCursor freshKeys, KeyCursor dueKeys) {

  public static ClaimCursors create(boolean byKey) {
    return new ClaimCursors(
        byKey, new ClaimCursor(), new KeyCursor(System::nanoTime), new KeyCursor(System::nanoTime));
  }

  /**
   * Claims.
   *
   * @param isDue scheduled rows that are due, or else new ones
   */
  public KeyLook.Result claim(boolean isDue, KeyCursor.Claiming claiming) throws SQLException {
    if (byKey) {
      return (isDue ? dueKeys : freshKeys).claim(claiming);
    }
    return isDue
        ? claiming.in(KeyLook.behind(0))
        : fresh.claim(after -> claiming.in(KeyLook.behind(after)), KeyLook.Result::lastId);
  }

  /** Whether a claim should look at once. */
  public boolean isMore() {
    return freshKeys.isMore() || dueKeys.isMore();
  }

  /** The poll has found that new rows wait, or rows of some key, and so many listeners. */
  public void polled(boolean isFresh, int listeners) {
    if (isFresh) {
      fresh.polled();
    }
    if (byKey) {
      freshKeys.polled(listeners);
      dueKeys.polled(listeners);
    }
  }

  /** Keys were set free, and nobody says which. */
  public void unblocked() {
    if (byKey) {
      freshKeys.unblocked();
      dueKeys.unblocked();
    }
  }

  /** The row has ended, and this may lie behind it. */
  public void ended(Claim claim, RowsBehind left) {
    if (byKey) {
      var key = claim.headers().orderKey();
      // As sql/publish.sql names a row without a key.
      var ended = key == null ? "\u0001" + claim.id() : key;
      freshKeys.keyEnded(ended, left.more());
      dueKeys.keyEnded(ended, left.due());
    }
  }
}
