package org.pgonce.internal.claim;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * From which id on a claim of new rows looks for them. The rows before have been claimed, and their
 * index entries stay for as long as somebody's snapshot may see them: a claim that begins with the
 * first one walks over all of them, the longer the older the oldest transaction of the server is.
 *
 * <p>It is a hint and no more. A row behind it may be committed later than those before it, as ids
 * are not committed in their order, or be given back by a process that died. So every now and then
 * a claim looks at the whole, and the cursor is where that finds the first one. Where that takes
 * long, a twentieth of the time goes into it, and while there always is work a row behind the
 * cursor waits for it {@link #MOST} longer at the most than the look itself takes. What a claim
 * from the cursor on does not find, the poll does, and then the next claim looks at the whole.
 *
 * <p>Thread-safe.
 */
public final class ClaimCursor {

  /** Between two looks at the whole there is so much time at least. */
  public static final Duration LEAST = Duration.ofMillis(2);

  /** And no more than that, however long a look takes. */
  public static final Duration MOST = Duration.ofMillis(500);

  // One that takes longer, and four times as long as the last one took, may never be answered.
  private static final long LOST_NANOS = Duration.ofSeconds(1).toNanos();

  private static final int SHARE = 20;

  /** A look, by what was known when it began. */
  public record Look(long after, boolean whole, int generation, long begunAt, boolean alone) {}

  private final ReentrantLock lock = new ReentrantLock();
  private long after;
  // Which whole look has set it. What was begun before that one's end says nothing of it.
  private int generation;
  // The one that is under way. One among others is not counted: those may hang, and it with them.
  private @Nullable Look looking;
  private long nextWholeAt = System.nanoTime();
  // After the last one at the whole, as far as its time is known.
  private long rest = LEAST.toNanos();
  private long lostAfter = LOST_NANOS;

  /** A claim begins; it is to look behind {@link Look#after}, 0 for the whole. */
  public Look begin() {
    lock.lock();
    try {
      return begin(true);
    } finally {
      lock.unlock();
    }
  }

  private Look begin(boolean alone) {
    var now = System.nanoTime();
    var whole = isWholeDue(now);
    var look = new Look(whole ? 0 : after, whole, generation, now, alone);
    if (whole && alone) {
      looking = look;
    } else if (whole) {
      nextWholeAt = now + rest;
    }
    return look;
  }

  /**
   * The same for one that is made among others, whose time says nothing of its own; null where it
   * would be one at the whole that takes long.
   */
  public @Nullable Look beginAmongOthers() {
    lock.lock();
    try {
      return rest > LEAST.toNanos() && isWholeDue(System.nanoTime()) ? null : begin(false);
    } finally {
      lock.unlock();
    }
  }

  private boolean isWholeDue(long now) {
    return !isLooking(now) && now - nextWholeAt >= 0;
  }

  private boolean isLooking(long now) {
    return looking != null && now - looking.begunAt() < lostAfter;
  }

  /** The claim of new rows whose id is higher. */
  @FunctionalInterface
  public interface Claiming<R> {
    public R after(long id) throws SQLException;
  }

  /**
   * Claims from the cursor on, or looks at the whole.
   *
   * @param lastId the highest id that was claimed; 0 if none
   */
  public <R> R claim(Claiming<R> claiming, ToLongFunction<R> lastId) throws SQLException {
    var look = begin();
    var last = -1L;
    try {
      var claimed = claiming.after(look.after());
      last = lastId.applyAsLong(claimed);
      return claimed;
    } finally {
      // Errors, too: where nobody knew that a look at the whole is over, there would be no other.
      if (last < 0) {
        failed(look);
      } else {
        ended(look, last);
      }
    }
  }

  /** A claim has ended; 0 if it has claimed none. */
  public void ended(Look look, long lastId) {
    lock.lock();
    try {
      var now = System.nanoTime();
      if (look.whole()) {
        if (look.equals(looking)) {
          looking = null;
          rest = restAfter(now - look.begunAt());
          lostAfter = Math.max(LOST_NANOS, 4 * (now - look.begunAt()));
        }
        nextWholeAt = now + rest;
      }
      // What was let go meanwhile may lie before it.
      if (lastId > 0 && look.generation() == generation) {
        after = look.whole() ? lastId : Math.max(after, lastId);
        generation += look.whole() ? 1 : 0;
      }
    } finally {
      lock.unlock();
    }
  }

  /** A claim has failed: it says nothing. */
  public void failed(Look look) {
    if (look.whole()) {
      lock.lock();
      try {
        looking = look.equals(looking) ? null : looking;
      } finally {
        lock.unlock();
      }
    }
  }

  /** From where claims look; 0 for the whole. */
  public long after() {
    lock.lock();
    try {
      return after;
    } finally {
      lock.unlock();
    }
  }

  /**
   * The poll has found a row, which may lie before the cursor: the next claim looks at the whole.
   */
  public void polled() {
    lock.lock();
    try {
      nextWholeAt = System.nanoTime();
    } finally {
      lock.unlock();
    }
  }

  /** What was claimed is free again: the next claims begin with it. */
  public void wentBack() {
    lock.lock();
    try {
      generation++;
      after = 0;
    } finally {
      lock.unlock();
    }
  }

  /** A short look is as good as any: where little is to be done, each looks at the whole. */
  private static long restAfter(long took) {
    return took <= LEAST.toNanos() ? LEAST.toNanos() : Math.min(MOST.toNanos(), SHARE * took);
  }
}
