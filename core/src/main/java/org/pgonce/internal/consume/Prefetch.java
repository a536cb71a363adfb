package org.pgonce.internal.consume;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimCursor;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.ClaimStatement;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.PoolSettings;

/**
 * Claims the next notification in the message that commits the one before. Amid a backlog that
 * saves one of three round trips, and a fifth of the time. Of one worker.
 */
final class Prefetch implements Pipeline.Next {

  // A row whose prefetch was undone looks as if its process had died. So behind a failed commit, or
  // a handler that changes its session, each is claimed by itself for so long.
  private static final Duration BY_ITSELF = Duration.ofMinutes(1);

  private final int subscription;
  private final ClaimCursor cursor;
  private final ClaimSession session;
  private final Worker worker;
  // From when on, by System.nanoTime(); shared by the workers of a listener.
  private final AtomicLong allowedFrom;
  private ClaimCursor.@Nullable Look look;
  // Behind the latest commit.
  private Pipeline.@Nullable Sent<List<Claim>> sent;
  // Null if none was made, or it is undone.
  private @Nullable List<Claim> claims;

  Prefetch(
      int subscription,
      ClaimCursor cursor,
      ClaimSession session,
      Worker worker,
      AtomicLong allowedFrom) {
    this.subscription = subscription;
    this.cursor = cursor;
    this.session = session;
    this.worker = worker;
    this.allowedFrom = allowedFrom;
  }

  /** A commit is about to be sent: what is to follow it; null where nothing is to. */
  Pipeline.@Nullable Next begin() {
    if (System.nanoTime() - allowedFrom.get() < 0 || !worker.beginsBehindCommit()) {
      return null;
    }
    if (look != null) {
      cursor.failed(look); // its commit failed for a conflict, and the handler ran again
    }
    look = cursor.begin();
    return this;
  }

  @Override
  public void addTo(Pipeline message) {
    // What the handler before has made the session's default is set back behind this message.
    message.add(PoolSettings.BEGIN_IN_MODES);
    sent = ClaimStatement.addTo(message, session, subscription, look == null ? 0 : look.after());
  }

  @Override
  public void undone() {
    sent = null;
    allowedFrom.set(System.nanoTime() + BY_ITSELF.toNanos());
  }

  /** The one before has ended, and {@link Worker#ended} was called. */
  void settled(boolean fit) {
    var ended = look;
    var made = sent;
    look = null;
    sent = null;
    if (ended == null) {
      return;
    }
    if (fit && made != null && made.hasResult()) {
      claims = made.result();
      cursor.ended(ended, claims.isEmpty() ? 0 : claims.get(0).id());
      worker.found(claims, 1);
    } else {
      cursor.failed(ended);
      cursor.wentBack();
    }
  }

  /** Whether a claim was made, whatever it has found: the transaction is open. */
  boolean isMade() {
    return claims != null;
  }

  /** What that has found: at most one. */
  List<Claim> take() {
    var taken = claims == null ? List.<Claim>of() : claims;
    claims = null;
    return taken;
  }
}
