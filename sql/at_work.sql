-- What is at work. It only reads: it takes no row lock, as one that is given back leaves a mark in the row, by which a claim takes it for a suspect.
-- Who holds a row is told by its xmax, which is the holder's transaction, and by pg_locks, which has the process of each transaction that runs.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- The server's processes that work on a lease: its token is an advisory lock of each, see HandlerSession.
CREATE OR REPLACE FUNCTION pgonce_private.lease_sessions() RETURNS TABLE (mark bigint, pid integer)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT l.classid::bigint << 32 | l.objid::bigint, l.pid FROM pg_locks l
   WHERE l.granted AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.mode = 'ShareLock'
     AND l.database = (SELECT b.oid FROM pg_database b WHERE b.datname = current_database())
$$;

-- Which rows of a subscription are held: by a lock, or by a lease that has not expired. pid: the server's process of the transaction, or of
-- the session that a lease's handler works in; null for a prepared transaction, and for a handler that has not asked for its connection. A lease from
-- before its channel became EXACTLY_ONCE shows by that session alone. Held rows are among the first in line: it reads the first 10,000 of the new, due
-- and leased rows. Each is read once, however many transactions hold rows: IS TRUE keeps PostgreSQL from a join, which would read them once for each.
-- One plan for all subscriptions, as at_work asks for one after the other.
CREATE OR REPLACE FUNCTION pgonce.held(subscription integer)
RETURNS TABLE (subscription_id integer, id bigint, attempt integer, order_key text, leased_until timestamptz, pid integer)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
  WITH holders AS MATERIALIZED (
    SELECT l.transactionid AS holder, l.pid FROM pg_locks l WHERE l.granted AND l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock'
  ), target AS MATERIALIZED (
    SELECT c.mode = 'EXACTLY_ONCE' AS by_lock FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = held.subscription
  )
  SELECT held.subscription, n.id, 1, n.order_key, NULL::timestamptz, (SELECT k.pid FROM holders k WHERE k.holder = n.holder)
    FROM (SELECT f.id, f.order_key, f.xmax AS holder FROM pgonce.notification f WHERE f.subscription_id = held.subscription ORDER BY f.id LIMIT 10000) n
   WHERE EXISTS (SELECT FROM holders) AND (n.holder IN (SELECT k.holder FROM holders k)) IS TRUE
  UNION ALL
  SELECT held.subscription, d.id, d.attempts + (d.token IS NULL)::integer, d.order_key, NULL, (SELECT k.pid FROM holders k WHERE k.holder = d.holder)
    FROM (SELECT f.id, f.attempts, f.token, f.order_key, f.xmax AS holder FROM pgonce.scheduled f
           WHERE f.subscription_id = held.subscription ORDER BY f.due_at, f.id LIMIT 10000) d
   WHERE EXISTS (SELECT FROM holders) AND (d.holder IN (SELECT k.holder FROM holders k)) IS TRUE
     AND (d.token IS NULL OR (SELECT t.by_lock FROM target t))
  UNION ALL
  SELECT held.subscription, d.id, d.attempts, d.order_key, d.due_at, k.pid
    FROM (SELECT f.id, f.attempts, f.token, f.order_key, f.due_at FROM pgonce.scheduled f
           WHERE f.subscription_id = held.subscription AND f.due_at > (SELECT clock_timestamp()) ORDER BY f.due_at, f.id LIMIT 10000) d
    LEFT JOIN pgonce_private.lease_sessions() k ON k.mark = hashtextextended('pgonce lease ' || d.token, 0)
   WHERE d.token IS NOT NULL AND (k.pid IS NOT NULL OR NOT (SELECT t.by_lock FROM target t))
$$;

-- Whether nobody else may take a row that is in scheduled, locked or not: its handler has begun. EXACTLY_ONCE holds by lock alone: a token there means
-- an attempt that was counted ahead, unless its session shows, as held knows it, that it is a lease from before the channel was EXACTLY_ONCE. Where an
-- AT_MOST_ONCE handler has begun, its outcome may be unknown and must become a dead letter first. It is asked for each of many rows: it reads no others.
CREATE OR REPLACE FUNCTION pgonce_private.is_left_to_its_handler(d pgonce.scheduled) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT d.token IS NOT NULL AND NOT EXISTS (
    SELECT FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
     WHERE s.id = d.subscription_id AND c.mode <> 'AT_MOST_ONCE'
       AND CASE WHEN d.due_at <= clock_timestamp() THEN true
                WHEN c.mode = 'EXACTLY_ONCE' THEN NOT EXISTS (SELECT FROM pgonce_private.lease_sessions() l WHERE l.mark = hashtextextended('pgonce lease ' || d.token, 0)) END)
$$;

-- The subscriptions of which held is to be asked, where all channels are looked at: it spares at_work the rows of all others. Those where one of the
-- first rows is held, and those with a lease. All of them, if some transaction that locked rows is found in none of these, since its rows lie deeper:
-- a claim by key passes over many. Three statements: the second one's snapshot sees what the transactions of the first have locked, and those that
-- ended since are not looked for.
CREATE OR REPLACE FUNCTION pgonce.subscriptions_at_work() RETURNS integer[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  here constant oid := (SELECT d.oid FROM pg_database d WHERE d.datname = current_database());
  tables constant oid[] := ARRAY['pgonce.notification'::regclass, 'pgonce.scheduled'::regclass];
  claiming text[];
  seen text[];
  busy integer[];
BEGIN
  -- Who only stores rows has no RowShareLock.
  SELECT array_agg(c.transaction) INTO claiming FROM (
    SELECT l.virtualtransaction AS transaction FROM pg_locks l WHERE l.granted GROUP BY l.virtualtransaction
    HAVING bool_or(l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock')
       AND bool_or(l.locktype = 'relation' AND l.mode = 'RowShareLock' AND l.database = here AND l.relation = ANY (tables))) c;
  FOR round IN 1..2 LOOP
    WITH holders AS MATERIALIZED (
      SELECT l.transactionid AS holder, l.virtualtransaction AS transaction FROM pg_locks l
       WHERE l.granted AND l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock'
    ), held AS MATERIALIZED (
      SELECT DISTINCT s.id, f.holder
        FROM pgonce.subscription s CROSS JOIN LATERAL (
          (SELECT n.xmax AS holder FROM pgonce.notification n WHERE n.subscription_id = s.id ORDER BY n.id LIMIT CASE round WHEN 1 THEN 20 ELSE 10000 END)
          UNION ALL
          (SELECT d.xmax FROM pgonce.scheduled d WHERE d.subscription_id = s.id ORDER BY d.due_at, d.id LIMIT CASE round WHEN 1 THEN 20 ELSE 10000 END)) f
       WHERE (round = 1 OR s.id = ANY (busy)) AND EXISTS (SELECT FROM holders) AND (f.holder IN (SELECT k.holder FROM holders k)) IS TRUE
    )
    SELECT array_agg(DISTINCT h.id), array_agg(DISTINCT k.transaction) INTO busy, seen FROM held h JOIN holders k ON k.holder = h.holder;
    EXIT WHEN busy IS NULL;
  END LOOP;
  IF EXISTS (SELECT FROM pg_locks l WHERE l.virtualtransaction = ANY (claiming) AND (l.virtualtransaction = ANY (seen)) IS NOT TRUE) THEN
    RETURN ARRAY(SELECT s.id FROM pgonce.subscription s);
  END IF;
  RETURN busy || ARRAY(
    SELECT s.id FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
     WHERE (c.mode <> 'EXACTLY_ONCE' OR EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.mode = 'ShareLock'))
       AND EXISTS (
         SELECT FROM (SELECT d.token FROM pgonce.scheduled d WHERE d.subscription_id = s.id AND d.due_at > (SELECT clock_timestamp())
                       ORDER BY d.due_at, d.id LIMIT 10000) d WHERE d.token IS NOT NULL));
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
