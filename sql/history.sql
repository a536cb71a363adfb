-- History: what was handled, of channels that ask for it. The deletion of a handled notification (settle/Deletion.java) inserts its row; here are the
-- partitions, and how it is read.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- The partitions of pgonce.handled but the default one, by their bounds in the catalog, which are written as the session writes times.
CREATE OR REPLACE FUNCTION pgonce_private.history_partitions() RETURNS TABLE (name text, begins timestamptz, ends timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO'
AS $$
  SELECT c.relname::text, b.bounds[1]::timestamptz, b.bounds[2]::timestamptz
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
   CROSS JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM \(''(.+)''\) TO \(''(.+)''\)$') AS b (bounds)
   WHERE i.inhparent = 'pgonce.handled'::regclass AND b.bounds IS NOT NULL
$$;

-- Makes partitions ahead, two at least: of an hour, a day or a week (UTC), by the longest history that a channel asks for. A partition begins in two
-- minutes at the soonest: the default one must hold no row of it, and a statement that is under way would fail if its row belonged to a partition
-- that it has not seen. Until it begins, and where rows of its time are in the default one already (a clock was set back), that one takes the rows.
-- It is attached, and not created in place: that would lock the whole table against inserts. Attaching locks out readers of the default partition,
-- for lock_timeout at most; then the next housekeeping tries again. Returns whether it has made one. In ISO: other styles write the zone by letters,
-- which before PostgreSQL 18 may be read as those of another zone.
CREATE OR REPLACE FUNCTION pgonce_private.make_history_partition(longest interval) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' SET datestyle = 'ISO'
AS $$
DECLARE
  now constant timestamptz := clock_timestamp();
  unit constant text := CASE WHEN longest <= interval '48 hours' THEN 'hour' WHEN longest <= interval '1440 hours' THEN 'day' ELSE 'week' END;
  -- In hours: a day of a session's zone may have 23.
  length constant interval := CASE unit WHEN 'hour' THEN interval '1 hour' WHEN 'day' THEN interval '24 hours' ELSE interval '168 hours' END;
  first timestamptz := date_trunc('minute', now) + interval '2 minutes';
  last timestamptz;
  name text;
BEGIN
  WHILE first < now + 2 * length LOOP
    last := (SELECT p.ends FROM pgonce_private.history_partitions() p WHERE p.begins <= first AND p.ends > first);
    IF last IS NULL THEN
      last := least(date_trunc(unit, first, 'UTC') + length, (SELECT min(p.begins) FROM pgonce_private.history_partitions() p WHERE p.begins > first));
      name := 'handled_' || to_char(first AT TIME ZONE 'UTC', 'YYYYMMDD_HH24MI');
      BEGIN
        EXECUTE format('CREATE TABLE pgonce.%I (LIKE pgonce.handled_default INCLUDING ALL)', name);
        EXECUTE format('ALTER TABLE pgonce.handled ATTACH PARTITION pgonce.%I FOR VALUES FROM (%L) TO (%L)', name, first, last);
        RETURN true;
      EXCEPTION
        WHEN lock_not_available THEN RETURN false;
        WHEN check_violation THEN NULL; -- the default partition has such rows: the next one
      END;
    END IF;
    first := last;
  END LOOP;
  RETURN false;
END
$$;

-- The housekeeping of history: drops a partition whose rows no channel asks for any more, or deletes such rows from the default partition, and makes
-- a partition ahead. True if there may be more to do. A drop locks out inserts for the moment that it takes, and for lock_timeout at most. To make a
-- partition comes last: it reads the default one, and may be cancelled where that has become large.
CREATE OR REPLACE FUNCTION pgonce_private.keep_history(amount integer DEFAULT 10000) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms'
AS $$
DECLARE
  longest constant interval := (SELECT max(c.history) FROM pgonce.channel c);
  gone_by constant timestamptz := clock_timestamp() - coalesce(longest, interval '0');
  doomed text;
  deleted bigint;
BEGIN
  SELECT p.name INTO doomed FROM pgonce_private.history_partitions() p WHERE p.ends <= gone_by ORDER BY p.ends LIMIT 1;
  IF FOUND THEN
    BEGIN
      EXECUTE format('DROP TABLE pgonce.%I', doomed);
      RETURN true;
    EXCEPTION WHEN lock_not_available THEN NULL; -- the next time
    END;
  END IF;
  DELETE FROM pgonce.handled_default d WHERE d.ctid = ANY (ARRAY(
    SELECT o.ctid FROM pgonce.handled_default o WHERE o.handled_at <= gone_by LIMIT amount FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted >= amount OR (longest IS NOT NULL AND pgonce_private.make_history_partition(longest));
END
$$;

-- What was handled in a channel, the latest first, within the time that the channel asks for: since that time, and before that one. key: of one
-- delivery key. For the next page, give handled_at and id of the last row as before and before_id; so that no row is left out, a page has more than
-- asked for where the same notification was handled for several subscriptions in the same microsecond. The payload, where it was kept, only on
-- request, and for a role that may read the table: it may be secret. Planned for each call, so that the index of delivery keys serves where there is
-- a key, and that of times where there is none.
CREATE OR REPLACE FUNCTION pgonce.history_of(
  channel_name text, since timestamptz DEFAULT NULL, before timestamptz DEFAULT NULL, before_id bigint DEFAULT NULL, most integer DEFAULT 100,
  key text DEFAULT NULL, subscription_name text DEFAULT NULL, with_payload boolean DEFAULT false)
RETURNS TABLE (subscription text, id bigint, outcome text, delivery_key text, created_at timestamptz, due_at timestamptz, claimed_at timestamptz,
               handled_at timestamptz, took interval, attempts integer, instance text, payload json)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  concerned constant integer[] := pgonce_private.subscriptions_of(channel_name, subscription_name);
  from_then constant timestamptz := greatest(since, clock_timestamp() - (SELECT c.history FROM pgonce.channel c WHERE c.name = channel_name AND c.history IS NOT NULL));
  to_then constant timestamptz := coalesce(before, 'infinity');
BEGIN
  IF with_payload AND NOT has_table_privilege(pgonce_private.caller(), 'pgonce.handled', 'SELECT') THEN
    RAISE EXCEPTION 'pgonce: role "%" may not see payloads of channel "%", which may be secret: leave with_payload out, or GRANT it pgonce_admin',
      pgonce_private.caller(), channel_name USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF NOT EXISTS (SELECT FROM pgonce.channel c WHERE c.name = channel_name AND c.history IS NOT NULL) THEN
    RETURN;
  END IF;
  RETURN QUERY
    SELECT s.name, w.* FROM pgonce.subscription s
     CROSS JOIN LATERAL (
       SELECT h.id, CASE WHEN h.skipped THEN 'SKIPPED' ELSE 'HANDLED' END, h.delivery_key, h.created_at, h.due_at, h.claimed_at, h.handled_at, h.took,
              h.attempts, h.instance, CASE WHEN with_payload THEN h.payload END
         FROM pgonce.handled h
        WHERE h.subscription_id = s.id AND (key IS NULL OR h.delivery_key = key)
          AND h.handled_at >= from_then AND h.handled_at <= to_then AND (h.handled_at < to_then OR h.id < before_id)
        ORDER BY h.handled_at DESC, h.id DESC LIMIT most) w
     WHERE s.id = ANY (concerned)
     ORDER BY w.handled_at DESC, w.id DESC FETCH FIRST (most) ROWS WITH TIES;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
