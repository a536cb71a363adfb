package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.pgonce.Mode;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.Transactions;

/** AT_LEAST_ONCE and AT_MOST_ONCE: ends a lease, one way or the other. */
public final class LeaseSettlement extends Settlement {

  public LeaseSettlement(Parts parts) {
    super(parts);
  }

  /**
   * The handler returned: deletes the row, in the handler's transaction, and may commit it in the
   * same message. {@link #told} follows when that is committed.
   *
   * @return what lies behind it
   * @throws SQLException if the lease is lost: roll the transaction back then
   */
  public RowsBehind acknowledge(Connection transaction, Claim claim) throws SQLException {
    var deletion = deletion(claim);
    var message = new Pipeline(transaction);
    message.add(Pipeline.command(boundOfTheWait()));
    var left = message.add(deletion);
    if (isKeyless(claim) && Pipeline.isPossible(transaction)) {
      message.add(Pipeline.COMMIT); // the caller's commit sends nothing then
    }
    message.send();
    if (!isKeyless(claim)) {
      SettleStatements.keysDone(transaction, List.of(claim));
    }
    return seen(deletion, left.result());
  }

  /** The same in a transaction of its own. */
  public RowsBehind acknowledgeAlone(Claim claim) throws SQLException {
    return transactions.run(transaction -> acknowledge(transaction, claim));
  }

  /** What {@link #acknowledge} has settled is committed. */
  public void told(Claim claim, boolean handled, Duration inHandler) {
    reports.told(claim, handled, inHandler);
  }

  /**
   * The listener stops before the handler has returned: the statements that say so, and return what
   * is to be told when they are committed. Where it may run again it goes back uncounted; the
   * session of the handler's own is ended first, which may be in a statement that keeps locks.
   */
  public Transactions.Work<Runnable> release(Claim claim) {
    return transaction -> {
      end(transaction, claim);
      if (subscribed.channel().mode() == Mode.AT_MOST_ONCE) {
        return record(
            transaction,
            claim,
            new UnknownOutcomeException("the listener stopped before its handler returned"));
      }
      var unused = SettleStatements.giveBack(transaction, claim, DeadLetterReason.OUTCOME_UNKNOWN);
      return () -> {};
    };
  }
}
