package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.internal.jdbc.NetworkTimeout;

/**
 * Bounds claims in time. A claim is a few index look-ups: if the server does not answer within
 * {@link #LONGEST}, it or the network is gone, and the driver gives the connection up. How long a
 * claimed row stays held is bounded elsewhere: by the lease ({@link LeaseStatements}), or by how
 * long the session may idle in its transaction ({@link ClaimSession}).
 */
public final class ClaimTimeout {

  public static final Duration LONGEST = Duration.ofSeconds(30);

  private ClaimTimeout() {}

  /** Statements that claim. */
  @FunctionalInterface
  public interface Claiming<R> {
    R run() throws SQLException;
  }

  /** Runs them with the bound on each answer, unless the connection has a shorter one. */
  public static <R> R bounded(Connection connection, Claiming<R> claiming) throws SQLException {
    var bound = NetworkTimeout.set(connection, LONGEST);
    var claimed = claiming.run();
    bound.restore(connection);
    return claimed;
  }
}
