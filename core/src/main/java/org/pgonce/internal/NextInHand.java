package org.pgonce.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.NextClaim;
import org.pgonce.internal.jdbc.Following;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.settle.Onward;

/**
 * What a worker has claimed with the commit of the notification before, on the same connection. Of
 * one worker.
 */
final class NextInHand implements Onward {

  /**
   * What the workers of a listener have in common.
   *
   * @param isAllowed whether claims may be made so at all
   * @param allowedFrom from when on again, by System.nanoTime()
   */
  record Of(
      boolean isAllowed,
      AtomicLong allowedFrom,
      int subscription,
      Duration handlerTimeout,
      Front front) {

    Of(boolean isAllowed, int subscription, Duration handlerTimeout, Front front) {
      this(isAllowed, new AtomicLong(System.nanoTime()), subscription, handlerTimeout, front);
    }

    private boolean mayBegin() {
      return isAllowed && System.nanoTime() - allowedFrom.get() >= 0;
    }
  }

  // What it held when it is undone is taken for what somebody died with. So behind a handler that
  // changes its session each is claimed by itself, for so long.
  private static final Duration BY_ITSELF = Duration.ofMinutes(1);

  private final Of of;
  private final boolean isPossible;
  private final Connection connection;
  private final PoolSettings.Taken taken;
  private final Stint.Turns turns;
  private Front.@Nullable Look look;
  private @Nullable NextClaim next;
  private boolean hasFailed;

  NextInHand(Of of, Connection connection, PoolSettings.Taken taken, Stint.Turns turns)
      throws SQLException {
    this.of = of;
    this.isPossible = taken.commitsAmongOthers();
    this.connection = connection;
    this.taken = taken;
    this.turns = turns;
  }

  @Override
  public @Nullable Following begin() {
    if (!isPossible || !of.mayBegin() || !turns.looksOn()) {
      return null;
    }
    look = of.front().beginAmongOthers();
    if (look == null) {
      return null;
    }
    next = new NextClaim(connection, taken, of.subscription(), look.after(), of.handlerTimeout());
    return next;
  }

  @Override
  public void failed() {
    hasFailed = true;
  }

  /**
   * The one before has ended, and {@link Stint.Turns#ended} was told.
   *
   * @param fit whether the connection is
   */
  void settled(boolean fit) {
    var failed = hasFailed;
    hasFailed = false; // the next attempt is another one
    if (next == null || look == null) {
      return;
    }
    if (fit && next.isMade() && !failed) {
      of.front().ended(look, next.claim() == null ? 0 : next.claim().id());
      turns.found(next.claim(), next.claim() == null ? 0 : 1);
    } else {
      of.front().failed(look);
      if (next.isUndone()) {
        of.allowedFrom().set(System.nanoTime() + BY_ITSELF.toNanos());
      }
      of.front().wentBack();
      next = null;
    }
    look = null;
  }

  /** Whether a claim was made, whatever it has found: the transaction is open. */
  boolean isMade() {
    return next != null;
  }

  /** Null if it has found none. */
  @Nullable Claim take() {
    var claim = next == null ? null : next.claim();
    next = null;
    return claim;
  }
}
