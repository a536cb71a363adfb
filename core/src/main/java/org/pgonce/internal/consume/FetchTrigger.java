package org.pgonce.internal.consume;

import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.pgonce.Backoff;
import org.pgonce.internal.claim.ClaimCursors;
import org.pgonce.internal.claim.RowsBehind;

/**
 * Decides when the next worker of a subscription begins to claim, and for what: new rows, scheduled
 * rows, or both.
 *
 * <table>
 * <caption>Delays</caption>
 * <tr><th>reason</th><th>a claim begins</th></tr>
 * <tr><td>a wake-up, rank 0</td><td>at once</td></tr>
 * <tr><td>a wake-up, rank 1</td><td>after 200 ms, if nothing was claimed meanwhile; from rank 2 on
 * the poll sees to it. A process that found something late answers at once, until two claims in a
 * row find nothing</td></tr>
 * <tr><td>wake-ups while claims find nothing</td><td>at once eight times; then after 10 ms, doubling
 * to 160 ms, until a claim finds something</td></tr>
 * <tr><td>the poll, the gate, a free slot, a pause that is over</td><td>at once</td></tr>
 * <tr><td>rows may lie behind a claimed one</td><td>when that is settled, or after 100 ms; after 5
 * ms where one of the last eight took more than 20 ms</td></tr>
 * <tr><td>a claim behind the cursor found nothing</td><td>when one may look at all rows: see {@link
 * org.pgonce.internal.claim.ClaimCursor}</td></tr>
 * <tr><td>a claim found several rows, and fewer than a batch has room for: it left none</td><td>15
 * ms after it at the earliest, so that the next batch is fuller</td></tr>
 * <tr><td>the database is in trouble</td><td>after 50 ms to 1 s, with jitter: each time later, until
 * something that was claimed has ended</td></tr>
 * <tr><td>the rate allows no claim</td><td>when it does</td></tr>
 * </table>
 *
 * <p>No second worker begins while one is claiming: that one claims once more for whatever is asked
 * for meanwhile. Guarded by the consumer's lock, with which each method is called.
 */
final class FetchTrigger {

  enum Reason {
    POLLED,
    /** New rows may be there: behind an open gate, or for a slot that is free again. */
    NEW,
    /** Scheduled rows are due. */
    DUE
  }

  private static final Duration FOLLOWER_DELAY = Duration.ofMillis(200);
  // One is empty where the row of a wake-up was claimed before that was heard.
  private static final int EMPTY_UNTIL_RANK_COUNTS = 2;

  // Most handlers are quicker, and their settlement says whether a row lies behind. A timer that
  // fires competes with the claim for a processor: so behind quick handlers it is set far off, and
  // most claims plan it anew before it fires.
  private static final Duration BEHIND = Duration.ofMillis(5);
  private static final Duration BEHIND_QUICK = Duration.ofMillis(100);
  private static final long SLOW_NANOS = Duration.ofMillis(20).toNanos();
  private static final int QUICK_IN_A_ROW = 8;

  // Without it several workers share what comes in between: many claims of a few rows, whose cost a
  // busy server takes from the writers (a quarter of their commits, measured with 16).
  private static final Duration GATHERING = Duration.ofMillis(15);

  // If fewer come in the 50 ms between two questions of the gate, a wake-up is quicker, and costs
  // little.
  private static final int BUSY_ROWS = 6;

  private static final int EMPTY_AT_ONCE = 8;
  private static final Duration WHILE_EMPTY = Duration.ofMillis(10);
  private static final int MOST_DOUBLED = 4;

  private static final Backoff TROUBLE = new Backoff(Duration.ofMillis(100), Duration.ofSeconds(1));

  // A claim that takes longer may never be answered, as its connection is lost.
  private static final long LOST_NANOS = Duration.ofSeconds(1).toNanos();

  private static final long NEVER = Long.MAX_VALUE;

  private final BiConsumer<Duration, Runnable> timer;
  private final LongSupplier nanoTime;
  private final long origin;
  private final ClaimCursors cursors;
  private final Runnable begin;

  // Of all claims; and since the gate has asked.
  private long claims;
  private long emptyClaims;
  private boolean hasBegun;
  private int newRows;
  private boolean wasEmpty;
  // Claims under way.
  private final Set<Claiming> claiming = new HashSet<>();
  // New rows, or scheduled ones, were asked for since the last claim of them began.
  private boolean newWanted;
  private boolean dueWanted;
  private boolean dueWasLast;
  // Rows lie behind a claimed one, by the latest settlement.
  private boolean rowsBehind;
  // By nanoTime since the origin, or NEVER: rows may lie behind a claimed one; a wake-up is to be
  // answered late.
  private long behindAt = NEVER;
  private long answerAt = NEVER;
  // A claim that did not look at all rows has found none: when one may look at all.
  private long wholeAt = NEVER;
  // How many in a row were settled within SLOW_NANOS.
  private int quickInARow;
  // No claim begins before that.
  private long restUntil;
  private long timerAt = NEVER;

  private volatile int rank;
  // Something was found late: answers at once, though its rank is not 0.
  private volatile boolean ignoresRank;
  // Whether the next claim is for what was found late; whether it answers a wake-up.
  private boolean nextIsLate;
  private boolean nextIsAnswer;
  private int emptyInARow;
  private int troubles;

  /**
   * @param timer runs work after a delay, with the lock held
   * @param cursors what is known of rows that wait for one another
   * @param begin lets a worker begin, where it may; called with the lock held
   */
  FetchTrigger(
      BiConsumer<Duration, Runnable> timer,
      LongSupplier nanoTime,
      ClaimCursors cursors,
      Runnable begin) {
    this.timer = timer;
    this.nanoTime = nanoTime;
    this.origin = nanoTime.getAsLong();
    this.cursors = cursors;
    this.begin = begin;
  }

  long claims() {
    return claims;
  }

  long emptyClaims() {
    return emptyClaims;
  }

  /** Whether a claim has begun since the last question. */
  boolean takeHasBegun() {
    var since = hasBegun;
    hasBegun = false;
    return since;
  }

  /**
   * Whether since the last question many new rows were claimed; or some, and no claim was empty.
   */
  boolean takeBusy() {
    var busy = newRows >= BUSY_ROWS || (newRows > 0 && !wasEmpty);
    newRows = 0;
    wasEmpty = false;
    return busy;
  }

  private long now() {
    return nanoTime.getAsLong() - origin;
  }

  void notified() {
    var delay = answerDelay();
    if (delay.isZero()) {
      newWanted = true;
      nextIsAnswer = true;
      beginIfWanted();
    } else if (rank <= 1 || ignoresRank) {
      answerAt = Math.min(answerAt, now() + delay.toNanos());
      plan();
    }
  }

  private Duration answerDelay() {
    if (!answersAtOnce()) {
      return FOLLOWER_DELAY;
    }
    return emptyInARow < EMPTY_AT_ONCE
        ? Duration.ZERO
        : WHILE_EMPTY.multipliedBy(1L << Math.min(emptyInARow - EMPTY_AT_ONCE, MOST_DOUBLED));
  }

  /** Whether a wake-up is answered at once. Safe without the lock. */
  boolean answersAtOnce() {
    return rank == 0 || ignoresRank;
  }

  void request(Reason reason) {
    if (reason == Reason.DUE) {
      dueWanted = true;
    } else {
      newWanted = true;
      nextIsLate |= reason == Reason.POLLED;
    }
    beginIfWanted();
  }

  /** The poll says which rank this process has. */
  void ranked(int newRank) {
    rank = newRank;
    if (newRank == 0 && answerAt != NEVER) {
      answerAt = NEVER;
      newWanted = true;
      beginIfWanted();
    }
  }

  /** Whatever there is, no claim begins for that long. */
  void rest(Duration time) {
    newWanted = true;
    restUntil = Math.max(restUntil, now() + time.toNanos());
    plan();
  }

  /** The database, not a notification, is in trouble. */
  void troubled() {
    troubles++;
    dueWanted = true;
    rest(TROUBLE.after(troubles));
  }

  /** What was claimed has come to its end, as the database goes. A claim alone only reads. */
  void worked() {
    troubles = 0;
  }

  /** Whether a worker that has nothing at work should claim. */
  boolean isWanted() {
    return now() >= restUntil && (newWanted || dueWanted || rowsBehind || cursors.isMore());
  }

  boolean isDue() {
    return dueWanted || cursors.isMoreDue();
  }

  private boolean isNobodyClaiming(long now) {
    for (var one : claiming) {
      if (now - one.since < LOST_NANOS) {
        return false;
      }
    }
    return true;
  }

  /** Lets a worker begin if one is wanted and none is claiming; else plans the timer. */
  void beginIfWanted() {
    if (isNobodyClaiming(now()) && isWanted()) {
      begin.run();
    } else {
      plan();
    }
  }

  /** One timer, for the earliest time. */
  private void plan() {
    var at = Math.min(Math.min(behindAt, answerAt), wholeAt);
    if (now() < restUntil && (newWanted || dueWanted || rowsBehind)) {
      at = Math.min(at, restUntil);
    }
    if (at == NEVER) {
      return;
    }
    var planned = Math.max(at, restUntil);
    if (planned < timerAt) {
      timer.accept(Duration.ofNanos(Math.max(0, planned - now())), () -> fire(planned));
      timerAt = planned;
    }
  }

  private void fire(long planned) {
    if (timerAt != planned) {
      return; // an earlier one was planned meanwhile
    }
    timerAt = NEVER;
    var now = now();
    if (now < restUntil) {
      plan(); // what it was planned for, later
      return;
    }
    if (now >= answerAt) {
      answerAt = NEVER;
      newWanted = true;
      nextIsLate |= !answersAtOnce();
      nextIsAnswer = true;
    }
    var isBehind = now >= Math.min(behindAt, wholeAt);
    behindAt = now >= behindAt ? NEVER : behindAt;
    wholeAt = now >= wholeAt ? NEVER : wholeAt;
    if (!isNobodyClaiming(now)) {
      newWanted |= isBehind; // a claim of a scheduled row tells of no new ones
    } else if (isBehind || isWanted()) {
      begin.run();
    }
    plan();
  }

  Claiming claiming() {
    return new Claiming();
  }

  /** The claims of one worker, one after the other. */
  final class Claiming {

    private long since;
    private long foundAt;
    private boolean isDue;
    private boolean isLate;
    private boolean isAnswer;

    void starts() {
      since = now();
      claiming.add(this);
    }

    /** A claim begins; returns whether it is to be for a scheduled row. */
    boolean begins() {
      hasBegun = true;
      starts();
      // New and scheduled rows take turns.
      isDue = isDue() && !dueWasLast;
      dueWasLast = isDue;
      isLate = nextIsLate && !isDue;
      isAnswer = nextIsAnswer && !isDue;
      // Before the claim's snapshot, which may not have a row that is asked for from now on.
      if (isDue) {
        dueWanted = false;
      } else {
        newWanted = false;
        nextIsLate = false;
        nextIsAnswer = false;
        behindAt = NEVER;
        answerAt = NEVER;
        wholeAt = since >= wholeAt ? NEVER : wholeAt;
      }
      return isDue;
    }

    /** A claim of new rows is sent behind a commit: what was asked for stays asked for. */
    void beginsBehindCommit() {
      hasBegun = true;
      isDue = false;
      isLate = false;
      isAnswer = false;
    }

    /** A claim has ended, and could have found so many. */
    void found(int count, int most) {
      claims++;
      emptyClaims += count == 0 ? 1 : 0;
      ends();
      if (isDue) {
        dueWanted |= count > 0; // where none is found, those that are left are claimed
      } else if (count > 0) {
        newRows += count;
        emptyInARow = 0;
        ignoresRank |= isLate;
        foundAt = now();
        if (count > 1 && count < most) {
          restUntil = Math.max(restUntil, foundAt + GATHERING.toNanos());
        }
        var behind = quickInARow < QUICK_IN_A_ROW ? BEHIND : BEHIND_QUICK;
        behindAt = foundAt + behind.toNanos();
        plan();
      } else {
        wasEmpty = true;
        emptyInARow += isAnswer ? 1 : 0;
        ignoresRank &= emptyInARow < EMPTY_UNTIL_RANK_COUNTS;
        rowsBehind = false;
        var wait = cursors.fresh().untilWhole();
        wholeAt = wait == null ? NEVER : now() + wait.toNanos();
        plan();
      }
    }

    /** The worker does not claim, for now or for good. */
    void ends() {
      claiming.remove(this);
    }

    /** What it has found is settled, or let go. The end of a scheduled row tells of no new ones. */
    void ended(RowsBehind left) {
      dueWanted |= left.due();
      if (!isDue) {
        rowsBehind = left.more();
        behindAt = rowsBehind ? behindAt : NEVER;
        plan(); // what lies behind may have to rest
        quickInARow = now() - foundAt < SLOW_NANOS ? quickInARow + 1 : 0;
      }
    }
  }
}
