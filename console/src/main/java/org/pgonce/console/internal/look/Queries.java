package org.pgonce.console.internal.look;

import org.pgonce.operations.internal.sql.LookStatements;

/**
 * Each with its bound. A page asks for one row more than it shows: so it knows whether there are
 * more.
 */
public final class Queries {

  /** Rows of a page. */
  public static final int PAGE = 50;

  /** How far into a channel the pages look: peek has no way to begin behind a row. */
  public static final int FIRST_IN_LINE = 10_000;

  /** How many dead letters are grouped. */
  public static final int GROUPED = 100_000;

  /** How many dead letters of a subscription a filter looks through. */
  public static final int FILTERED = 100_000;

  static final String COUNTS =
      """
      SELECT g.channel, g.subscription, g.backlog, g.scheduled, g.retrying, g.dead_letters, g.oldest_age, g.listeners, g.outdated_listeners,
             g.paused_since, g.paused_by, g.pause_reason, g.hint
        FROM pgonce.channel_gauges g ORDER BY g.channel, g.subscription LIMIT 20000
      """;

  /** Parameter: channel. Of one the view counts what is in that one. */
  static final String COUNTS_OF = COUNTS.replace(" ORDER BY", " WHERE g.channel = ? ORDER BY");

  /**
   * Of all channels, since the server's statistics were reset; what was rolled back counts as well.
   * What moves to the scheduled or the dead letters is inserted there and deleted where it was. So
   * what is published with a delay, which is inserted there at once, is one finished less.
   */
  static final String TURNOVER =
      """
      SELECT coalesce(sum(t.n_tup_ins) FILTER (WHERE t.relname = 'notification'), 0)::bigint AS stored,
             coalesce(sum(CASE WHEN t.relname = 'notification' THEN t.n_tup_del ELSE t.n_tup_del - t.n_tup_ins END), 0)::bigint AS finished,
             pg_is_in_recovery() AS standby
        FROM pg_catalog.pg_stat_all_tables t WHERE t.schemaname = 'pgonce' AND t.relname IN ('notification', 'scheduled', 'dead_letter')
      """;

  /** Parameter: channel. */
  public static final String SETTINGS_OF =
      """
      SELECT c.channel, c.subscription, c.mode, c.feed, c.key_order, c.max_per_key, c.max_rate, c.max_depth, c.key_memory, c.wake_ups, c.filter, c.owner,
             c.installed_at, c.installed_by
        FROM pgonce.channel_settings c WHERE c.channel = ? ORDER BY c.subscription LIMIT 100
      """;

  /** Parameters: channel and subscription of the last row seen. */
  public static final String SETTINGS =
      """
      SELECT c.channel, c.subscription, c.mode, c.feed, c.key_order, c.max_per_key, c.max_rate, c.owner, c.installed_at, c.installed_by
        FROM pgonce.channel_settings c WHERE (c.channel, c.subscription) > (?, ?) ORDER BY c.channel, c.subscription LIMIT 51
      """;

  /**
   * Parameters: channel, subscription or null, channel, state or null (twice), key or null (three
   * times), id and subscription of the last row seen. A lease counts its attempt from its
   * beginning: so what is at work is told first.
   */
  public static final String WAITING =
      """
      SELECT w.subscription, w.id, w.state, w.attempts, w.due_at, w.created_at, w.delivery_key, w.order_key, w.last_error FROM (
        SELECT p.*, CASE WHEN h.id IS NOT NULL THEN 'at work' WHEN p.attempts > 0 THEN 'retrying' WHEN p.due_at > clock_timestamp() THEN 'scheduled'
                         ELSE 'waiting' END AS state
          FROM pgonce.peek(?, 10000, ?) p
          LEFT JOIN (SELECT DISTINCT c.subscription, g.id FROM pgonce.channel_settings c CROSS JOIN LATERAL pgonce.held(c.subscription_id) g
                      WHERE c.channel = ?) h ON h.subscription = p.subscription AND h.id = p.id) w
       WHERE (?::text IS NULL OR w.state = ?) AND (?::text IS NULL OR w.delivery_key = ? OR w.order_key = ?)
         AND (w.id, w.subscription) > (?::text::bigint, ?)
       ORDER BY w.id, w.subscription LIMIT 51
      """;

  /** Parameters: channel, subscription or null. */
  public static final String AT_WORK =
      """
      SELECT a.subscription, a.id, a.attempt, a.instance, a.pid, a.since, a.leased_until, a.state,
             a.waits_for || coalesce(', held by server process ' || a.blocked_by_pid, '') AS waits_for, a.last_sql
        FROM pgonce.at_work a WHERE a.channel = ? AND a.subscription = coalesce(?, a.subscription) ORDER BY a.since, a.id LIMIT 200
      """;

  /**
   * As {@link LookStatements#DEAD_LETTER_FITS}, then the group or null (twice), the last id or
   * null.
   */
  public static final String DEAD_FITS =
      LookStatements.DEAD_LETTER_FITS
          + " AND (?::text IS NULL OR md5(d.error) = ?) AND d.id <= coalesce(?::text::bigint, 9223372036854775807)";

  /** As {@link LookStatements#FAILED_FITS}, then the last id or null. */
  public static final String FAILED_FITS =
      LookStatements.FAILED_FITS + " AND r.id <= coalesce(?::text::bigint, 9223372036854775807)";

  /**
   * Parameters: channel, id of the last row seen, those of {@link #DEAD_FITS}, then id and
   * subscription of the last row seen. Each subscription gives its first ones in the order of the
   * index; all in one would be sorted, however many there are.
   */
  public static final String DEAD =
      dead(
          "pgonce.dead_letter_status d WHERE d.subscription_id = s.id AND d.id <= ?::text::bigint");

  /**
   * The same where what fits may be few among many: of {@value #FILTERED} of each subscription,
   * those behind the last row seen.
   */
  public static final String DEAD_FILTERED =
      dead(
          """
          (SELECT l.* FROM pgonce.dead_letter_status l WHERE l.subscription_id = s.id AND l.id <= ?::text::bigint ORDER BY l.id DESC LIMIT %s) d WHERE true"""
              .formatted(FILTERED));

  private static String dead(String from) {
    return """
      SELECT x.* FROM (SELECT c.subscription_id AS id FROM pgonce.channel_settings c WHERE c.channel = ?) s
       CROSS JOIN LATERAL (
         SELECT d.subscription, d.id, d.reason, d.attempts, d.created_at, d.died_at, left(d.error, 3000) AS error
           FROM %s AND %s AND (d.id, d.subscription) < (?::text::bigint, ?)
          ORDER BY d.id DESC LIMIT 51) x
       ORDER BY x.id DESC, x.subscription DESC LIMIT 51
      """
        .formatted(from, DEAD_FITS);
  }

  /** Parameters: channel or null. What is shown of the errors is made for those shown only. */
  public static final String DEAD_GROUPS =
      """
      SELECT g.channel, g.subscription, g.reason, g.dead_letters, g.first_died_at, g.last_died_at, left(g.error, 3000) AS error, md5(g.error) AS group FROM (
        SELECT d.channel, d.subscription, d.reason, count(*) AS dead_letters, min(d.died_at) AS first_died_at, max(d.died_at) AS last_died_at, d.error
          FROM (SELECT l.* FROM pgonce.dead_letter_status l WHERE l.channel = coalesce(?, l.channel) LIMIT 100000) d
         GROUP BY d.channel, d.subscription, d.reason, d.error ORDER BY 4 DESC, 1, 2, 3, 7 LIMIT 100) g
       ORDER BY g.dead_letters DESC, g.channel, g.subscription, g.reason, g.error
      """;

  public static final String LISTENERS =
      "SELECT * FROM ("
          + LookStatements.LISTENERS.replaceFirst("ORDER BY [^\n]*", "")
          + ") l ORDER BY l.alive DESC, l.started_at, l.id LIMIT 500";

  /** Parameters: channel or null (twice), id of the last row seen. */
  public static final String LOG =
      """
      SELECT o.id, o.at, o.what, o.channel, o.subscription, o.concerned, o.role, o.operator, o.reason, o.detail
        FROM pgonce.operation_log o WHERE (?::text IS NULL OR o.channel IN (?, '*')) AND o.id < ?::text::bigint ORDER BY o.id DESC LIMIT 51
      """;

  /** Parameters: channel, id. */
  public static final String RETRY =
      "SELECT r.subscription, r.attempts, r.due_at, r.last_error FROM"
          + " pgonce.retry_status r WHERE r.channel = ? AND r.id = ?::text::bigint LIMIT 100";

  /** Parameters: channel, id. */
  public static final String DEATH =
      """
      SELECT d.subscription, d.reason, d.error, d.attempts, d.died_at
        FROM pgonce.dead_letter_status d WHERE d.channel = ? AND d.id = ?::text::bigint LIMIT 100
      """;

  /**
   * Parameters: channel, id. One notification has one payload, in however many subscriptions. Only
   * those of the channel are looked into: the index of new ones begins with the subscription.
   */
  public static final String PAYLOAD =
      """
      WITH wanted AS (
        SELECT ARRAY(SELECT c.subscription_id FROM pgonce.channel_settings c WHERE c.channel = ? AND c.subscription_id IS NOT NULL) AS subscriptions, ?::text::bigint AS id)
      SELECT left(p.payload, 100000) AS payload, length(p.payload) AS length FROM (
        SELECT n.payload::text FROM pgonce.notification n WHERE n.subscription_id = ANY ((SELECT w.subscriptions FROM wanted w)::integer[]) AND n.id = (SELECT w.id FROM wanted w)
        UNION ALL SELECT s.payload::text FROM pgonce.scheduled s WHERE s.subscription_id = ANY ((SELECT w.subscriptions FROM wanted w)::integer[]) AND s.id = (SELECT w.id FROM wanted w)
        UNION ALL SELECT l.payload::text FROM pgonce.dead_letter l WHERE l.subscription_id = ANY ((SELECT w.subscriptions FROM wanted w)::integer[]) AND l.id = (SELECT w.id FROM wanted w)) p LIMIT 1
      """;

  public static final String MAY_SEE_PAYLOADS =
      "SELECT has_table_privilege('pgonce.notification', 'SELECT')";

  public static final String WHERE =
      """
      SELECT current_database() AS database, session_user::text AS role, current_setting('server_version') AS version, pg_postmaster_start_time() AS started,
             (SELECT max(v.version) FROM pgonce.schema_version v) AS schema_version
      """;

  private Queries() {}
}
