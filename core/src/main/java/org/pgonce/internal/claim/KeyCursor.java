package org.pgonce.internal.claim;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.KeyLook.At;
import org.pgonce.internal.claim.KeyLook.Seen;
import org.pgonce.internal.claim.KeyLook.Way;

/**
 * Where the claims of a channel that has an order or a limit per key look for rows. Most rows that
 * wait there cannot be claimed: their keys wait for a dead letter, a retry or another claim. So a
 * claim looks in three ways, which take turns:
 *
 * <ul>
 *   <li>keys: those of which a row has ended here; with each poll, those that others had locked.
 *   <li>near: rows in their order behind the position that was reached. Ids do not commit in their
 *       order, so a look begins {@link #LAG} back, as long as that is quick; else for a twentieth
 *       of the time.
 *   <li>walk: from key to key, for whatever the others miss. The poll orders it where rows wait,
 *       for a fiftieth of the time of all listeners together; where keys were set free, it begins
 *       earlier.
 * </ul>
 *
 * <p>All of it is a hint: the claim decides under the key's lock. Thread-safe.
 */
public final class KeyCursor {

  static final Duration LAG = Duration.ofSeconds(2);

  private static final int REST = 20;
  private static final int REST_OF_LISTENER = 50;
  private static final long SHORT_US = 2_000;
  // A thousand rows take less on a slow machine: more is a pause of the machine.
  private static final long LONG_US = 100_000;
  private static final int MOST_TRIED = 64;
  // What does not fit, the walk finds.
  private static final int MOST_KEPT = 1_000;

  private final LongSupplier nanoTime;
  private final Set<String> keys = new LinkedHashSet<>();
  private final Set<String> busy = new LinkedHashSet<>();
  private long looks;
  private int walks;
  private int looking;
  private long passedAt;

  private At near = At.START;
  // By the look that began last of those that have ended.
  private boolean unseen;
  private long unseenBy;
  // Positions that were reached LAG ago or earlier, and since then.
  private At base = At.START;
  private At nextBase = At.START;
  private long nextBaseSince;
  private long baseFrom;

  private @Nullable String walkFrom;
  private @Nullable KeyLook walk;
  private boolean isWalkOrdered;
  private boolean isKeyFree;
  private int listeners = 1;
  private long walkUs;
  private long walkedAt;

  KeyCursor(LongSupplier nanoTime) {
    this(nanoTime, 0);
  }

  KeyCursor(LongSupplier nanoTime, long looks) {
    this.nanoTime = nanoTime;
    this.looks = looks;
    var now = nanoTime.getAsLong();
    this.passedAt = now - LAG.toNanos();
    this.nextBaseSince = now;
    this.baseFrom = now;
    this.walkedAt = now;
  }

  @FunctionalInterface
  public interface Claiming {
    KeyLook.Result in(KeyLook look) throws SQLException;
  }

  public KeyLook.Result claim(Claiming claiming) throws SQLException {
    var look = begin();
    Seen seen = null;
    try {
      var result = claiming.in(look);
      seen = result.seen();
      return result;
    } finally {
      ended(look, seen);
    }
  }

  synchronized KeyLook begin() {
    var now = nanoTime.getAsLong();
    if (walkFrom == null && isWalkDue(now)) {
      isWalkOrdered = false;
      isKeyFree = false;
      walkFrom = "";
      walkUs = 0;
    }
    var isWalk = walkFrom != null && walk == null;
    var ways = new ArrayList<>(List.of(Way.KEYS, Way.NEAR));
    if (isWalk) {
      ways.add(Way.WALK);
    }
    looks++;
    // Each with a turn of its own, or some would never come first.
    Collections.rotate(ways, isWalk ? walks++ : (int) (looks % ways.size()));
    var tried = keys.stream().limit(MOST_TRIED).toList();
    tried.forEach(keys::remove);
    var after = now - baseFrom >= 0 ? base : near;
    var look = new KeyLook(looks, ways, tried, after, isWalk ? walkFrom : null);
    looking++;
    walk = isWalk ? look : walk;
    return look;
  }

  private boolean isWalkDue(long now) {
    var rest = isKeyFree ? REST : REST_OF_LISTENER * listeners;
    return (isKeyFree || isWalkOrdered) && now - walkedAt >= rest * 1_000L * walkUs;
  }

  /**
   * @param seen null if the claim has failed
   */
  synchronized void ended(KeyLook look, @Nullable Seen seen) {
    looking--;
    var walked = look.equals(walk);
    walk = walked ? null : walk;
    if (seen == null) {
      keep(busy, look.keys());
      return;
    }
    var now = nanoTime.getAsLong();
    keep(keys, look.keys().subList(seen.probed(), look.keys().size()));
    keep(busy, seen.busy());
    passedAt = seen.passed() ? now : passedAt;
    if (look.number() >= unseenBy) {
      // A look that found a row by its key has not come to the new rows.
      unseen = seen.unseen() || seen.nearUs() == 0;
      unseenBy = look.number();
    }
    if (seen.nearUs() > 0) {
      reached(look, seen, now);
    }
    if (walked && seen.walked() != null) {
      walkUs += Math.min(seen.walkUs(), LONG_US);
      walkedAt = now;
      walkFrom = seen.walked().isEmpty() ? null : seen.walked();
    }
  }

  private static void keep(Set<String> kept, Collection<String> keys) {
    keys.stream().limit(Math.max(0, MOST_KEPT - kept.size())).forEach(kept::add);
  }

  private void reached(KeyLook look, Seen seen, long now) {
    if (look.after().equals(base)) {
      var us = seen.nearUs() > SHORT_US || seen.unseen() ? Math.min(seen.nearUs(), LONG_US) : 0;
      baseFrom = now + REST * 1_000L * us;
    }
    near = near.compareTo(seen.reached()) < 0 ? seen.reached() : near;
    if (now - nextBaseSince >= LAG.toNanos()) {
      base = nextBase;
      nextBase = near;
      nextBaseSince = now;
    }
  }

  /**
   * A row of the key has ended here.
   *
   * @param more whether its deletion has seen another row of the key
   */
  synchronized void keyEnded(String key, boolean more) {
    // A look beside the deletion, or just before, may have passed over a row that the deletion
    // did not see.
    if (more || looking > 0 || nanoTime.getAsLong() - passedAt < LAG.toNanos()) {
      keep(keys, List.of(key));
    }
  }

  synchronized void polled(int count) {
    listeners = Math.max(1, count);
    keep(keys, busy);
    busy.clear();
    isWalkOrdered = true;
  }

  synchronized void unblocked() {
    isKeyFree = true;
  }

  public synchronized boolean isMore() {
    return !keys.isEmpty()
        || unseen
        || (walk == null && (walkFrom != null || (isKeyFree && isWalkDue(nanoTime.getAsLong()))));
  }
}
