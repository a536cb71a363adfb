package org.pgonce.internal;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.Wakefulness.State;
import org.pgonce.internal.claim.WordStatements;
import org.pgonce.internal.claim.WordStatements.Owed;
import org.pgonce.internal.claim.WordStatements.Word;

/**
 * What {@link Wakefulness} does with the channel's word, step by step, and what it owes. Each step
 * says after which time the next is to be taken; null: when there is a reason. Of the one who
 * steps.
 */
final class WakefulnessSteps {

  // The word is good for ten times as long.
  private static final Duration RENEWAL = Duration.ofMillis(50);
  // Not worth it so often in a row. Once is no sign: what has just begun is slow, and so is a
  // process that had no processor for a while.
  private static final int PATIENCE_WITH_FEW = 3;
  // After an answer that says that this one may not be awake; and before it asks again whether
  // writers wait, where it was no use that it was awake.
  private static final Duration REFUSED = Duration.ofSeconds(10);
  // Whom it waits for may be open for hours: an eighth of the time so far, at most.
  private static final int PATIENCE = 8;

  /** The least that it waits for those who are open. */
  static final Duration SHORTEST_WAIT = Duration.ofMillis(5);

  private static final Duration LONGEST_WAIT = Duration.ofSeconds(2);

  private final ChannelWord word;
  private final List<Wakeful> subscriptions;
  private final Wakefulness of;
  private Owed owed = new Owed(0, "", "");
  private long owedSince;
  private int left;
  private boolean alwaysCalls;
  private long awokeAt;
  private long lastBusyAt;
  private int fewInARow;

  /**
   * @param subscriptions complete before the first step
   */
  WakefulnessSteps(ChannelWord word, List<Wakeful> subscriptions, Wakefulness of) {
    this.word = word;
    this.subscriptions = subscriptions;
    this.of = of;
  }

  /**
   * It is asleep or owing, and is to be awake.
   *
   * @param asks whether only if writers wait
   */
  @Nullable Duration open(boolean asks) throws SQLException {
    if (asks) {
      var doWait = word.doWritersWait();
      if (doWait == null) {
        return of.refused(REFUSED);
      } else if (!doWait) {
        return of.spared();
      }
    }
    var announced = word.announceAwake();
    if (announced == null || announced == WordStatements.TAKEN) {
      return of.refused(announced == null ? REFUSED : Wakefulness.WATCH);
    }
    owed = new Owed(announced, "", "");
    awokeAt = System.nanoTime();
    lastBusyAt = awokeAt;
    fewInARow = 0;
    of.become(State.ANNOUNCED);
    return stayAwake(false) ? RENEWAL : fallAsleep(true);
  }

  private boolean stayAwake(boolean asks) throws SQLException {
    var renewed = word.stayAwake(owed.mine(), asks);
    if (renewed == null) {
      return false;
    }
    owed = new Owed(renewed, "", "");
    of.become(State.AWAKE);
    return true;
  }

  /** It is awake: whether it is still worth it. */
  Duration renew() throws SQLException {
    var helpless = false;
    var busy = false;
    for (var one : subscriptions) { // each is to be asked
      helpless |= one.needsHelp();
      busy |= one.wasBusy();
    }
    var now = System.nanoTime();
    if (busy) {
      lastBusyAt = now;
    }
    fewInARow = busy ? 0 : fewInARow + 1;
    var isWorthIt =
        fewInARow < PATIENCE_WITH_FEW
            || (helpless && now - lastBusyAt < Wakefulness.WATCH.toNanos());
    if (isWorthIt && !isHeldUp() && stayAwake(helpless)) {
      return RENEWAL;
    }
    if (!isWorthIt && now - awokeAt < Wakefulness.WATCH.toNanos()) {
      of.asksAgainAfter(REFUSED);
    }
    return fallAsleep(isWorthIt || helpless || isHeldUp());
  }

  /** Whether one of the subscriptions is. */
  boolean isHeldUp() {
    return subscriptions.stream().anyMatch(Wakeful::isHeldUp);
  }

  /** If others are to look as well: this process cannot, or not for all that the word was for. */
  private Duration fallAsleep(boolean calls) throws SQLException {
    return owe(word.fallAsleep(owed.mine(), calls), calls);
  }

  /** In place of what it owed before: whoever has not ended since is among these. */
  private Duration owe(Owed now, boolean calls) {
    owed = now;
    owedSince = System.nanoTime();
    left = Integer.MAX_VALUE;
    alwaysCalls = calls;
    of.become(State.OWING);
    look();
    return SHORTEST_WAIT;
  }

  /** It owes looks: whether some of those whom it waits for have ended. */
  @Nullable Duration linger() throws SQLException {
    if (owed.below().isEmpty()) { // announced, and could not say so
      return fallAsleep(true);
    }
    var calls =
        alwaysCalls || subscriptions.stream().anyMatch(one -> one.isHeldUp() || one.needsHelp());
    var now = word.linger(owed, left, calls);
    var isOwn = now.owed().mine() != owed.mine(); // or it would not have been set anew
    owed = now.owed();
    if (now.left() == 0) {
      // All were called, this one among them.
      word.asleep(owed.mine());
      of.become(State.ASLEEP);
      return Wakefulness.WATCH; // the word may be another's by now
    }
    if (now.left() < left) {
      left = now.left();
      look();
    }
    var rest = restAfter(System.nanoTime() - owedSince);
    if (isOwn) {
      return rest;
    }
    // Who relies on another's word is not on this one's list, which may be there for hours.
    return isTaken(word.read())
        ? SHORTEST_WAIT
        : rest.compareTo(Wakefulness.WATCH) < 0 ? rest : Wakefulness.WATCH;
  }

  private static Duration restAfter(long nanos) {
    return Duration.ofNanos(
        Math.max(SHORTEST_WAIT.toNanos(), Math.min(LONGEST_WAIT.toNanos(), nanos / PATIENCE)));
  }

  /** It is asleep: looks after another's word. */
  @Nullable Duration watch() throws SQLException {
    var seen = word.read();
    return isTaken(seen) ? SHORTEST_WAIT : of.watched(seen.value() != 0);
  }

  /** Takes another's word if its time is over, and what is owed with it. */
  private boolean isTaken(Word seen) throws SQLException {
    if (!seen.isOver()) {
      return false;
    }
    // All are called with the first look at who is left, and not by each that tries to take it.
    var taken = word.fallAsleep(seen.value(), false);
    if (taken.mine() == seen.value()) { // by another one
      return false;
    }
    owe(taken, true);
    return true;
  }

  /** What it owes is the others' from now on. */
  @Nullable Duration leave(State from) throws SQLException {
    if (from != State.ASLEEP && from != State.LEFT) {
      word.leave(owed.mine());
      of.become(State.ASLEEP);
    }
    return null;
  }

  /** Has all subscriptions look for new rows. Returns at once. */
  private void look() {
    subscriptions.forEach(Wakeful::look);
  }
}
