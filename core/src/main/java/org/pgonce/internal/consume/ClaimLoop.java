package org.pgonce.internal.consume;

import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.internal.claim.ClaimCursor;
import org.pgonce.internal.claim.KeyCursors;
import org.pgonce.internal.claim.KeyLook;
import org.pgonce.internal.claim.KeyLook.Result;
import org.pgonce.internal.context.CutOffSessions;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.settle.Suspects;

/** Claims, runs and settles one notification, or batch, after the other, in the way of its mode. */
interface ClaimLoop {

  /** A claim is a few index look-ups. After so long the network or the server is gone. */
  Duration CLAIM_TIMEOUT = Duration.ofSeconds(30);

  /**
   * Works until {@link ClaimWorker#mayGoOn} says no.
   *
   * @throws SQLException if the database, not a notification, is in trouble
   */
  void work(ClaimWorker worker) throws SQLException;

  /** A claim of a channel that goes by key. */
  interface KeyClaim {
    Result from(KeyLook where) throws SQLException;
  }

  /** What the workers of one subscription share, whatever its mode. */
  record Parts(
      Registration<?> subscribed,
      ListenerContext context,
      CutOffSessions sessions,
      Delivery<?> delivery,
      Suspects suspects,
      ClaimCursor cursor,
      KeyCursors keys) {

    /** Claims from where the cursor of keys says, and tells it what was found. */
    Result claimByKey(boolean due, KeyClaim claim) throws SQLException {
      var keyCursor = keys.of(due);
      var look = keyCursor.begin();
      Result result = null;
      try {
        result = claim.from(look.where());
        return result;
      } finally {
        keyCursor.ended(look, result);
      }
    }

    /** Later than the timeouts of claim and handler, which know what they cut off. */
    Duration longestCall() {
      return CLAIM_TIMEOUT.plus(subscribed.options().handlerTimeout());
    }
  }
}
