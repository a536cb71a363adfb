package org.pgonce.internal.claim;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.deliver.Following;

/**
 * The claim of a new row in the message that commits the one before: amid a backlog that saves a
 * round trip.
 */
public final class NextClaim implements Following {

  private final ClaimSession session;
  private final int subscription;
  private final long after;
  private final String sql;
  private @Nullable List<Claim> claims;
  private boolean undone;

  /**
   * @param session that has claimed already
   * @param after it looks for rows with a higher id: 0 for all
   */
  public NextClaim(ClaimSession session, int subscription, long after) {
    this.session = session;
    this.subscription = subscription;
    this.after = after;
    this.sql = session.textBehindCommit(ClaimStatement.rows(false, 1));
  }

  @Override
  public String sql() {
    return sql;
  }

  @Override
  public void bind(PreparedStatement statement, int first) throws SQLException {
    session.bind(statement, first, ClaimStatement.rows(subscription, false, after));
  }

  @Override
  public void read(Statement executed) throws SQLException {
    executed.getMoreResults(); // COMMIT
    executed.getMoreResults(); // BEGIN
    executed.getMoreResults();
    claims =
        session.claimed(
            ClaimStatement.rows(false, 1),
            executed,
            (row, held) -> ClaimStatement.claims(row, subscription, false, held));
  }

  @Override
  public boolean hasBegun() {
    return claims != null;
  }

  @Override
  public void undone() {
    claims = null;
    undone = true;
  }

  /** Whether it may have held a row that is free again. */
  public boolean isUndone() {
    return undone;
  }

  /** At most one; none as well if it was not made. */
  public List<Claim> claims() {
    return claims == null ? List.of() : claims;
  }
}
