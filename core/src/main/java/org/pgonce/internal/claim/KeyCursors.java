package org.pgonce.internal.claim;

/**
 * Where the claims of a subscription look whose channel has an order or a limit per key.
 *
 * @param inUse whether the channel has one
 * @param fresh for new rows
 * @param due for scheduled rows that are due
 */
public record KeyCursors(boolean inUse, KeyCursor fresh, KeyCursor due) {

  public static KeyCursors create(boolean inUse) {
    return new KeyCursors(inUse, new KeyCursor(System::nanoTime), new KeyCursor(System::nanoTime));
  }

  public KeyCursor of(boolean isDue) {
    return isDue ? due : fresh;
  }

  /** Whether a claim should look at once. */
  public boolean isMore() {
    return fresh.isMore() || due.isMore();
  }

  /** The poll has found that rows wait, and that there are so many listeners. */
  public void polled(int listeners) {
    if (inUse) {
      fresh.polled(listeners);
      due.polled(listeners);
    }
  }

  /** Keys were set free, and nobody says which. */
  public void unblocked() {
    if (inUse) {
      fresh.unblocked();
      due.unblocked();
    }
  }

  /** The row has ended, and this may lie behind it. */
  public void ended(Claim claim, RowsBehind left) {
    if (inUse) {
      var key = claim.headers().orderKey();
      // As sql/publish.sql names a row without a key.
      var ended = key == null ? "\u0001" + claim.id() : key;
      fresh.keyEnded(ended, left.more());
      due.keyEnded(ended, left.due());
    }
  }
}
