package org.pgonce.operations.internal.sql;

import java.util.List;

/** Queries of the views and functions that the command line and the console both look at. */
public final class LookStatements {

  /** What is to be said where {@code pg_is_in_recovery()}. */
  public static final String STANDBY =
      "The server is a standby: it takes no writes and no LISTEN, and does not show what is at work on its primary. Ask the primary.";

  public static final String LISTENERS =
      """
      SELECT l.id::text, l.instance, l.listens_by, l.role, l.started_at, l.seen_at, l.alive, l.channels, l.first_for, l.backend, l.workers, l.outdated
        FROM pgonce.listener_status l ORDER BY l.started_at, l.id
      """;

  /** Listeners that left within a day. */
  public static final String FORMER_LISTENERS =
      """
      SELECT l.instance, host(l.address) AS address, l.role, l.started_at, l.left_at, CASE WHEN l.stopped THEN 'stopped' ELSE 'fell silent' END AS how, l.channels
        FROM pgonce.former_listener_status l ORDER BY l.left_at DESC LIMIT 100
      """;

  /**
   * All channels: for each subscription where something waits, died or is not stored, why the first
   * in line is not moving; those first that a person has to end, by {@code needs_person}.
   */
  public static final String EXPLAIN_ALL =
      """
      SELECT e.* FROM (
        SELECT g.channel, x.subscription, g.backlog + g.scheduled AS waiting, g.dead_letters, x.id, x.created_at, x.cause, x.since, x.until, x.blocked_by, x.instance, x.pid, x.last_sql,
               x.detail, x.advice, x.needs_person,
               (SELECT concat_ws(' ', date_trunc('second', o.at), o.what, 'by', o.role, '(' || regexp_replace(o.operator, '^pid \\d+$', 'instance ''\\&''') || ')', '-- ' || o.reason)
                  FROM pgonce.operation_log o WHERE o.channel = g.channel AND (o.subscription IS NULL OR o.subscription = g.subscription) ORDER BY o.id DESC LIMIT 1) AS last_operation
          FROM pgonce.channel_gauges g JOIN pgonce.channel_settings s ON s.channel = g.channel AND s.subscription = g.subscription AND s.mode <> 'BROADCAST'
         CROSS JOIN LATERAL pgonce.explain(g.channel, NULL, g.subscription) x) e
       WHERE e.cause <> 'DONE_OR_NEVER' ORDER BY e.needs_person DESC, e.waiting DESC, e.channel, e.subscription
      """;

  /** Parameters: channel, id or null, subscription or null. */
  public static final String EXPLAIN =
      """
      SELECT e.subscription, e.id, e.created_at, e.cause, e.since, e.until, e.blocked_by, e.instance, e.pid, e.last_sql, e.detail, e.advice, e.needs_person
        FROM pgonce.explain(?, ?::text::bigint, ?) e ORDER BY e.subscription
      """;

  /**
   * Which rows {@code r} of pgonce.retry_status wait for their next attempt. Parameters: channel,
   * subscription or null, pattern of the last error or null (twice).
   */
  public static final String FAILED_FITS =
      """
      r.channel = ? AND r.subscription = coalesce(?, r.subscription) AND r.due_at > clock_timestamp()
        AND (?::text IS NULL OR r.last_error LIKE ?)
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

  /** Why a notification is a dead letter, as the table pgonce.dead_letter has it. */
  public static final List<String> DEAD_LETTER_REASONS =
      List.of(
          "ATTEMPTS_USED_UP",
          "UNREADABLE",
          "REJECTED",
          "OUTCOME_UNKNOWN",
          "TOO_DEEP",
          "NOT_STORABLE");

  private LookStatements() {}
}
