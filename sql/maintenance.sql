-- Housekeeping: what listeners do now and then, and no notification waits for.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Keeps the planner padding: 512 rows of subscription 0, four to a page, in the tables notification and scheduled. A session keeps its plans for
-- long, and a plan that was made for an empty table (a sequential scan and a sort) is bad for a full one. The size that PostgreSQL assumes for these
-- tables swings between nothing and millions, and statistics lag behind. With the padding no table looks so small that the index
-- is estimated dearer than all pages; where many rows are expected, the LIMIT keeps it cheaper.
-- So functions over these two tables need no settings for their plans, but for claim_by_key and those by which at_work.sql reads up to thousands of
-- rows. Functions over delivery_key and dead_letter do need enable_seqscan = off, since these tables may be empty when a plan is made; each of their
-- statements must have an index. Without one the plan costs 1e10 until PostgreSQL 17, and a server with LLVM compiles it each time (jit_above_cost).
-- FunctionPlanTest and JitTest check this.
-- The housekeeping of every listener calls this, as a TRUNCATE or a restore may have removed the padding. ANALYZE makes all sessions plan anew.
CREATE OR REPLACE FUNCTION pgonce_private.keep_padding() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  amount constant integer := 512;
  filler constant json := to_json(repeat('x', 1900)); -- just short enough to stay out of the TOAST table
BEGIN
  IF (SELECT count(*) FROM pgonce.notification n WHERE n.subscription_id = 0) = amount
     AND (SELECT count(*) FROM pgonce.scheduled s WHERE s.subscription_id = 0) = amount THEN
    RETURN;
  END IF;
  BEGIN
    -- ANALYZE needs this lock. If another session or a vacuum has it, the next call does the work.
    LOCK TABLE pgonce.notification, pgonce.scheduled IN SHARE UPDATE EXCLUSIVE MODE NOWAIT;
  EXCEPTION WHEN lock_not_available THEN
    RETURN;
  END;
  INSERT INTO pgonce.notification (subscription_id, id, created_at, payload)
  SELECT 0, g, 'infinity', filler FROM generate_series(1, amount) g ON CONFLICT DO NOTHING;
  INSERT INTO pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload)
  SELECT 0, g, 'infinity', 0, 'infinity', filler FROM generate_series(1, amount) g ON CONFLICT DO NOTHING;
  ANALYZE pgonce.notification;
  ANALYZE pgonce.scheduled;
END
$$;

-- What clear_leftovers does for one subscription, and for the keys of one channel: by an index, though a plan may be made while a table is empty.
-- Null if it has to wait for a lock.
CREATE OR REPLACE FUNCTION pgonce_private.clear_subscription(channel integer, gone integer, amount integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off
AS $$
DECLARE
  deleted bigint;
  ids bigint[];
  keys text[];
BEGIN
  WITH present AS (
    DELETE FROM pgonce.notification n WHERE n.subscription_id = gone AND n.id = ANY (ARRAY(
      SELECT f.id FROM pgonce.notification f WHERE f.subscription_id = gone ORDER BY f.id LIMIT amount FOR UPDATE SKIP LOCKED))
    RETURNING n.id, n.delivery_key
  ), later AS (
    DELETE FROM pgonce.scheduled d WHERE d.subscription_id = gone AND d.id = ANY (ARRAY(
      SELECT f.id FROM pgonce.scheduled f WHERE f.subscription_id = gone AND (f.token IS NULL OR f.due_at <= clock_timestamp())
       ORDER BY f.due_at, f.id LIMIT amount FOR UPDATE SKIP LOCKED))
    RETURNING d.id, d.delivery_key
  ), dead AS (
    DELETE FROM pgonce.dead_letter x WHERE x.subscription_id = gone AND x.id = ANY (ARRAY(
      SELECT f.id FROM pgonce.dead_letter f WHERE f.subscription_id = gone ORDER BY f.id LIMIT amount FOR UPDATE SKIP LOCKED))
    RETURNING x.id, x.delivery_key
  )
  SELECT count(*), array_agg(a.id) FILTER (WHERE a.delivery_key IS NOT NULL), array_agg(a.delivery_key) FILTER (WHERE a.delivery_key IS NOT NULL)
    INTO deleted, ids, keys FROM (TABLE present UNION ALL TABLE later UNION ALL TABLE dead) AS a;
  IF keys IS NOT NULL THEN
    PERFORM pgonce_private.keys_done_later(channel, ids, keys);
  END IF;
  RETURN deleted;
EXCEPTION WHEN lock_not_available THEN
  RETURN NULL; -- another transaction has locked a key: the next time
END
$$;

CREATE OR REPLACE FUNCTION pgonce_private.clear_channel_keys(channel integer, amount integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off
AS $$
  WITH gone AS (
    DELETE FROM pgonce.delivery_key k WHERE k.channel_id = channel AND k.key = ANY (ARRAY(
      SELECT f.key FROM pgonce.delivery_key f WHERE f.channel_id = channel ORDER BY f.key LIMIT amount FOR UPDATE SKIP LOCKED))
    RETURNING true)
  SELECT count(*) FROM gone
$$;

-- Deletes what waited in dropped subscriptions and channels, with the keys of the latter, and what is still stored for them: by a publisher with an
-- older snapshot, or by a trigger whose channel was not installed again since. Only for those that are known to have been dropped: while a dump is
-- restored, others are not there yet. At most so many rows of each table; what a handler is at work on is left for the next time. Each drop is looked at again at
-- once while something is found, and then after a tenth of the time since it: such a look reads the index entries of all rows that were deleted, as
-- long as any snapshot may see them. Where something is found the drop counts as one hour old at most; where nothing is found for thirty days, nobody
-- looks any more. Returns how many rows it has deleted.
CREATE OR REPLACE FUNCTION pgonce_private.clear_leftovers(amount integer DEFAULT 10000) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms'
AS $$
DECLARE
  now constant timestamptz := clock_timestamp();
  gone record;
  of_one bigint;
  deleted bigint := 0;
BEGIN
  FOR gone IN SELECT d.id, d.channel_id, d.subscription_id FROM pgonce.dropped d WHERE d.look_at <= now ORDER BY d.look_at, d.id LOOP
    of_one := CASE WHEN gone.subscription_id > 0 AND NOT EXISTS (SELECT FROM pgonce.subscription s WHERE s.id = gone.subscription_id)
                     THEN pgonce_private.clear_subscription(gone.channel_id, gone.subscription_id, amount)
                   WHEN gone.subscription_id IS NULL AND NOT EXISTS (SELECT FROM pgonce.channel c WHERE c.id = gone.channel_id)
                     THEN pgonce_private.clear_channel_keys(gone.channel_id, amount)
                   ELSE 0 END;
    deleted := deleted + coalesce(of_one, 0);
    -- Where there was something, there may be more.
    UPDATE pgonce.dropped d
       SET at = CASE WHEN of_one = 0 THEN d.at ELSE greatest(d.at, now - interval '1 hour') END,
           look_at = CASE WHEN of_one = 0 THEN now + greatest((now - d.at) / 10, interval '1 second') ELSE now END
     WHERE d.id = gone.id;
    EXIT WHEN clock_timestamp() > now + interval '1 second'; -- a task that lasts 10 s is given up, and has done nothing
  END LOOP;
  DELETE FROM pgonce.dropped d WHERE d.at < now - interval '720 hours' AND d.look_at > now; -- not one that is still to be looked at
  RETURN deleted;
END
$$;

-- Does one task in a transaction of its own, apart from the poll. If it fails, be it for a locked table, a full disk or a setting, the poll
-- and the other tasks go on. One process at a time does a task; others leave it to that one. True if there may be more to do at once.
CREATE OR REPLACE FUNCTION pgonce.keep_house(task text, listener uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms'
AS $$
BEGIN
  PERFORM pgonce.bound_idle(30000);
  IF NOT pg_try_advisory_xact_lock(1885826920, hashtext(task)) THEN -- "pgoh" in ASCII
    RETURN false;
  END IF;
  CASE task
    WHEN 'padding rows' THEN
      PERFORM pgonce_private.keep_padding();
    WHEN 'leftovers of drops' THEN
      RETURN pgonce_private.clear_leftovers() > 0;
    WHEN 'delivery keys' THEN
      RETURN pgonce.forget_keys() >= 10000;
    WHEN 'history' THEN
      RETURN pgonce_private.keep_history();
    WHEN 'list of listeners' THEN -- a silent process may be frozen, and hold its row
      WITH gone AS (
        DELETE FROM pgonce.listener l
         WHERE l.id = ANY (ARRAY(SELECT s.id FROM pgonce.listener s WHERE clock_timestamp() - s.seen_at > s.silence FOR UPDATE SKIP LOCKED))
        RETURNING l.instance, l.address, l.role, l.subscriptions, l.started_at, l.seen_at
      )
      INSERT INTO pgonce.former_listener (instance, address, role, subscriptions, started_at, left_at, stopped) SELECT g.*, false FROM gone g;
      DELETE FROM pgonce.former_listener f WHERE f.left_at < clock_timestamp() - interval '1 day';
    WHEN 'gates of channels' THEN
      PERFORM pgonce_private.fit_gates(l.subscriptions) FROM pgonce.listener l WHERE l.id = listener;
  END CASE;
  RETURN false;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
