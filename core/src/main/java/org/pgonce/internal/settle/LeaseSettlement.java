package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.Transactions;

/** AT_LEAST_ONCE and AT_MOST_ONCE: settles a lease. */
public final class LeaseSettlement extends Settlement {

  public LeaseSettlement(
      Registration<?> subscribed, Transactions transactions, Reports reports, Pauser pauser) {
    super(subscribed, transactions, reports, pauser);
  }

  /**
   * The handler returned: deletes the row, in the handler's transaction, and may commit it in the
   * same message. {@link #reportSettled} follows the commit.
   *
   * @return what lies behind it
   * @throws SQLException if the lease is lost: roll the transaction back then
   */
  public RowsBehind acknowledge(Connection transaction, Claim claim) throws SQLException {
    var deletion = deletion(claim);
    var message = new Pipeline(transaction);
    message.add(Pipeline.command(BOUND_THE_WAIT));
    var left = message.add(deletion);
    if (deletion.isKeyless() && Pipeline.isPossible(transaction)) {
      message.add(Pipeline.COMMIT); // the caller's commit sends nothing then
    }
    message.send();
    if (!deletion.isKeyless()) {
      SettleStatements.keysDone(transaction, List.of(claim));
    }
    return seen(deletion, left.result());
  }

  /** The same in a transaction of its own. */
  public RowsBehind acknowledgeAlone(Claim claim) throws SQLException {
    return transactions.run(transaction -> acknowledge(transaction, claim));
  }

  public void reportSettled(Claim claim, boolean handled, Duration inHandler) {
    reports.settled(claim, handled, inHandler);
  }

  /**
   * Leases a suspect, which counts its next attempt. The caller commits.
   *
   * @return null if it is not there as the claim has it
   */
  public @Nullable Claim leaseAgain(Connection transaction, Claim claim) throws SQLException {
    var token = newToken();
    return countAhead(transaction, claim, token, subscribed.options().lease())
        ? claim.leasedAgain(token)
        : null;
  }
}
