-- What a listener asks beside claims: who it is, whether there is work, and when the next row is due.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Whether the session by which a process listens is there: without it, the process has died, or is disconnected. A number that is given out again may
-- be that of another session, which only those see as such who may see when it began.
CREATE OR REPLACE FUNCTION pgonce.has_session(backend integer, seen_at timestamptz) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT backend IS NULL OR EXISTS (SELECT FROM pg_stat_get_activity(backend) a WHERE a.backend_start <= seen_at IS NOT FALSE)
$$;

-- The rank of a process among those that listen for a subscription: 0 answers the wake-ups for new rows at once, the others after a delay that grows with
-- their rank. Each subscription has an order of its own, so that no process is the first for all. Null for a process that does not listen.
CREATE OR REPLACE FUNCTION pgonce.rank(listener uuid, subscription integer) RETURNS integer
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT r.rank FROM (
    SELECT l.id, (row_number() OVER (ORDER BY hashtextextended(l.id::text, rank.subscription), l.id) - 1)::integer AS rank
      FROM pgonce.listener l
     WHERE rank.subscription = ANY (l.subscriptions) AND l.hears_by <> 'polling' AND clock_timestamp() - l.seen_at <= l.silence
       AND pgonce.has_session(l.backend, l.seen_at)) r
   WHERE r.id = rank.listener
$$;

-- A process starts to listen.
CREATE OR REPLACE FUNCTION pgonce.listener_starts(
  listener uuid, instance text, subscriptions integer[], hears_by text, silence_ms bigint, backend integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  copied constant text := pgonce.copy_of_another();
BEGIN
  IF copied IS NOT NULL THEN
    RAISE EXCEPTION 'pgonce: %', copied USING ERRCODE = 'PO003';
  END IF;
  PERFORM pgonce.bound_idle(30000);
  INSERT INTO pgonce.listener (id, instance, subscriptions, hears_by, backend, silence)
  VALUES (listener, instance, subscriptions, hears_by, backend, silence_ms * interval '1 millisecond');
  PERFORM pgonce.fit_gates(subscriptions);
END
$$;

-- A process is about to stop: it has no rank from now on, whatever it has at work still.
CREATE OR REPLACE FUNCTION pgonce.listener_gives_up_rank(listener uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM pgonce.bound_idle(30000);
  UPDATE pgonce.listener l SET hears_by = 'polling' WHERE l.id = listener AND l.hears_by <> 'polling';
END
$$;

-- A process stops. Where notifications of one key wait for others, those that it had at work may have been waited for by other processes: they look again.
CREATE OR REPLACE FUNCTION pgonce.listener_stops(listener uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  listened integer[];
BEGIN
  PERFORM pgonce.bound_idle(30000);
  DELETE FROM pgonce.listener l WHERE l.id = listener RETURNING l.subscriptions INTO listened;
  PERFORM pgonce.wake_up(c.name, 'due')
     FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
    WHERE s.id = ANY (listened) AND (c.key_order <> 'NONE' OR c.max_per_key IS NOT NULL);
  PERFORM pgonce.leave_gates(listened);
END
$$;

-- The heartbeat, with each tenth poll, and where the process listens by another session than before.
CREATE OR REPLACE FUNCTION pgonce.listener_seen(listener uuid, hears_by text, backend integer DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms'
AS $$
BEGIN
  PERFORM pgonce.bound_idle(30000);
  UPDATE pgonce.listener l SET seen_at = clock_timestamp(), hears_by = listener_seen.hears_by, backend = listener_seen.backend WHERE l.id = listener;
END
$$;

-- What is installed under a name: a listener compares it with the definition in code, when it starts and with each poll. encoding says what text
-- can be stored here. ROWS 1, which it has: with the default, 1,000, the poll would look expensive enough to be compiled.
CREATE OR REPLACE FUNCTION pgonce.installed(channel_name text, subscription_name text)
RETURNS TABLE (subscription integer, mode text, feed text, filter jsonb, key_memory_ms bigint, key_order text, max_depth integer, max_rate integer, max_per_key integer,
               wake_ups text, epoch text, encoding text)
LANGUAGE sql SECURITY DEFINER ROWS 1 SET search_path = pg_catalog, pg_temp
AS $$
  SELECT s.id, c.mode, c.feed, s.filter, (1000 * extract(epoch FROM least(c.key_memory, interval '87600 hours')))::bigint, c.key_order, c.max_depth, c.max_rate, c.max_per_key,
         c.wake_ups, i.epoch, getdatabaseencoding()::text
    FROM pgonce.channel c CROSS JOIN pgonce.installation i
    LEFT JOIN pgonce.subscription s ON s.channel_id = c.id AND s.name = subscription_name
   WHERE c.name = channel_name
$$;

-- The poll, one statement a second for all subscriptions of a process: which of them have new rows and due ones (claimed or not), how long until
-- the next row of each is due (null: none), and how it is defined by now, as pgonce.installed says it (null: it was dropped). It only reads: what else a
-- listener does now and then (listener_seen, keep_house) cannot keep it from its answer. Lengths of time, never points in time: clocks differ. A paused
-- subscription has nothing to do; since when, in microseconds since 1970, is for people to read. queue_usage: of the server's NOTIFY queue, 0 to 1.
-- after: for each subscription, in the order in which they are registered, the id behind which new rows are looked for; empty for the whole. Claimed
-- rows before it have dead index entries for as long as somebody's snapshot may see them.
-- No settings for its plans: that the tables of notifications are read by their indexes is due to their padding rows (pgonce.keep_ballast), and the others,
-- which are small, may be read as a whole. With enable_seqscan = off a plan that does so costs 1e10 until PostgreSQL 17, and is compiled each time.
CREATE OR REPLACE FUNCTION pgonce.poll(listener uuid, after bigint[] DEFAULT '{}')
RETURNS TABLE (subscription integer, ready boolean, due boolean, due_in_ms bigint,
               paused_us bigint, paused_by text, pause_reason text, queue_usage double precision,
               mode text, feed text, filter jsonb, key_memory_ms bigint, key_order text, max_depth integer, max_rate integer, max_per_key integer,
               wake_ups text, epoch text, encoding text, gate_unfit boolean, gate_open boolean, listeners integer, rank integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  now constant timestamptz := clock_timestamp();
  usage constant double precision := pg_notification_queue_usage();
BEGIN
  PERFORM pgonce.bound_idle(30000);
  IF NOT EXISTS (SELECT FROM pgonce.listener l WHERE l.id = listener) THEN
    RAISE EXCEPTION 'pgonce: listener % was silent for too long and was taken off the list; it registers again by itself', listener
      USING ERRCODE = 'PO002';
  END IF;
  -- Sub-selects with a limit: EXISTS could become a hash of all that is stored.
  RETURN QUERY
    WITH alive AS MATERIALIZED (
      SELECT o.id, o.subscriptions, o.hears_by <> 'polling' AND pgonce.has_session(o.backend, o.seen_at) AS listens
        FROM pgonce.listener o WHERE clock_timestamp() - o.seen_at <= o.silence)
    SELECT s.id,
           k.paused_at IS NULL AND (SELECT n.id FROM pgonce.notification n WHERE n.subscription_id = s.id AND n.id > coalesce(s.behind, 0) ORDER BY n.id LIMIT 1) IS NOT NULL,
           k.paused_at IS NULL AND (SELECT d.id FROM pgonce.scheduled d WHERE d.subscription_id = s.id AND d.due_at <= now ORDER BY d.due_at, d.id LIMIT 1) IS NOT NULL,
           (SELECT ceil(1000 * extract(epoch FROM d.due_at - now))::bigint
              FROM pgonce.scheduled d WHERE k.paused_at IS NULL AND d.subscription_id = s.id AND d.due_at > now AND d.due_at < 'infinity' ORDER BY d.due_at LIMIT 1),
           (1000000 * extract(epoch FROM k.paused_at))::bigint, k.paused_by, k.pause_reason, usage,
           i.mode, i.feed, i.filter, i.key_memory_ms, i.key_order, i.max_depth, i.max_rate, i.max_per_key, i.wake_ups, i.epoch, i.encoding,
           k.of_channel IS NOT NULL AND pgonce.gate_is_unfit(k.of_channel, i.wake_ups),
           k.of_channel IS NOT NULL AND pgonce.is_open(pg_sequence_last_value(pgonce.gate_of(k.of_channel))) IS TRUE,
           (SELECT count(*)::integer FROM alive a WHERE s.id = ANY (a.subscriptions)),
           -- As pgonce.rank.
           (SELECT count(*)::integer FROM alive a WHERE a.listens AND s.id = ANY (a.subscriptions)
               AND (hashtextextended(a.id::text, s.id), a.id) < (hashtextextended(l.id::text, s.id), l.id))
      FROM pgonce.listener l CROSS JOIN unnest(l.subscriptions, after) AS s (id, behind) LEFT JOIN pgonce.subscription k ON k.id = s.id LEFT JOIN pgonce.channel c ON c.id = k.channel_id
      LEFT JOIN LATERAL pgonce.installed(c.name, k.name) i ON true
     WHERE l.id = listener;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
