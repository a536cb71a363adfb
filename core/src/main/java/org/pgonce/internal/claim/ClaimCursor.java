package org.pgonce.internal.claim;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The id behind which claims look for new rows. The rows before it were claimed, and their index
 * entries stay for as long as a snapshot may see them: a claim from the first one on would walk
 * over all of these.
 *
 * <p>It is a hint. A row with a lower id may be committed late, since ids do not commit in their
 * order, or be given back by a process that died. So a claim looks at all rows again after 2 ms. If
 * that takes longer than 2 ms, the next such claim follows after 20 times as long, half a second at
 * most. The poll, which finds what claims miss, orders one at once.
 *
 * <p>Thread-safe.
 */
public final class ClaimCursor {

  private static final long QUICK = Duration.ofMillis(2).toNanos();
  private static final long LONGEST_REST = Duration.ofMillis(500).toNanos();
  private static final int REST_FACTOR = 20;

  // A look that takes longer, and four times as long as the last one, may never be answered.
  private static final long LOST = Duration.ofSeconds(1).toNanos();

  /**
   * Behind which id one claim looks.
   *
   * @param after 0 for all rows
   * @param isWhole whether it looks at all rows because that is due
   * @param generation how often the cursor had been set back
   * @param begunAt by System.nanoTime()
   */
  public record Look(long after, boolean isWhole, int generation, long begunAt) {}

  private long after;
  private int generation;
  private @Nullable Look whole; // under way
  private long wholeFrom = System.nanoTime();
  private long wholeTook;
  // Since the last such look began one of the others has found nothing, where a row may have been
  // committed late.
  private boolean isMissed;

  /** A claim begins. {@link #ended} or {@link #failed} follows. */
  public synchronized Look begin() {
    var now = System.nanoTime();
    var isWhole =
        whole == null
            ? now - wholeFrom >= 0
            : now - whole.begunAt() >= Math.max(LOST, 4 * wholeTook);
    var look = new Look(isWhole ? 0 : after, isWhole, generation, now);
    whole = isWhole ? look : whole;
    isMissed &= !isWhole;
    return look;
  }

  /** A claim of new rows whose id is higher. Returns them in the order of their ids. */
  @FunctionalInterface
  public interface Claiming {
    List<Claim> after(long id) throws SQLException;
  }

  public List<Claim> claim(Claiming claiming) throws SQLException {
    var look = begin();
    try {
      var claimed = claiming.after(look.after());
      ended(look, claimed.isEmpty() ? 0 : claimed.get(claimed.size() - 1).id());
      return claimed;
    } catch (Throwable e) {
      failed(look);
      throw e;
    }
  }

  /**
   * The claim has ended.
   *
   * @param lastId the highest id that it has claimed; 0 if none
   */
  public synchronized void ended(Look look, long lastId) {
    if (look.equals(whole)) {
      var now = System.nanoTime();
      whole = null;
      wholeTook = now - look.begunAt();
      wholeFrom =
          now + (wholeTook <= QUICK ? QUICK : Math.min(LONGEST_REST, REST_FACTOR * wholeTook));
    }
    isMissed |= lastId == 0 && !look.isWhole();
    // Claims that began before the cursor was set back know nothing of what lies before theirs.
    if (lastId > 0 && look.generation() == generation) {
      after = look.isWhole() ? lastId : Math.max(after, lastId);
      generation += look.isWhole() ? 1 : 0;
    }
  }

  /** The claim has failed, and has seen nothing. */
  public synchronized void failed(Look look) {
    whole = look.equals(whole) ? null : whole;
  }

  /**
   * How long to wait until a claim looks at all rows, where one that did not has found nothing;
   * null where none need.
   */
  public synchronized @Nullable Duration untilWhole() {
    return !isMissed
        ? null
        : Duration.ofNanos(
            whole == null ? Math.max(0, wholeFrom - System.nanoTime()) : LONGEST_REST);
  }

  public synchronized long after() {
    return after;
  }

  /** The poll has found a row: the next claim looks at all. */
  public synchronized void polled() {
    wholeFrom = System.nanoTime();
    whole = null; // one that is under way may have begun before the row was there
  }

  /** Claimed rows are free again: the next claims begin with the first. */
  public synchronized void wentBack() {
    generation++;
    after = 0;
  }
}
