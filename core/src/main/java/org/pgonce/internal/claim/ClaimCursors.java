package org.pgonce.internal.claim;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where the claims of one subscription look for rows. Scheduled rows of a channel without keys need
 * no cursor: those that are due come first in their index.
 *
 * @param fresh for new rows of a channel that has neither an order nor a limit per key
 * @param keys for a channel that has one; else null
 */
public record ClaimCursors(ClaimCursor fresh, @Nullable KeyCursors keys) {

  /**
   * Cursors that begin with the first rows.
   *
   * @param byKey whether the channel has an order or a limit per key
   */
  public static ClaimCursors create(boolean byKey) {
    return new ClaimCursors(new ClaimCursor(), byKey ? new KeyCursors() : null);
  }

  /**
   * Claims where rows are looked for.
   *
   * @param due whether among the scheduled rows that are due, or among the new ones
   * @param byKey claims one row of a channel that has keys
   * @param behind claims the first rows of another one
   */
  public List<Claim> claim(boolean due, KeyCursor.Claiming byKey, ClaimCursor.Claiming behind)
      throws SQLException {
    if (keys != null) {
      return (due ? keys.due() : keys.fresh()).claim(byKey).claims();
    }
    return due ? behind.after(0) : fresh.claim(behind);
  }

  /** Whether a claim should look at once. */
  public boolean isMore() {
    return keys != null && (keys.fresh().isMore() || keys.due().isMore());
  }

  /** Whether a claim of scheduled rows should look at once. */
  public boolean isMoreDue() {
    return keys != null && keys.due().isMore();
  }

  /** The poll has found that new rows wait, or rows of some key, and so many listeners. */
  public void polled(boolean isFresh, int listeners) {
    if (isFresh) {
      fresh.polled();
    }
    if (keys != null) {
      keys.fresh().polled(listeners);
      keys.due().polled(listeners);
    }
  }

  /** Keys were set free, and nobody says which. */
  public void unblocked() {
    if (keys != null) {
      keys.fresh().unblocked();
      keys.due().unblocked();
    }
  }

  /** The row has ended, and this may lie behind it. */
  public void ended(Claim claim, RowsBehind left) {
    if (keys != null) {
      var key = claim.headers().orderKey();
      // As sql/publish.sql names a row without a key.
      var ended = key == null ? "\u0001" + claim.id() : key;
      keys.fresh().keyEnded(ended, left.more());
      keys.due().keyEnded(ended, left.due());
    }
  }

  /** Those of a channel that has keys, for new rows and for scheduled ones that are due. */
  public record KeyCursors(KeyCursor fresh, KeyCursor due) {

    KeyCursors() {
      this(new KeyCursor(System::nanoTime), new KeyCursor(System::nanoTime));
    }
  }
}
