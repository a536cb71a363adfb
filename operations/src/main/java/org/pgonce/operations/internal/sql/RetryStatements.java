package org.pgonce.operations.internal.sql;

/**
 * Makes due what failed, and no other row. {@code pgonce.retry_now} takes ids, and an id is of all
 * subscriptions: so each subscription is asked for by its name, with the ids that fit in it.
 */
public final class RetryStatements {

  // Not by the ids: PostgreSQL would compare each row with each of them.
  private static final String FITTING =
      """
      (SELECT r.subscription, array_agg(r.id) AS ids FROM pgonce.retry_status r WHERE %s AND r.id BETWEEN ?::text::bigint AND ?::text::bigint GROUP BY r.subscription) f
      """
          .formatted(LookStatements.FAILED_FITS);

  /**
   * How many rows it made due. An entry of the operation log for each subscription. Parameters:
   * channel, reason, those of {@link LookStatements#FAILED_FITS}, the lowest and the highest id.
   */
  public static final String RETRY_FAILED =
      "SELECT coalesce(sum(pgonce.retry_now(?, f.ids, ?, f.subscription)), 0) FROM " + FITTING;

  /**
   * How many rows it would make due. Without a lock, which would leave a mark in the row.
   * Parameters: as {@link #RETRY_FAILED}, without the reason.
   */
  public static final String WOULD_RETRY_FAILED =
      "SELECT coalesce(sum(pgonce.would_retry_now(?, f.ids, f.subscription)), 0) FROM " + FITTING;

  private RetryStatements() {}
}
