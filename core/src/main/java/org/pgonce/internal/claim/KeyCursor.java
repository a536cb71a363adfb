package org.pgonce.internal.claim;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.KeyLook.At;
import org.pgonce.internal.claim.KeyLook.Result;
import org.pgonce.internal.claim.KeyLook.Seen;
import org.pgonce.internal.claim.KeyLook.Way;

/**
 * Where a claim looks for rows of a channel that has an order or a limit per key. Most rows that
 * wait there cannot be claimed: their keys wait for a dead letter, for a retry, for another claim.
 * A claim that looked at all of them would take the longer, the more there are. So a row that
 * cannot be claimed is passed over once, and is looked at again when there is a reason:
 *
 * <ul>
 *   <li>A row of its key has ended here, and another waits behind it: its key is tried at once.
 *   <li>Another process has its key locked: the key is tried with each poll, as that process may
 *       die.
 *   <li>It may have been committed later than a row behind it, as ids are not committed in their
 *       order. What came within the last {@link #LAG} is looked at again, with each look while that
 *       is quick, and for a twentieth of the time else.
 *   <li>For all else there is the walk over all keys: after each look that found nothing, for a
 *       fiftieth of the time of all listeners together, and at once where a dead letter was
 *       discarded or the like, for a twentieth.
 * </ul>
 *
 * <p>All of it is a hint: whether a row may be claimed is decided by the claim, under its key's
 * lock. One is for new rows, one for scheduled rows that are due. Thread-safe.
 */
public final class KeyCursor {

  public static final Duration LAG = Duration.ofSeconds(2);

  private static final int SHARE_OF_WALKS = 50;
  private static final int SHARE_OF_ASKED_WALKS = 20;
  private static final int SHARE_OF_LAG = 20;

  // As good as a look at nothing.
  private static final long SHORT_US = 2_000;

  // What a thousand keys take at most on a slow machine: a longer time is a pause of the machine.
  private static final long LONG_US = 100_000;

  private static final int MOST_PROBED = 64;

  // As many as there may be claims at a time. What is forgotten, the walk finds.
  private static final int MOST_KEPT = 1_000;

  private final LongSupplier nanoTime;
  private final ReentrantLock lock = new ReentrantLock();
  private final Set<Look> looking = new HashSet<>();
  private int listeners = 1;
  // Keys whose first row may be claimed by now.
  private final Set<String> toProbe = new LinkedHashSet<>();
  // Keys that others had locked.
  private final Set<String> busy = new LinkedHashSet<>();
  private boolean hasBegun;
  private boolean keysLast;
  // How many looks have passed over a row that the end of another one may set free.
  private long passed;

  private At near = At.START;
  private boolean unseen;
  // Near, as it was LAG ago at least.
  private At base = At.START;
  private At nextBase = At.START;
  private long nextBaseSince;
  // Where the next look at what came since begins: at the base, or where the last one had to stop.
  private At baseAt = At.START;
  private boolean baseIsShort = true;
  private long baseFrom;

  // Of the walk: where it is, null between two; who is at it; what it took so far.
  private @Nullable String walkFrom;
  private @Nullable Look walker;
  private long walkUs;
  private int looksSinceWalk;
  private boolean walkIsAsked;
  private boolean needsWalk;
  private boolean asked;
  private long walksFrom;
  private long askedWalksFrom;

  /** A look, by what was known when it began. */
  public static final class Look {
    private final KeyLook where;
    private final boolean fromBase;
    private final Set<String> endedMeanwhile = new HashSet<>();

    private Look(KeyLook where, boolean fromBase) {
      this.where = where;
      this.fromBase = fromBase;
    }

    public KeyLook where() {
      return where;
    }
  }

  /**
   * @param nanoTime as of System
   */
  public KeyCursor(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
    this.nextBaseSince = nanoTime.getAsLong();
    this.baseFrom = nextBaseSince;
    this.walksFrom = nextBaseSince;
    this.askedWalksFrom = nextBaseSince;
  }

  /** A claim begins. {@link #ended} must follow. */
  public Look begin() {
    lock.lock();
    try {
      var now = nanoTime.getAsLong();
      hasBegun = true;
      var fromBase = baseIsShort || now - baseFrom >= 0;
      if (walker == null && walkFrom == null && isWalkAllowed(now)) {
        walkIsAsked = asked && now - askedWalksFrom >= 0;
        asked &= !walkIsAsked;
        walkFrom = "";
        walkUs = 0;
      }
      var walks = walker == null && walkFrom != null;
      var where =
          new KeyLook(ways(walks), toProbe(), fromBase ? baseAt : near, walks ? walkFrom : null);
      var look = new Look(where, fromBase);
      looking.add(look);
      walker = walks ? look : walker;
      return look;
    } finally {
      lock.unlock();
    }
  }

  private boolean isWalkAllowed(long now) {
    return now - walksFrom >= 0 || (asked && now - askedWalksFrom >= 0);
  }

  /** Rows in their order and keys take turns; the walk comes first where they leave it no time. */
  private List<Way> ways(boolean walks) {
    keysLast = !keysLast;
    var ways =
        new ArrayList<>(keysLast ? List.of(Way.NEAR, Way.KEYS) : List.of(Way.KEYS, Way.NEAR));
    if (walks) {
      looksSinceWalk++;
      ways.add(looksSinceWalk > 3 ? 0 : 2, Way.WALK);
    }
    return ways;
  }

  private List<String> toProbe() {
    var keys = toProbe.stream().limit(MOST_PROBED).toList();
    keys.forEach(toProbe::remove);
    return keys;
  }

  /** It has ended; null if it has failed. */
  public void ended(Look look, @Nullable Result result) {
    if (result == null || result.seen() == null) {
      failed(look);
    } else {
      ended(look, result.seen(), result.claim() != null);
    }
  }

  private void ended(Look look, Seen seen, boolean found) {
    lock.lock();
    try {
      var now = nanoTime.getAsLong();
      looking.remove(look);
      var untried = look.where.keys().subList(seen.probed(), look.where.keys().size());
      keep(toProbe, untried);
      keep(busy, seen.busy());
      if (seen.passed()) {
        passed++;
        keep(toProbe, look.endedMeanwhile);
      }
      reached(look, seen, now);
      if (look.equals(walker)) {
        walker = null;
        walked(seen, now);
      } else if (!found && walkFrom == null) {
        needsWalk = true;
      }
    } finally {
      lock.unlock();
    }
  }

  private void keep(Set<String> kept, Collection<String> keys) {
    for (var key : keys) {
      if (kept.size() < MOST_KEPT) {
        kept.add(key);
      } else {
        needsWalk = true;
      }
    }
  }

  private void reached(Look look, Seen seen, long now) {
    if (seen.nearUs() == 0) {
      return; // it has found a row before it came to that
    }
    if (near.compareTo(seen.reached()) <= 0) {
      near = seen.reached();
      unseen = seen.unseen();
    }
    if (now - nextBaseSince >= LAG.toNanos()) {
      base = nextBase;
      nextBase = near;
      nextBaseSince = now;
    }
    if (look.fromBase) {
      var stopped = seen.unseen() && seen.reached().compareTo(near) < 0;
      unseen |= stopped; // it has not come to what is new
      baseAt = stopped ? seen.reached() : base;
      baseIsShort = seen.nearUs() <= SHORT_US && !seen.unseen();
      baseFrom = now + SHARE_OF_LAG * 1_000L * Math.min(seen.nearUs(), LONG_US);
    }
  }

  private void walked(Seen seen, long now) {
    if (seen.walked() == null) {
      // It has found a row before it came to that. A walk that nobody needs begins anew.
      walkFrom = walkIsNeeded() ? walkFrom : null;
      return;
    }
    looksSinceWalk = 0;
    walkUs += Math.min(seen.walkUs(), LONG_US);
    if (!seen.walked().isEmpty()) {
      walkFrom = seen.walked();
      return;
    }
    walkFrom = null;
    needsWalk = false;
    walksFrom = now + SHARE_OF_WALKS * 1_000L * listeners * walkUs;
    if (walkIsAsked) {
      askedWalksFrom = now + SHARE_OF_ASKED_WALKS * 1_000L * walkUs;
    }
  }

  private boolean walkIsNeeded() {
    return walkIsAsked || needsWalk || !"".equals(walkFrom);
  }

  /** It says nothing. Its keys are tried with the next poll. */
  private void failed(Look look) {
    lock.lock();
    try {
      looking.remove(look);
      keep(busy, look.where.keys());
      keep(busy, look.endedMeanwhile);
      if (look.equals(walker)) {
        walker = null;
      }
    } finally {
      lock.unlock();
    }
  }

  /** To be told to {@link #keyEnded}: how many rows were passed over until now. */
  public long passed() {
    lock.lock();
    try {
      return passed;
    } finally {
      lock.unlock();
    }
  }

  /**
   * A row of the key has ended here.
   *
   * @param more whether another row of its key may wait behind it
   * @param passedBefore what {@link #passed} was when it was claimed: a row that was passed over
   *     since may have waited for it
   */
  public void keyEnded(String key, boolean more, long passedBefore) {
    lock.lock();
    try {
      if (more || passed != passedBefore) {
        keep(toProbe, List.of(key));
      }
      looking.forEach(look -> look.endedMeanwhile.add(key));
    } finally {
      lock.unlock();
    }
  }

  /** A poll has found that something waits, and that there are so many listeners. */
  public void polled(int count) {
    lock.lock();
    try {
      listeners = Math.max(1, count);
      keep(toProbe, busy);
      busy.clear();
    } finally {
      lock.unlock();
    }
  }

  /** Keys may have been set free that nobody names. */
  public void unblocked() {
    lock.lock();
    try {
      asked = hasBegun; // else the first looks are at all there is
    } finally {
      lock.unlock();
    }
  }

  /** Behind which new id nothing was looked at. */
  public long reachedId() {
    lock.lock();
    try {
      return near.id();
    } finally {
      lock.unlock();
    }
  }

  /** Whether a claim should look at once for what it has not looked at. */
  public boolean isMore() {
    lock.lock();
    try {
      return !toProbe.isEmpty()
          || unseen
          || (walker == null
              && ((walkFrom != null && walkIsNeeded())
                  || (asked && nanoTime.getAsLong() - askedWalksFrom >= 0)));
    } finally {
      lock.unlock();
    }
  }
}
