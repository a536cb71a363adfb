-- The views for operators. A view is made again only where its definition changed: replacing one takes a lock that waits for its readers.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

DO $do$
DECLARE
  view record;
  mark text;
BEGIN
  FOR view IN SELECT v.name, v.definition FROM (VALUES
    -- Per channel and subscription: what waits, how old it is, what failed, how many listen, and whether it is paused.
    ('channel_status', $$
    SELECT c.name AS channel, c.mode, c.feed, s.name AS subscription,
           ready.backlog, later.scheduled, later.retrying, later.max_attempts,
           clock_timestamp() - least(ready.oldest, later.oldest_due) AS oldest_age,
           dead.dead_letters,
           (SELECT count(*) FROM pgonce.listener l WHERE s.id = ANY (l.subscriptions) AND clock_timestamp() - l.seen_at <= l.silence) AS listeners,
           s.paused_at AS paused_since, s.paused_by, s.pause_reason, pgonce.gate_state(c.name) AS notify_gate
      FROM pgonce.channel c
      JOIN pgonce.subscription s ON s.channel_id = c.id
      CROSS JOIN LATERAL (
        SELECT count(*) AS backlog, min(n.created_at) AS oldest FROM pgonce.notification n WHERE n.subscription_id = s.id) ready
      CROSS JOIN LATERAL (
        SELECT count(*) AS scheduled, count(*) FILTER (WHERE d.attempts > 0) AS retrying, max(d.attempts) AS max_attempts,
               min(d.due_at) FILTER (WHERE d.due_at <= clock_timestamp()) AS oldest_due
          FROM pgonce.scheduled d WHERE d.subscription_id = s.id) later
      CROSS JOIN LATERAL (
        SELECT count(*) AS dead_letters FROM pgonce.dead_letter l WHERE l.subscription_id = s.id) dead $$),

    ('dead_letter_status', $$
    SELECT c.name AS channel, s.name AS subscription, l.id, l.reason, l.error, l.attempts, l.created_at, l.died_at,
           (coalesce(l.stamp, 0) >> 16) + 1 AS version
      FROM pgonce.dead_letter l JOIN pgonce.subscription s ON s.id = l.subscription_id JOIN pgonce.channel c ON c.id = s.channel_id $$),

    ('retry_status', $$
    SELECT c.name AS channel, s.name AS subscription, d.id, d.attempts, d.due_at, d.last_error, d.created_at,
           (coalesce(d.stamp, 0) >> 16) + 1 AS version
      FROM pgonce.scheduled d JOIN pgonce.subscription s ON s.id = d.subscription_id JOIN pgonce.channel c ON c.id = s.channel_id
     WHERE d.attempts > 0 $$),

    -- first_for: the channels whose wake-ups the listener answers at once, while others wait a moment. A BROADCAST has no such listener.
    ('listener_status', $$
    SELECT l.id, l.instance, l.listens_by, l.role, l.started_at, l.seen_at, clock_timestamp() - l.seen_at <= l.silence AS alive,
           ARRAY(SELECT c.name FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
                  WHERE s.id = ANY (l.subscriptions) ORDER BY c.name) AS channels,
           ARRAY(SELECT c.name FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
                  WHERE s.id = ANY (l.subscriptions) AND c.mode <> 'BROADCAST' AND pgonce.rank(l.id, s.id) = 0 ORDER BY c.name) AS first_for,
           l.backend
      FROM pgonce.listener l $$),

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
