package org.pgonce.testkit;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A fault of a {@link FaultProxy} that waits for the statement it is meant for, and strikes once.
 */
public final class Trap {

  enum Kind {
    CUT_BEFORE_FORWARDING,
    CUT_AFTER_FORWARDING,
    HOLD_ANSWER
  }

  private final Kind kind;
  private final String previous;
  private final String text;
  private final AtomicBoolean taken = new AtomicBoolean();
  private final CountDownLatch sprung = new CountDownLatch(1);
  private final CountDownLatch released = new CountDownLatch(1);

  Trap(Kind kind, String previous, String text) {
    if (text.isEmpty()) {
      throw new IllegalArgumentException(
          "A trap needs a text that its statement contains, not an empty one");
    }
    this.kind = kind;
    this.previous = previous;
    this.text = text;
  }

  Kind kind() {
    return kind;
  }

  /** Takes the trap if it is meant for this statement and nobody has yet. */
  boolean takenBy(String before, String sql) {
    return sql.contains(text) && before.contains(previous) && !taken.getAndSet(true);
  }

  void spring() {
    sprung.countDown();
  }

  void awaitRelease() throws InterruptedException {
    released.await();
  }

  /**
   * Whether the fault has struck. For the traps that pass the message on, the server has done what
   * it said by then.
   */
  public boolean isSprung() {
    return sprung.getCount() == 0;
  }

  /**
   * Waits until the fault has struck.
   *
   * @throws AssertionError if it has not within the bound
   */
  public void awaitSprung(Duration bound) throws InterruptedException {
    if (!sprung.await(bound.toMillis(), TimeUnit.MILLISECONDS)) {
      throw new AssertionError(
          "No client ran a statement with '%s' to its end within %s: the trap %s has not been sprung"
              .formatted(text, bound, kind));
    }
  }

  /** Lets an answer that is held, or will be, go on to the client. */
  public void release() {
    released.countDown();
  }
}
