package org.pgonce.internal;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.NextClaim;
import org.pgonce.internal.deliver.Following;

/** What a worker has claimed with the commit of the notification before. Of one worker. */
final class Prefetch {

  // What it held when it is undone is taken for what somebody died with. So behind a handler that
  // changes its session each is claimed by itself, for so long.
  private static final Duration BY_ITSELF = Duration.ofMinutes(1);

  private final int subscription;
  private final Front front;
  private final ClaimSession session;
  private final Stint.Turns turns;
  // From when on, by System.nanoTime(); shared by the workers of a listener.
  private final AtomicLong allowedFrom;
  private Front.@Nullable Look look;
  private @Nullable NextClaim next;
  private boolean isMade;

  Prefetch(
      int subscription,
      Front front,
      ClaimSession session,
      Stint.Turns turns,
      AtomicLong allowedFrom) {
    this.subscription = subscription;
    this.front = front;
    this.session = session;
    this.turns = turns;
    this.allowedFrom = allowedFrom;
  }

  /** What is to follow the commit; null where nothing is to. */
  @Nullable Following begin() {
    if (System.nanoTime() - allowedFrom.get() < 0 || !turns.looksOn()) {
      return null;
    }
    look = front.beginAmongOthers();
    next = look == null ? null : new NextClaim(session, subscription, look.after());
    return next;
  }

  /** Whether something was to follow: where the commit fails, the session's state is not known. */
  boolean isBegun() {
    return next != null;
  }

  /**
   * The one before has ended, and {@link Stint.Turns#ended} was told.
   *
   * @param completed whether it was committed, and the connection is fit
   */
  void settled(boolean completed) {
    var begun = next;
    if (begun == null || look == null) {
      return;
    }
    isMade = completed && begun.hasBegun();
    if (isMade) {
      var claims = begun.claims();
      front.ended(look, claims.isEmpty() ? 0 : claims.get(0).id());
      turns.found(claims.isEmpty() ? null : claims.get(0), claims.size());
    } else {
      front.failed(look);
      front.wentBack();
      next = null;
      if (begun.isUndone()) {
        allowedFrom.set(System.nanoTime() + BY_ITSELF.toNanos());
      }
    }
    look = null;
  }

  /** Whether a claim was made, whatever it has found: the transaction is open. */
  boolean isMade() {
    return isMade;
  }

  /** At most one. */
  List<Claim> take() {
    var claims = next == null ? List.<Claim>of() : next.claims();
    next = null;
    isMade = false;
    return claims;
  }
}
