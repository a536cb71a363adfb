package org.pgonce;

import java.util.Objects;
import org.pgonce.internal.guard.GuardDesk;

/**
 * What a person decides about calls whose outcome nobody knows, or that have failed for good. Each
 * is recorded in {@code pgonce.guard_history}: who, why, when, and by which login; it stays there
 * when the guard is gone.
 *
 * <p>Needs the role {@code pgonce_admin}, or the owner's. Each method is one transaction on a
 * connection of the data source, and throws a {@link PgOnceException} if the database refuses: the
 * guard is not there, the call may still run, it has succeeded, or the role is missing. Then
 * nothing was changed. Safe for use by several threads.
 *
 * <p>In all of them {@code who} has 1 to 200 characters and {@code why} 1 to 2,000; an {@link
 * IllegalArgumentException} says if not, before any SQL runs.
 */
public final class GuardOverrides {

  private final GuardDesk desk;

  GuardOverrides(GuardDesk desk) {
    this.desk = desk;
  }

  /**
   * Lets it be begun again, by whoever comes next with the same key and the same request. Make sure
   * before that the first call has had no effect and will have none.
   */
  public void release(GuardKey key, String who, String why) {
    Objects.requireNonNull(key, "key");
    requireText("who", who, 200);
    requireText("why", why, 2_000);
    desk.release(key, who, why);
  }

  /**
   * Settles it: it happened, with this response; or it did not. A sequence is given up by {@link
   * GuardAnswer#didNotHappen}, and is not resumed then.
   *
   * @throws IllegalArgumentException also if the answer is {@link GuardAnswer#cannotTell}, or its
   *     response cannot be stored
   */
  public <R> void settle(
      GuardKey key, Class<R> type, GuardAnswer<R> answer, String who, String why) {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(answer, "answer");
    requireText("who", who, 200);
    requireText("why", why, 2_000);
    desk.settle(key, type, answer, who, why);
  }

  private static void requireText(String name, String text, int most) {
    Objects.requireNonNull(text, name);
    if (text.isBlank() || text.length() > most) {
      throw new IllegalArgumentException(
          name + " has " + text.length() + " characters: 1 to " + most + ", not blank");
    }
  }
}
