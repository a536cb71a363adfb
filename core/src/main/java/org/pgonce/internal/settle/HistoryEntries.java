package org.pgonce.internal.settle;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.jdbc.Statements;

/**
 * What a {@link Deletion} writes to the history, in its own statement: one entry for each row that
 * it deletes (sql/history.sql).
 *
 * @param handled the ids of those whose handler ran; a condition has skipped the others
 * @param took the handler's time, of a batch that of the batch
 */
record HistoryEntries(Set<Long> handled, Duration took, String instance, boolean payloads) {

  /** What the deletion returns beside what it returns anyway. */
  private static final String RETURNED =
      ", h.subscription_id, h.created_at, h.delivery_key, h.id AS its_id";

  private static final String PAYLOAD = ", h.payload";

  // unnest of several arrays at once cannot be called by its full name.
  private static final String INSERT =
      """
      , kept AS (
        INSERT INTO pgonce.handled (subscription_id, id, created_at, delivery_key%1$s, due_at, claimed_at, attempts, skipped, took, instance)
        SELECT g.subscription_id, g.its_id, g.created_at, g.delivery_key%2$s, c.due_at, c.claimed_at, c.attempts, c.skipped,
               ?::pg_catalog.text::pg_catalog.interval, ?::pg_catalog.text
          FROM gone AS g JOIN ROWS FROM (
            pg_catalog.unnest(?::pg_catalog.text::pg_catalog.int8[]),
            pg_catalog.unnest(?::pg_catalog.text::pg_catalog.timestamptz[]), pg_catalog.unnest(?::pg_catalog.text::pg_catalog.timestamptz[]),
            pg_catalog.unnest(?::pg_catalog.text::pg_catalog.int4[]), pg_catalog.unnest(?::pg_catalog.text::pg_catalog.bool[])
          ) AS c (id, due_at, claimed_at, attempts, skipped)
            ON c.id OPERATOR(pg_catalog.=) g.its_id
      )""";

  static String returned(boolean payloads) {
    return payloads ? RETURNED + PAYLOAD : RETURNED;
  }

  /** What follows the deletion in its statement. */
  static String insert(boolean payloads) {
    return INSERT.formatted(payloads ? ", payload" : "", payloads ? ", g.payload" : "");
  }

  /** Sets the parameters of {@link #insert}, from the first one on; returns the next one. */
  int bind(PreparedStatement statement, int first, List<Claim> claims) throws SQLException {
    var next = first;
    statement.setString(next++, took.toString());
    statement.setString(next++, instance);
    statement.setString(next++, Claim.ids(claims));
    statement.setString(next++, array(claims, Claim::dueAt));
    statement.setString(next++, array(claims, Claim::claimedAt));
    statement.setString(next++, array(claims, Claim::attempt));
    statement.setString(next++, array(claims, this::isSkipped));
    return next;
  }

  private boolean isSkipped(Claim claim) {
    return !handled.contains(claim.id());
  }

  private static String array(List<Claim> claims, Function<Claim, ?> value) {
    return Statements.array(claims.stream().map(value).toList());
  }
}
