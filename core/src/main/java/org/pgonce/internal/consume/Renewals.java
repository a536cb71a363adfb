package org.pgonce.internal.consume;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.LeaseStatements;
import org.pgonce.internal.concurrent.RepeatedTask;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Renews the leases of one subscription whose handlers run, all in one statement, each third of
 * their term. A renewal that is not answered within a third, of 1 to 30 s, is tried again on
 * another connection.
 */
final class Renewals {

  private static final Logger LOG = LoggerFactory.getLogger(Renewals.class);

  // How long an answer may take at least, unless the lease is shorter.
  private static final long SHORTEST_MS = 1_000;

  private final Registration<?> subscribed;
  private final Transactions transactions;
  private final Duration lease;
  final Duration interval;
  private final Duration afterFailure;
  private final Map<Claim, Runnable> held = new ConcurrentHashMap<>();
  private final RepeatedTask renewals;

  Renewals(Registration<?> subscribed, ListenerContext context) {
    this.subscribed = subscribed;
    this.lease = subscribed.options().lease();
    this.interval = lease.dividedBy(3);
    this.afterFailure = interval.dividedBy(4);
    // So that there is time for another connection where one is lost. The server gives the row
    // locks of the lost one back by then (pgonce.renew).
    var longest = Math.max(interval.toMillis(), Math.min(lease.toMillis(), SHORTEST_MS));
    var longestCall = Duration.ofMillis(Math.min(longest, ClaimSession.LONGEST_ANSWER.toMillis()));
    this.transactions = new Transactions(context.dataSource(), context.pool(), longestCall);
    this.renewals = new RepeatedTask(context.threads(), this::renewAll);
  }

  /**
   * Renews this lease from now on.
   *
   * @param whenLost run on the renewal's thread when another has the row, maybe behind {@link
   *     #letGo}
   */
  void hold(Claim claim, Runnable whenLost) {
    held.put(claim, whenLost);
    renewals.within(interval);
  }

  /**
   * Renews this lease no more, and never reports it as lost from now on. To be called before the
   * end of the attempt is recorded: a renewal under way may wait for that transaction, and then
   * finds the row gone or with another token.
   */
  void letGo(Claim claim) {
    held.remove(claim);
  }

  private @Nullable Duration renewAll() {
    var now = Map.copyOf(held);
    if (now.isEmpty()) {
      return null;
    }
    try {
      var kept = renew(now.keySet());
      now.forEach(
          (claim, whenLost) -> {
            // Nothing of this process has changed the row: what does that lets go of it first.
            if (!kept.contains(claim.token()) && held.remove(claim) != null) {
              LOG.warn(
                  "pgonce: the lease of {} of channel {} is over before its handler returned: another has it, or it was deleted",
                  claim,
                  subscribed.label());
              whenLost.run();
            }
          });
    } catch (SQLException | RuntimeException e) {
      LOG.warn(
          "pgonce: {} leases of channel {} could not be renewed ({}); tried again in {} ms",
          now.size(),
          subscribed.label(),
          Failures.inWords(e),
          afterFailure.toMillis());
      LOG.debug("pgonce: the failure in full", e);
      return afterFailure;
    }
    return interval;
  }

  /** Renews these leases at once; returns the tokens of those that are still held. */
  Set<String> renew(Collection<Claim> claims) throws SQLException {
    var subscription = subscribed.installed().subscription();
    return transactions.run(
        transaction -> LeaseStatements.renew(transaction, subscription, claims, lease));
  }
}
