package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Following;
import org.pgonce.internal.jdbc.PoolSettings;

/**
 * The claim of a new row, ready for its handler, in the message that commits the one before: amid a
 * backlog that saves a round trip. It fails by itself: the commit before it stands then.
 */
public final class NextClaim implements Following {

  private static final String COMMIT_AND_CLAIM =
      "COMMIT; " + PoolSettings.BEGIN + "; " + ClaimStatement.newAndReady();
  private static final String COMMIT_AND_CLAIM_IN_MODES =
      "COMMIT; " + PoolSettings.BEGIN_IN_MODES + "; " + ClaimStatement.newAndReady();

  private final Connection connection;
  private final int subscription;
  private final long after;
  private final Duration handlerTimeout;
  private final String sql;
  private boolean undone;
  private boolean begun;
  private @Nullable List<Claim> claims;

  /**
   * @param after it looks for rows with a higher id: 0 for all
   */
  public NextClaim(
      Connection connection,
      PoolSettings.Taken taken,
      int subscription,
      long after,
      Duration handlerTimeout) {
    this.connection = connection;
    this.subscription = subscription;
    this.after = after;
    this.handlerTimeout = handlerTimeout;
    this.sql =
        taken.text(taken.beginsBehindCommit() ? COMMIT_AND_CLAIM_IN_MODES : COMMIT_AND_CLAIM);
  }

  @Override
  public String sql() {
    return sql;
  }

  @Override
  public void bind(PreparedStatement statement, int first) throws SQLException {
    ClaimStatement.bindNew(statement, first, subscription, after, handlerTimeout);
  }

  @Override
  public void read(Statement executed) throws SQLException {
    executed.getMoreResults(); // COMMIT
    executed.getMoreResults(); // BEGIN
    executed.getMoreResults();
    begun = true;
    try (var row = executed.getResultSet()) {
      claims = ClaimStatement.readNew(connection, row);
    }
  }

  @Override
  public boolean hasBegun() {
    return begun;
  }

  @Override
  public void undone() {
    undone = true;
    begun = false;
    claims = null;
  }

  /** Whether it may have held a row that is free again. */
  public boolean isUndone() {
    return undone;
  }

  /** Whether it has looked, and what it has found is held. */
  @Override
  public boolean isMade() {
    return claims != null;
  }

  /** Null if it has found none that nobody else holds. */
  public @Nullable Claim claim() {
    return claims == null || claims.isEmpty() ? null : claims.get(0);
  }
}
