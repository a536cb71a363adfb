-- The registry of listeners, their ranks, and the poll.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Whether the session by which a process listens is there; if not, the process has died or is disconnected. The number may have been given to another
-- session since, which began later. Only roles that may see when it began notice that.
CREATE OR REPLACE FUNCTION pgonce_private.has_session(backend integer, seen_at timestamptz) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT backend IS NULL OR EXISTS (SELECT FROM pg_stat_get_activity(backend) a WHERE a.backend_start <= seen_at IS NOT FALSE)
$$;

-- Per subscription the process of rank 0, which answers wake-ups for new rows at once; that of rank 1 answers later, and the others with their polls.
-- Each subscription has an order of its own, so that no process is first for all. Who does not handle it, as it was changed, has no rank. One
-- statement for all: it sorts each entry of each process.
CREATE OR REPLACE FUNCTION pgonce.first_listeners() RETURNS TABLE (subscription integer, listener uuid)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  WITH listening AS MATERIALIZED (
    SELECT l.id, l.subscriptions, l.outdated FROM pgonce.listener l
     WHERE l.listens_by <> 'polling' AND clock_timestamp() - l.seen_at <= l.silence AND pgonce_private.has_session(l.backend, l.seen_at))
  SELECT DISTINCT ON (s.id) s.id, l.id FROM listening l CROSS JOIN unnest(l.subscriptions, l.outdated) AS s (id, outdated)
   WHERE coalesce(s.outdated, '') = ''
   ORDER BY s.id, uuid_hash_extended(l.id, s.id), l.id
$$;

-- A process starts to listen. It may be there already: a commit of which the process never heard may become visible later.
CREATE OR REPLACE FUNCTION pgonce.listener_starts(
  listener uuid, instance text, subscriptions integer[], listens_by text, silence_ms bigint, backend integer DEFAULT NULL,
  workers integer[] DEFAULT '{}')
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
DECLARE
  copied constant text := pgonce.copy_of_another();
BEGIN
  IF copied IS NOT NULL THEN
    RAISE EXCEPTION 'pgonce: %', copied USING ERRCODE = 'PO003';
  END IF;
  PERFORM pgonce.bound_idle(30000);
  INSERT INTO pgonce.listener (id, instance, subscriptions, workers, listens_by, backend, silence)
  VALUES (listener, instance, subscriptions, workers, listens_by, backend, silence_ms * interval '1 millisecond')
  ON CONFLICT (id) DO NOTHING;
  PERFORM pgonce_private.fit_gates(subscriptions);
END
$$;

-- A process stops. Rows of other processes may have waited for keys of its rows: these processes claim again.
CREATE OR REPLACE FUNCTION pgonce.listener_stops(listener uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
DECLARE
  gone pgonce.listener;
BEGIN
  PERFORM pgonce.bound_idle(30000);
  DELETE FROM pgonce.listener l WHERE l.id = listener RETURNING l.* INTO gone;
  INSERT INTO pgonce.former_listener (instance, address, role, subscriptions, started_at, left_at, stopped)
  SELECT gone.instance, gone.address, gone.role, gone.subscriptions, gone.started_at, clock_timestamp(), true WHERE gone.id IS NOT NULL;
  PERFORM pgonce.wake_up(c.name, 'due')
     FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
    WHERE s.id = ANY (gone.subscriptions) AND (c.key_order <> 'NONE' OR c.max_per_key IS NOT NULL);
  PERFORM pgonce_private.leave_gates(gone.subscriptions);
END
$$;

-- The heartbeat, each 10 s. It says by which session the process listens by now, what it does not handle as it was changed, and in which sessions its
-- handlers work.
CREATE OR REPLACE FUNCTION pgonce.listener_seen(
  listener uuid, listens_by text, backend integer DEFAULT NULL, outdated text[] DEFAULT '{}', sessions integer[] DEFAULT '{}')
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms'
AS $$
BEGIN
  PERFORM pgonce.bound_idle(30000);
  UPDATE pgonce.listener l SET seen_at = clock_timestamp(), listens_by = listener_seen.listens_by, backend = listener_seen.backend,
         outdated = listener_seen.outdated, sessions = listener_seen.sessions
   WHERE l.id = listener;
END
$$;

-- What is installed under a name. A listener compares it with the definition in code, when it starts and with each poll. encoding: of text that can
-- be stored. ROWS 1: with the default of 1,000, the poll would look expensive enough to be compiled.
CREATE OR REPLACE FUNCTION pgonce.installed(channel_name text, subscription_name text)
RETURNS TABLE (subscription integer, mode text, feed text, filter jsonb, key_memory_ms bigint, key_order text, max_depth integer, max_rate integer, max_per_key integer,
               wake_ups text, history_ms bigint, history_payload boolean, epoch text, encoding text)
LANGUAGE sql SECURITY DEFINER ROWS 1 SET search_path = pg_catalog, pg_temp
AS $$
  SELECT s.id, c.mode, c.feed, s.filter, (1000 * date_part('epoch', c.key_memory))::bigint, c.key_order, c.max_depth, c.max_rate, c.max_per_key,
         c.wake_ups, (1000 * date_part('epoch', c.history))::bigint, c.history_payload, i.epoch, getdatabaseencoding()::text
    FROM pgonce.channel c CROSS JOIN pgonce.installation i
    LEFT JOIN pgonce.subscription s ON s.channel_id = c.id AND s.name = subscription_name
   WHERE c.name = channel_name
$$;

-- The poll, one statement for all subscriptions of a process, once a second by default. For each: whether there are new rows and due ones (claimed or
-- not), how long until the next row is due (null: none), and its definition as pgonce.installed says it (null: dropped). It only reads, so that nothing else that a
-- listener does now and then (listener_seen, keep_house) can fail it. It returns lengths of time and no points in time: clocks differ. A paused
-- subscription has nothing to do; paused_us (microseconds since 1970) is for people to read. queue_usage: of the server's NOTIFY queue, 0 to 1.
-- after: for each subscription, in the order of registration, the id after which to look for new rows; empty to look at all. Claimed rows before it
-- have dead index entries for as long as a snapshot may see them.
-- It needs no settings for its plans: the padding rows keep them on the indexes (maintenance.sql), and the other tables are small and may be read as
-- a whole. With enable_seqscan = off, a plan that does so costs 1e10 until PostgreSQL 17, and is compiled each time. Where somebody locks one of these
-- tables it fails by lock_timeout, before the library gives up its connection: else a session would stay behind on the server with each poll.
-- Of rows that were announced, only the process of rank 0 is told at once. The others leave them to it for 200 ms, as they do with wake-ups: most are
-- being handled. ready is false then, and null where there is no new row. A row that seems to come from the future was written before the server's clock was set back.
CREATE OR REPLACE FUNCTION pgonce.poll(listener uuid, after bigint[] DEFAULT '{}')
RETURNS TABLE (subscription integer, ready boolean, due boolean, due_in_ms bigint,
               paused_us bigint, paused_by text, pause_reason text, queue_usage double precision,
               mode text, feed text, filter jsonb, key_memory_ms bigint, key_order text, max_depth integer, max_rate integer, max_per_key integer,
               wake_ups text, history_ms bigint, history_payload boolean, epoch text, encoding text, gate_unfit boolean, gate_open boolean, listeners integer, rank integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET lock_timeout = '10s'
AS $$
DECLARE
  now constant timestamptz := clock_timestamp();
  usage constant double precision := pg_notification_queue_usage();
BEGIN
  PERFORM pgonce.bound_idle(30000);
  -- Sub-selects with a limit: EXISTS could become a hash of all rows.
  RETURN QUERY
    WITH others AS MATERIALIZED (
      -- As pgonce_private.has_session, which costs three times as much for each listener.
      SELECT o.id, o.subscriptions, o.outdated, o.listens_by <> 'polling'
             AND (o.backend IS NULL OR EXISTS (SELECT FROM pg_stat_get_activity(o.backend) a WHERE a.backend_start <= o.seen_at IS NOT FALSE)) AS listens
        FROM pgonce.listener o WHERE o.id <> listener AND clock_timestamp() - o.seen_at <= o.silence
    ), ranked AS MATERIALIZED (
      -- Its rank: how many come before it in the order of pgonce.first_listeners. One pass over all entries: 64 processes poll each second.
      SELECT u.id, count(*)::integer AS listeners,
             (count(*) FILTER (WHERE o.listens AND coalesce(u.outdated, '') = ''
                AND (uuid_hash_extended(o.id, u.id), o.id) < (uuid_hash_extended(listener, u.id), listener)))::integer AS rank
        FROM others o CROSS JOIN unnest(o.subscriptions, o.outdated) AS u (id, outdated) GROUP BY u.id)
    SELECT s.id,
           (SELECT coalesce(r.rank, 0) = 0 OR c.wake_ups = 'NEVER' OR n.created_at NOT BETWEEN now - interval '200 milliseconds' AND now
              FROM pgonce.notification n WHERE k.paused_at IS NULL AND n.subscription_id = s.id AND n.id > coalesce(s.behind, 0) ORDER BY n.id LIMIT 1),
           k.paused_at IS NULL AND f.due_at <= now IS TRUE,
           -- Most have no row that is due: then the first one is the next one.
           CASE WHEN k.paused_at IS NULL THEN ceil(1000 * extract(epoch FROM CASE WHEN f.due_at <= now
                THEN (SELECT d.due_at FROM pgonce.scheduled d WHERE d.subscription_id = s.id AND d.due_at > now AND d.due_at < 'infinity' ORDER BY d.due_at LIMIT 1)
                ELSE nullif(f.due_at, 'infinity') END - now))::bigint END,
           (1000000 * extract(epoch FROM k.paused_at))::bigint, k.paused_by, k.pause_reason, usage,
           -- As pgonce.installed, which would cost more than all the rest if it were called for each subscription.
           c.mode, c.feed, k.filter, (1000 * date_part('epoch', c.key_memory))::bigint, c.key_order, c.max_depth, c.max_rate,
           c.max_per_key, c.wake_ups, (1000 * date_part('epoch', c.history))::bigint, c.history_payload, (SELECT i.epoch FROM pgonce.installation i), getdatabaseencoding()::text,
           k.of_channel IS NOT NULL AND pgonce_private.gate_is_unfit(g.value, c.wake_ups),
           k.of_channel IS NOT NULL AND pgonce_private.is_open(g.value) IS TRUE,
           1 + coalesce(r.listeners, 0), coalesce(r.rank, 0)
      FROM pgonce.listener l CROSS JOIN unnest(l.subscriptions, after) AS s (id, behind) LEFT JOIN pgonce.subscription k ON k.id = s.id LEFT JOIN pgonce.channel c ON c.id = k.channel_id
      LEFT JOIN ranked r ON r.id = s.id
      LEFT JOIN LATERAL (SELECT d.due_at FROM pgonce.scheduled d WHERE d.subscription_id = s.id ORDER BY d.due_at LIMIT 1) f ON true
      LEFT JOIN LATERAL (SELECT pg_sequence_last_value(pgonce.gate_of(k.of_channel)) AS value) g ON k.of_channel IS NOT NULL
     WHERE l.id = listener;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'pgonce: listener % was silent for too long and was taken off the list; it registers again by itself', listener
      USING ERRCODE = 'PO002';
  END IF;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
