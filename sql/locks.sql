-- Who waits for which lock, and whose session holds it: for explain.sql.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- For which lock a server's process waits, in words, since when, and the process that ends the wait when it ends: the last of a chain in which each
-- waits for the next; 0 for a prepared transaction. held_as: the modes in which that one has a table's lock. All null if it waits for none.
-- pg_blocking_pids takes the lock manager's locks for a moment, so it is asked only of processes that wait.
CREATE OR REPLACE FUNCTION pgonce.lock_wait(pid integer, OUT waits_for text, OUT since timestamptz, OUT held_by integer, OUT held_as text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  wanted record;
  chain integer[] := ARRAY[lock_wait.pid];
  waiting integer := lock_wait.pid;
  holder integer;
BEGIN
  SELECT l.locktype, l.relation, l.waitstart INTO wanted FROM pg_locks l WHERE l.pid = lock_wait.pid AND NOT l.granted LIMIT 1;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  since := wanted.waitstart;
  -- Who waits for a row's transaction holds the row's turn, which names the table.
  waits_for := CASE WHEN wanted.locktype = 'relation' THEN format('a lock on table %s', wanted.relation::regclass)
    WHEN wanted.locktype = 'tuple' THEN format('a row of table %s', wanted.relation::regclass)
    WHEN wanted.locktype = 'transactionid' THEN coalesce(
      (SELECT format('a row of table %s', t.relation::regclass) FROM pg_locks t WHERE t.pid = lock_wait.pid AND t.locktype = 'tuple' AND t.granted LIMIT 1),
      'a row that another transaction has written')
    ELSE format('a lock of type %s', wanted.locktype) END;
  FOR hop IN 1..10 LOOP
    holder := (pg_blocking_pids(waiting))[1];
    EXIT WHEN holder IS NULL OR holder = ANY (chain);
    chain := chain || holder;
    held_by := holder;
    EXIT WHEN NOT EXISTS (SELECT FROM pg_locks l WHERE l.pid = holder AND NOT l.granted);
    waiting := holder;
  END LOOP;
  held_as := (SELECT string_agg(h.mode, ', ' ORDER BY h.mode) FROM pg_locks w JOIN pg_locks h ON h.locktype = 'relation' AND h.database = w.database AND h.relation = w.relation
               WHERE w.pid = waiting AND NOT w.granted AND w.locktype = 'relation' AND h.granted AND coalesce(h.pid, 0) = held_by);
END
$$;

-- Whose session a server's process is, in which state, and its last SQL if that is asked for, as far as the caller may see it (pg_read_all_stats sees
-- all). 0: a prepared transaction.
CREATE OR REPLACE FUNCTION pgonce.session_of(pid integer, with_sql boolean DEFAULT false) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN session_of.pid = 0 THEN 'process 0 stands for a prepared transaction'
    || coalesce((SELECT ': ' || string_agg(format('"%s" of role %s, since %s', p.gid, p.owner, date_trunc('second', p.prepared)), ', ' ORDER BY p.prepared)
                   FROM pg_prepared_xacts p WHERE p.database = current_database()), '')
    ELSE coalesce(
    (SELECT format('process %s is %s, role %s%s, %s', a.pid, coalesce(nullif(a.application_name, ''), 'without a name'), a.usename,
              ', from ' || host(a.client_addr),
              CASE WHEN a.state IS NULL THEN format('in a state that role %s may not see without pg_read_all_stats', current_user)
                   ELSE concat_ws(', ', a.state || ' since ' || date_trunc('second', a.state_change), 'in its transaction since ' || date_trunc('second', a.xact_start),
                     CASE WHEN with_sql THEN format('its last SQL: %s', left(regexp_replace(btrim(a.query), '\s+', ' ', 'g'), 300)) END) END)
       FROM pg_stat_activity a WHERE a.pid = session_of.pid),
    format('process %s has ended since', session_of.pid)) END
$$;

-- How many processes of the server wait for a lock until this one ends: for it, or for one that waits for it. 0: for prepared transactions. Of a
-- thousand that wait, as pg_blocking_pids is asked of each.
CREATE OR REPLACE FUNCTION pgonce_private.waiting_behind(holder integer) RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
  WITH RECURSIVE waiting AS MATERIALIZED (
    SELECT w.pid, pg_blocking_pids(w.pid) AS blockers FROM (SELECT DISTINCT l.pid FROM pg_locks l WHERE NOT l.granted LIMIT 1000) w
  ), behind AS (
    SELECT w.pid FROM waiting w WHERE holder = ANY (w.blockers)
    UNION
    SELECT w.pid FROM behind b JOIN waiting w ON b.pid = ANY (w.blockers)
  )
  SELECT count(*) FROM behind
$$;

-- What pgonce.lock_wait has found, in words; null if nothing.
CREATE OR REPLACE FUNCTION pgonce_private.wait_words(waits_for text, since timestamptz, held_by integer, held_as text) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT concat('waits' || ' since ' || date_trunc('second', since), ' for ' || waits_for, ', held by '
    || CASE held_by WHEN 0 THEN 'a prepared transaction (pg_prepared_xacts)' ELSE 'server process ' || held_by END, ' in mode ' || held_as,
    ' (' || CASE WHEN held_by IS NOT NULL THEN nullif(pgonce_private.waiting_behind(held_by), 0) END || ' wait behind it)') WHERE waits_for IS NOT NULL
$$;

-- What ends such a wait; null where nobody is known to hold the lock, or none is waited for.
CREATE OR REPLACE FUNCTION pgonce_private.wait_advice(pid integer, held_by integer) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT concat(CASE held_by WHEN 0 THEN 'COMMIT PREPARED or ROLLBACK PREPARED the transaction that holds the lock.'
      ELSE format('Have process %1$s end its transaction. If it hangs: SELECT pg_terminate_backend(%1$s), which undoes its work.', held_by) END,
    format(' To end %s does not help: the next attempt waits for the same lock.', pid)) WHERE held_by IS NOT NULL
$$;

-- The processes whose transactions have drawn ids and are open, but for the caller's; 0 stands for a prepared transaction. A transaction keeps
-- its lock on the sequence, so one that only settles, as most of a listener's do, is not among them.
CREATE OR REPLACE FUNCTION pgonce_private.open_writers() RETURNS integer[]
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT array_agg(DISTINCT coalesce(l.pid, 0)) FROM pg_locks l
   WHERE l.locktype = 'relation' AND l.granted AND l.mode = 'RowExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid()
     AND l.relation = 'pgonce.notification_id'::regclass
     AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
$$;

-- Since when the oldest transaction is open that has drawn an id, but for the caller's; with the caller's own rights, so of sessions only as far as
-- pg_stat_activity shows it (pg_read_all_stats sees all). Null if there is none, or it is not shown. STABLE, so that a query of a view that does not
-- ask for what it says does not run it.
CREATE OR REPLACE FUNCTION pgonce.published_since() RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT min(coalesce(a.xact_start, p.prepared)) FROM pg_locks l
    LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    LEFT JOIN pg_locks t ON l.pid IS NULL AND t.pid IS NULL AND t.virtualtransaction = l.virtualtransaction AND t.locktype = 'transactionid'
    LEFT JOIN pg_prepared_xacts p ON p.transaction = t.transactionid
   WHERE l.locktype = 'relation' AND l.granted AND l.mode = 'RowExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid()
     AND l.relation = 'pgonce.notification_id'::regclass
     AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
$$;

-- How many permits of a key are taken, by leases or by locks: see key_permits.sql.
CREATE OR REPLACE FUNCTION pgonce_private.permits_in_use(subscription integer, key text, max_per_key integer) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT count(*) FROM (
    SELECT p.permit FROM generate_series(1, max_per_key) AS p (permit) WHERE p.permit = ANY (pgonce_private.key_permits_taken(subscription, key, NULL))
    UNION
    SELECT p.permit FROM generate_series(1, max_per_key) AS p (permit)
      JOIN pg_locks l ON l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.mode = 'ExclusiveLock'
       AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended((key || chr(1) || p.permit) COLLATE "C", 123589553447781 + subscription)
       AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())) AS taken
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
