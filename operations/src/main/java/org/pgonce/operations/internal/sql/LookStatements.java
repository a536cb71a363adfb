package org.pgonce.operations.internal.sql;

/** Queries of the views and functions that the command line and the console both look at. */
public final class LookStatements {

  public static final String LISTENERS =
      """
      SELECT l.id::text, l.instance, l.listens_by, l.role, l.started_at, l.seen_at, l.alive, l.channels, l.first_for, l.backend, l.workers, l.outdated
        FROM pgonce.listener_status l ORDER BY l.started_at, l.id
      """;

  /** Parameters: channel, id or null, subscription or null. */
  public static final String EXPLAIN =
      """
      SELECT e.subscription, e.id, e.cause, e.since, e.until, e.blocked_by, e.instance, e.pid, e.last_sql, e.detail, e.advice
        FROM pgonce.explain(?, ?::text::bigint, ?) e ORDER BY e.subscription
      """;

  /**
   * A condition on {@code pgonce.dead_letter_status d}. Parameters, each null for any: channel, ids
   * as an array's text (twice), subscription, reason, pattern of the error (twice), died from, died
   * before.
   */
  public static final String DEAD_LETTER_FITS =
      """
      d.channel = coalesce(?, d.channel) AND (?::text IS NULL OR d.id = ANY (?::text::bigint[])) AND d.subscription = coalesce(?, d.subscription)
             AND d.reason = coalesce(?, d.reason) AND (?::text IS NULL OR d.error LIKE ?)
             AND d.died_at >= coalesce(?::text::timestamptz, '-infinity') AND d.died_at < coalesce(?::text::timestamptz, 'infinity')
      """;

  private LookStatements() {}
}
