-- The views for operators. A view is made again only where its definition changed: replacing one takes a lock that waits for its readers.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

DO $do$
DECLARE
  view record;
  mark text;
  -- Per subscription that somebody listens to. Grouped, as a count for each subscription would go through all entries of all listeners each time.
  heard constant text := $$
        SELECT o.id, count(*) AS listeners, count(*) FILTER (WHERE o.difference <> '') AS outdated
          FROM pgonce.listener l CROSS JOIN unnest(l.subscriptions, l.outdated) AS o (id, difference)
         WHERE clock_timestamp() - l.seen_at <= l.silence GROUP BY o.id $$;
  -- Whether a scheduled row d of channel c has failed and waits for its next attempt. A lease that has not expired is at work: attempts counts that
  -- attempt already. Under EXACTLY_ONCE there are no leases.
  failed constant text := $$d.attempts > 0 AND (d.token IS NULL OR d.due_at <= clock_timestamp() OR c.mode = 'EXACTLY_ONCE')$$;
  -- Per channel that is fed by triggers, how many there are, and whether one does not fire: of all channels by one look at the catalog.
  feeds constant text := $$
        SELECT substr(p.proname, 9) AS channel, bool_or(t.tgenabled IN ('D', 'R')) AS silent
          FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname = 'pgonce_triggers' GROUP BY 1 $$;
  -- What looks as if nothing had been published. A transaction that is open for a moment is what every writer has, so none is told before 10 s. Nothing
  -- of it is volatile: only who asks for it pays.
  hint constant text := $$
           CASE WHEN fed.silent THEN 'a trigger of its table is disabled: see explain'
                WHEN c.feed <> 'published' AND fed.channel IS NULL THEN 'no table has its trigger: see explain'
                WHEN c.mode <> 'BROADCAST' AND ready.backlog + later.scheduled = 0 AND (SELECT pgonce.published_since()) < statement_timestamp() - interval '10 seconds'
                THEN 'an open transaction has published something, here or in another channel: see explain' END $$;
BEGIN
  FOR view IN SELECT v.name, v.definition FROM (VALUES
    -- Per channel and subscription, how it is installed. It counts nothing, so it costs nothing. Here and in channel_status a channel whose subscriptions
    -- were all dropped has one row, in which the subscription is null.
    ('channel_settings', $$
    SELECT c.name AS channel, s.name AS subscription, c.mode, c.feed, c.key_order, c.max_per_key, c.max_rate, c.max_depth, c.key_memory, c.wake_ups, c.history, c.history_payload,
           s.filter, c.owner, c.installed_at, c.installed_by, c.changed_at, c.changed_by, s.id AS subscription_id
      FROM pgonce.channel c LEFT JOIN pgonce.subscription s ON s.channel_id = c.id $$),

    -- What is at work: by whom, since when, and its last SQL, as far as pg_stat_activity lets the role see it (pg_read_all_stats sees all). instance: the
    -- listener whose last heartbeat named the session; null for one that began since, and for what no listener holds. waits_for, blocked_by_pid: the lock
    -- that it waits for, and the process that has to end first. held is asked for each subscription by itself, so that a query for one channel pays for
    -- what waits in that one; and only of those that may have something at work. The subselect asks once which these are.
    ('at_work', $$
    SELECT c.name AS channel, s.name AS subscription, h.id, h.attempt, l.instance, h.pid, a.application_name, a.xact_start AS since, h.leased_until,
           a.state, a.wait_event_type, a.wait_event, w.waits_for, w.since AS waits_since, w.held_by AS blocked_by_pid, a.query AS last_sql
      FROM pgonce.channel c
      JOIN pgonce.subscription s ON s.channel_id = c.id AND s.id = ANY ((SELECT pgonce.subscriptions_at_work())::integer[])
     CROSS JOIN LATERAL pgonce.held(s.id) h
      LEFT JOIN pg_stat_activity a ON a.pid = h.pid
      LEFT JOIN LATERAL pgonce.lock_wait(h.pid) w ON true
      LEFT JOIN LATERAL (SELECT o.instance FROM pgonce.listener o WHERE h.pid = ANY (o.sessions) ORDER BY o.seen_at DESC LIMIT 1) l ON true $$),

    -- Per channel and subscription: what waits, how old it is, what failed, how many listen, whether it is paused, and a hint where it may look idle and
    -- is not. Due are backlog, which are new ones, and of the scheduled as many as due says. Here and in channel_gauges the counts are joined by LEFT
    -- JOIN, so that a query pays only for those that it asks for.
    -- They are ORDER BY an index: where one subscription has nearly all rows, PostgreSQL expects as many of each, and would read the table for each.
    ('channel_status', $$
    SELECT c.name AS channel, c.mode, c.feed, s.name AS subscription,
           ready.backlog, later.scheduled, later.due, later.retrying, later.most_attempts,
           clock_timestamp() - least(ready.oldest, later.oldest_due) AS oldest_age,
           dead.dead_letters,
           coalesce(heard.listeners, 0) AS listeners,
           s.paused_at AS paused_since, s.paused_by, s.pause_reason, pgonce.gate_state(c.name) AS notify_gate,
           coalesce(heard.outdated, 0) AS outdated_listeners,
           CASE WHEN s.id IS NULL THEN 'it has no subscription, so nothing published to it is stored: see explain' ELSE $$ || hint || $$ END AS hint
      FROM pgonce.channel c
      LEFT JOIN pgonce.subscription s ON s.channel_id = c.id
      LEFT JOIN ($$ || heard || $$) heard ON heard.id = s.id
      LEFT JOIN ($$ || feeds || $$) fed ON fed.channel = c.name
      LEFT JOIN LATERAL (
        SELECT count(*) AS backlog, min(n.created_at) AS oldest
          FROM (SELECT f.created_at FROM pgonce.notification f WHERE f.subscription_id = s.id ORDER BY f.id) n) ready ON true
      LEFT JOIN LATERAL (
        SELECT count(*) AS scheduled, count(*) FILTER (WHERE d.due_at <= clock_timestamp()) AS due, count(*) FILTER (WHERE $$ || failed || $$) AS retrying, max(d.attempts) AS most_attempts,
               min(d.due_at) FILTER (WHERE d.due_at <= clock_timestamp()) AS oldest_due
          FROM (SELECT f.attempts, f.due_at, f.token FROM pgonce.scheduled f WHERE f.subscription_id = s.id ORDER BY f.due_at) d) later ON true
      LEFT JOIN LATERAL (
        SELECT count(*) AS dead_letters FROM (SELECT FROM pgonce.dead_letter l WHERE l.subscription_id = s.id ORDER BY l.id) d) dead ON true $$),

    -- As channel_status, for what looks every few seconds (pgonce-micrometer, pgonce-console): it counts to 100,000 and no further, so that a look costs
    -- little however much waits. Beyond that the age is that of the first 100,000 by id. A channel that has no subscription is not in it.
    ('channel_gauges', $$
    SELECT c.name AS channel, s.name AS subscription, ready.backlog, later.scheduled, later.due, later.retrying,
           (SELECT count(*) FROM (SELECT FROM pgonce.dead_letter l WHERE l.subscription_id = s.id ORDER BY l.id LIMIT 100000) d) AS dead_letters,
           coalesce(extract(epoch FROM clock_timestamp() - least(ready.oldest, later.oldest_due)), 0)::float8 AS oldest_age,
           coalesce(heard.listeners, 0) AS listeners,
           s.paused_at IS NOT NULL AS paused, s.paused_at AS paused_since, s.paused_by, s.pause_reason,
           coalesce(heard.outdated, 0) AS outdated_listeners, $$ || hint || $$ AS hint
      FROM pgonce.channel c
      JOIN pgonce.subscription s ON s.channel_id = c.id
      LEFT JOIN ($$ || heard || $$) heard ON heard.id = s.id
      LEFT JOIN ($$ || feeds || $$) fed ON fed.channel = c.name
      LEFT JOIN LATERAL (
        SELECT count(*) AS backlog, min(f.created_at) AS oldest
          FROM (SELECT n.created_at FROM pgonce.notification n WHERE n.subscription_id = s.id ORDER BY n.id LIMIT 100000) f) ready ON true
      LEFT JOIN LATERAL (
        SELECT count(*) AS scheduled, count(*) FILTER (WHERE d.due_at <= clock_timestamp()) AS due, count(*) FILTER (WHERE $$ || failed || $$) AS retrying,
               min(d.due_at) FILTER (WHERE d.due_at <= clock_timestamp()) AS oldest_due
          FROM (SELECT f.attempts, f.due_at, f.token FROM pgonce.scheduled f WHERE f.subscription_id = s.id ORDER BY f.due_at LIMIT 100000) d) later ON true $$),

    ('dead_letter_status', $$
    SELECT c.name AS channel, s.name AS subscription, l.id, l.reason, l.error, l.attempts, l.created_at, l.died_at,
           (coalesce(l.stamp, 0) >> 16) + 1 AS version, CASE WHEN l.order_key <> chr(1) || l.id THEN l.order_key END AS order_key, l.subscription_id
      FROM pgonce.dead_letter l JOIN pgonce.subscription s ON s.id = l.subscription_id JOIN pgonce.channel c ON c.id = s.channel_id $$),

    ('retry_status', $$
    SELECT c.name AS channel, s.name AS subscription, d.id, d.attempts, d.due_at, d.last_error, d.created_at,
           (coalesce(d.stamp, 0) >> 16) + 1 AS version
      FROM pgonce.scheduled d JOIN pgonce.subscription s ON s.id = d.subscription_id JOIN pgonce.channel c ON c.id = s.channel_id
     WHERE $$ || failed),

    -- What was handled, as long as its channel asks for it. For the latest of a channel, or for a delivery key, history_of is faster.
    ('history', $$
    SELECT c.name AS channel, s.name AS subscription, h.id, CASE WHEN h.skipped THEN 'SKIPPED' ELSE 'HANDLED' END AS outcome, h.delivery_key,
           h.created_at, h.due_at, h.claimed_at, h.handled_at, h.took, h.attempts, h.instance
      FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
      JOIN pgonce.handled h ON h.subscription_id = s.id AND h.handled_at > clock_timestamp() - c.history $$),

    -- first_for: the channels whose wake-ups the listener answers at once, while others wait a moment. A BROADCAST has no such listener. outdated: what it
    -- does not handle, as it was changed since, and in what.
    ('listener_status', $$
    SELECT l.id, l.instance, l.listens_by, l.role, l.started_at, l.seen_at, clock_timestamp() - l.seen_at <= l.silence AS alive,
           ARRAY(SELECT c.name FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
                  WHERE s.id = ANY (l.subscriptions) ORDER BY c.name) AS channels,
           coalesce(f.channels, '{}') AS first_for,
           l.backend,
           (SELECT sum(w.workers) FROM unnest(l.workers) AS w (workers)) AS workers,
           (SELECT string_agg(s.name || ' of ' || c.name || ': ' || pgonce.difference_in(o.difference) || ', installed so at ' || date_trunc('second', c.changed_at) || ' by ' || c.changed_by,
                               '; ' ORDER BY c.name, s.name)
              FROM unnest(l.subscriptions, l.outdated) AS o (id, difference) JOIN pgonce.subscription s ON s.id = o.id JOIN pgonce.channel c ON c.id = s.channel_id
             WHERE o.difference <> '') AS outdated, l.address
      FROM pgonce.listener l
      LEFT JOIN (
        SELECT p.listener, array_agg(c.name ORDER BY c.name) AS channels
          FROM pgonce.first_listeners() p JOIN pgonce.subscription s ON s.id = p.subscription JOIN pgonce.channel c ON c.id = s.channel_id
         WHERE c.mode <> 'BROADCAST' GROUP BY p.listener) f ON f.listener = l.id $$),

    -- Listeners that stopped, or fell silent (stopped is false), within a day.
    ('former_listener_status', $$
    SELECT l.instance, l.address, l.role, l.started_at, l.left_at, l.stopped,
           ARRAY(SELECT c.name FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
                  WHERE s.id = ANY (l.subscriptions) ORDER BY c.name) AS channels
      FROM pgonce.former_listener l WHERE l.left_at >= clock_timestamp() - interval '1 day' $$),

    ('operation_log', $$
    SELECT o.id, o.at, o.what, o.channel, o.subscription, o.role, o.operator, o.reason, o.concerned, o.detail FROM pgonce.operation o $$)
  ) AS v (name, definition)
  LOOP
    mark := 'pgonce: definition ' || left(encode(sha256(convert_to(view.definition, getdatabaseencoding())), 'hex'), 12);
    IF to_regclass('pgonce.' || view.name) IS NOT NULL THEN
      CONTINUE WHEN obj_description(to_regclass('pgonce.' || view.name), 'pg_class') = mark;
      EXECUTE format('DROP VIEW pgonce.%I', view.name);
    END IF;
    EXECUTE format('CREATE VIEW pgonce.%I AS %s', view.name, view.definition);
    EXECUTE format('COMMENT ON VIEW pgonce.%I IS %L', view.name, mark);
  END LOOP;
END
$do$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
