-- Claim and settle. A claim lives as long as its transaction: whoever dies gives the row back.
-- The claim itself, and the deletion of what is handled, are statements of the library on the tables (ClaimStatement, SettleStatements): a
-- function around them costs more than they do.

-- See V001.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Fails a deletion that did not find what was claimed, on the server, where a commit may stand behind it. Called by the statement itself, so that it
-- is not paid for otherwise.
CREATE OR REPLACE FUNCTION pgonce.not_there(claimed bigint, deleted bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION 'pgonce: of % that were claimed % could be deleted', claimed, deleted USING ERRCODE = 'PO001';
END
$$;

-- Keeps the plans of those statements. A session keeps its plan for long, and it must never be one that is good for an empty table only: a
-- sequential scan and a sort. What PostgreSQL thinks a table holds swings between nothing and millions here, and its statistics lag behind. So
-- both tables hold a ballast: 512 rows of a subscription that is none, four to a page. With it neither is ever small, and the estimate for one
-- row by the index stays below that for all pages: either few rows are expected and few pages, or many, and the LIMIT cuts them short.
-- Functions over these two need no settings for their plans, but for a look at a thousand rows (pgonce.free_due). Those over delivery_key and dead_letter
-- do, which may be empty when a plan is made: enable_seqscan = off, and so each of their statements must have an index. Without one, the plan costs 1e10
-- until PostgreSQL 17, and a server with LLVM compiles it each time (jit_above_cost): FunctionPlanTest and JitTest keep both.
-- The housekeeping of every listener looks whether the ballast is there (a TRUNCATE or a restore may have removed it). ANALYZE makes all sessions plan
-- anew.
CREATE OR REPLACE FUNCTION pgonce.keep_ballast() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  amount constant integer := 512;
  filler constant json := to_json(repeat('x', 1900)); -- just not moved to the TOAST table
BEGIN
  IF (SELECT count(*) FROM pgonce.notification n WHERE n.subscription_id = 0) = amount
     AND (SELECT count(*) FROM pgonce.scheduled s WHERE s.subscription_id = 0) = amount THEN
    RETURN;
  END IF;
  BEGIN
    -- What ANALYZE needs. Another session may be at it, or a vacuum: then the next time will do.
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

SELECT pgonce.keep_ballast();

-- For transactions of pgonce's own: a process that is frozen, or cut off, before it commits does not keep what it has locked. A shorter
-- bound of the session's stays.
CREATE OR REPLACE FUNCTION pgonce.bound_idle(ms bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  set_now constant interval := current_setting('idle_in_transaction_session_timeout');
BEGIN
  IF set_now = interval '0' OR set_now > ms * interval '1 millisecond' THEN
    PERFORM set_config('idle_in_transaction_session_timeout', ms::text, true);
  END IF;
END
$$;

-- With the id of a subscription: the advisory lock of those that lease from it (shared), and of who changes its mode. "pgon" in ASCII.
CREATE OR REPLACE FUNCTION pgonce.mode_lock() RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT 1885826926 $$;

-- Whether a handler of this subscription whose work was undone may begin again by itself. Asked by a listener of EXACTLY_ONCE before it does so without
-- counting an attempt: the channel may have become AT_MOST_ONCE since.
CREATE OR REPLACE FUNCTION pgonce.may_begin_again(subscription integer) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT EXISTS (SELECT FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
                  WHERE s.id = may_begin_again.subscription AND c.mode <> 'AT_MOST_ONCE')
$$;

-- Claims one row on lease: with a token, and due again when the lease is over. The attempt is counted with that, so it needs no one to survive
-- it. The caller commits before it runs the handler. A row whose attempts are used up is given as spent, and one whose process died as died: both
-- unchanged and locked, for the caller to bury it, to count it or to have it wait. None is given to a caller who knows the channel in another mode,
-- nor while that is being changed: see change_mode, which waits for those that have begun. What a listener of a former EXACTLY_ONCE has held, and has
-- given back, is spent for AT_MOST_ONCE: its handler may have begun, and only who locked the row before tells (as in the claim of EXACTLY_ONCE).
-- after: of new rows, those with a higher id. Where there is an order or a limit per key, it looks in the ways of V007, and gives account of it
-- whether it claims one or not.
CREATE OR REPLACE FUNCTION pgonce.lease(subscription integer, due boolean, new_token uuid, lease_ms bigint, max_attempts integer,
  key_order text, known_mode text, max_per_key integer DEFAULT NULL, after bigint DEFAULT 0, after_us bigint DEFAULT 0,
  ways text[] DEFAULT '{near}', keys text[] DEFAULT '{}', walk_from text DEFAULT NULL)
RETURNS TABLE (claimed pgonce.scheduled, spent boolean, died boolean, seen text, busy text[], walked text)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  until constant timestamptz := clock_timestamp() + lease_ms * interval '1 millisecond';
  held_until timestamptz;
  next_id bigint;
  held xid;
  place_of_key smallint;
BEGIN
  PERFORM pgonce.bound_idle(greatest(lease_ms, 1000));
  -- A handler begins behind this commit, and never again: a crash of the server must not take the commit back. So it waits for the disk, and for
  -- the synchronous standbys, whatever the session's default is.
  IF known_mode = 'AT_MOST_ONCE' AND current_setting('synchronous_commit') <> 'remote_apply' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  -- Two statements: what a change has committed before the lock was free, the snapshot of the second sees.
  IF NOT pg_try_advisory_xact_lock_shared(pgonce.mode_lock(), subscription) THEN
    RETURN;
  END IF;
  SELECT CASE WHEN c.mode = 'AT_MOST_ONCE' THEN c.held_until END INTO held_until
    FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = subscription AND c.mode = known_mode;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF due THEN
    IF max_per_key IS NOT NULL THEN
      SELECT d.id, d.held, d.place, d.seen, d.busy, d.walked INTO next_id, held, place_of_key, seen, busy, walked
        FROM pgonce.free_due(subscription, max_per_key, ways, keys, after_us, after, walk_from) d;
    ELSIF key_order = 'NONE' THEN
      SELECT s.id, s.xmax INTO next_id, held FROM pgonce.scheduled s
       WHERE s.subscription_id = subscription AND s.due_at <= (SELECT clock_timestamp())
       ORDER BY s.due_at, s.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    ELSE
      SELECT d.id, d.held, d.seen, d.busy, d.walked INTO next_id, held, seen, busy, walked
        FROM pgonce.next_due(subscription, key_order = 'DEAD_LETTER_BLOCKS', ways, keys, after_us, after, walk_from) d;
    END IF;
    -- Two statements: what the first has locked, the snapshot of the second sees.
    SELECT s.* INTO claimed FROM pgonce.scheduled s WHERE s.subscription_id = subscription AND s.id = next_id;
    IF NOT FOUND THEN
      claimed := NULL;
      IF seen IS NOT NULL THEN
        RETURN NEXT;
      END IF;
      RETURN;
    END IF;
    spent := claimed.attempts >= max_attempts OR (held <> '0' AND claimed.created_at < held_until) IS TRUE;
    died := claimed.token IS NOT NULL;
    IF NOT spent AND NOT died THEN
      UPDATE pgonce.scheduled s SET due_at = until, attempts = s.attempts + 1, token = new_token,
             place = place_of_key, place_until = CASE WHEN place_of_key IS NOT NULL THEN until END
       WHERE s.subscription_id = subscription AND s.id = claimed.id RETURNING s.* INTO claimed;
    END IF;
  ELSE
    IF max_per_key IS NOT NULL THEN
      SELECT d.id, d.held, d.place, d.seen, d.busy, d.walked INTO next_id, held, place_of_key, seen, busy, walked
        FROM pgonce.free_new(subscription, max_per_key, ways, keys, after_us, after, walk_from) d;
    ELSIF key_order = 'NONE' THEN
      SELECT n.id, n.xmax INTO next_id, held FROM pgonce.notification n
       WHERE n.subscription_id = subscription AND n.id > after ORDER BY n.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    ELSE
      SELECT d.id, d.held, d.seen, d.busy, d.walked INTO next_id, held, seen, busy, walked
        FROM pgonce.next_new(subscription, key_order = 'DEAD_LETTER_BLOCKS', ways, keys, after_us, after, walk_from) d;
    END IF;
    IF next_id IS NULL THEN
      IF seen IS NOT NULL THEN
        RETURN NEXT;
      END IF;
      RETURN;
    END IF;
    died := false;
    IF held_until IS NOT NULL AND held <> '0' THEN
      SELECT n.subscription_id, n.id, n.created_at, 0, n.created_at, NULL, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL, NULL, NULL INTO claimed
        FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = next_id AND n.created_at < held_until;
      spent := FOUND;
    ELSE
      spent := false;
    END IF;
    IF NOT spent THEN
      WITH taken AS (
        DELETE FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = next_id RETURNING n.*
      )
      INSERT INTO pgonce.scheduled
        (subscription_id, id, due_at, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, place, place_until)
      SELECT t.subscription_id, t.id, until, 1, t.created_at, t.payload, t.delivery_key, t.order_key, t.context, t.stamp, new_token,
             place_of_key, CASE WHEN place_of_key IS NOT NULL THEN until END FROM taken t
      RETURNING * INTO claimed;
    END IF;
  END IF;
  RETURN NEXT;
END
$$;

-- Prolongs leases; returns the ids of those that are still held. Another's claim that waits for a row gets it only when its lease is over. One that
-- is over already goes on as long as nobody has taken the row, nor another of its order key, or with its place: with that locked, a second statement
-- sees it. Of two that had the same one after the other, the later.
CREATE OR REPLACE FUNCTION pgonce.renew(subscription integer, ids bigint[], tokens uuid[], lease_ms bigint) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
  now constant timestamptz := clock_timestamp();
  late bigint[];
BEGIN
  PERFORM pgonce.bound_idle(greatest(lease_ms, 1000));
  SELECT array_agg(l.id) INTO late
    FROM (SELECT DISTINCT ON (s.order_key, s.place) s.id, s.order_key, s.place
            FROM unnest(ids, tokens) AS h (id, token)
            JOIN pgonce.scheduled s ON s.subscription_id = subscription AND s.id = h.id AND s.token = h.token
           WHERE s.order_key IS NOT NULL AND s.due_at <= now ORDER BY s.order_key, s.place, s.due_at DESC) l
   WHERE CASE WHEN l.place IS NULL THEN pgonce.try_key(subscription, l.order_key) ELSE pgonce.try_place(subscription, l.order_key, l.place) END;
  RETURN QUERY UPDATE pgonce.scheduled s
       SET due_at = clock_timestamp() + lease_ms * interval '1 millisecond',
           place_until = CASE WHEN s.place IS NOT NULL THEN clock_timestamp() + lease_ms * interval '1 millisecond' END
      FROM unnest(ids, tokens) AS h (id, token)
     WHERE s.subscription_id = subscription AND s.id = h.id AND s.token = h.token
       AND (s.order_key IS NULL OR s.due_at > now
            OR (s.id = ANY (late) AND (SELECT b.id FROM pgonce.scheduled b WHERE b.subscription_id = subscription AND b.order_key = s.order_key
                                           AND b.token IS NOT NULL AND b.due_at > now
                                           AND (s.place IS NULL OR b.place = s.place AND b.place_until > now) LIMIT 1) IS NULL))
    RETURNING s.id;
END
$$;

-- Takes a row out of where it waits, unless somebody has counted an attempt or leased it since: a failure may be recorded after its claim was
-- lost, and whoever took the row in between has the say. Waits for a lock that another claim holds; the caller bounds that with lock_timeout.
CREATE OR REPLACE FUNCTION pgonce.take_out(subscription integer, id bigint, expected_attempts integer, expected_token uuid)
RETURNS SETOF pgonce.scheduled
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF expected_attempts = 0 THEN
    RETURN QUERY DELETE FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = take_out.id
      RETURNING n.subscription_id, n.id, n.created_at, 0, n.created_at, NULL::text, n.payload, n.delivery_key, n.order_key, n.context, n.stamp,
                NULL::uuid, NULL::smallint, NULL::timestamptz;
    IF FOUND THEN
      RETURN;
    END IF;
  END IF;
  RETURN QUERY DELETE FROM pgonce.scheduled s
    WHERE s.subscription_id = subscription AND s.id = take_out.id AND s.attempts = expected_attempts
      AND s.token IS NOT DISTINCT FROM expected_token
    RETURNING s.*;
END
$$;

-- Has it due again after the delay: failed, with one attempt more, or leased, when it has a token. False, and nothing changed, if the row is
-- not there as expected. begun: that its handler has, and for which reason it is a dead letter instead where the channel promises AT_MOST_ONCE by
-- now, whatever the caller knows; false then, too. Null: its handler has not begun. Where it counts an attempt that is about to begin, the row has a
-- place of its key from this transaction on: for its lease, or until the next transaction claims it, within a second.
CREATE OR REPLACE FUNCTION pgonce.schedule(
  subscription integer, id bigint, expected_attempts integer, expected_token uuid, attempts integer, token uuid, delay_ms bigint, error text,
  begun text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  limit_per_key integer;
  place_ms bigint;
BEGIN
  IF begun IS NOT NULL AND EXISTS (SELECT FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
                                    WHERE s.id = subscription AND c.mode = 'AT_MOST_ONCE') THEN
    PERFORM pgonce.bury(subscription, schedule.id, expected_attempts, expected_token,
                        greatest(CASE WHEN token IS NULL THEN schedule.attempts END, expected_attempts, 1), begun,
                        coalesce(error, 'its handler had begun, and its listener gave it up, when the channel was AT_MOST_ONCE already'));
    PERFORM pgonce.wake_up(c.name, 'due') -- others of its order key may have waited for it
      FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = subscription;
    RETURN false;
  END IF;
  IF token IS NOT NULL AND attempts > expected_attempts THEN
    SELECT c.max_per_key, CASE WHEN c.mode = 'EXACTLY_ONCE' THEN least(delay_ms, 1000) ELSE delay_ms END INTO limit_per_key, place_ms
      FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = subscription;
  END IF;
  INSERT INTO pgonce.scheduled
    (subscription_id, id, due_at, attempts, created_at, last_error, payload, delivery_key, order_key, context, stamp, token)
  SELECT t.subscription_id, t.id, clock_timestamp() + delay_ms * interval '1 millisecond', schedule.attempts, t.created_at,
         coalesce(error, t.last_error), t.payload, t.delivery_key, t.order_key, t.context, t.stamp, schedule.token
    FROM pgonce.take_out(subscription, schedule.id, expected_attempts, expected_token) t;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF limit_per_key IS NOT NULL THEN -- this transaction has a place in hand
    UPDATE pgonce.scheduled s SET place = pgonce.take_place(subscription, s.order_key, limit_per_key, s.id),
           place_until = clock_timestamp() + place_ms * interval '1 millisecond'
     WHERE s.subscription_id = subscription AND s.id = schedule.id AND s.order_key <> chr(1) || s.id;
  END IF;
  IF delay_ms <= 0 THEN -- given back: who gave it has no use for it, so another should hear of it
    PERFORM pgonce.wake_up(c.name, 'due')
      FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = subscription;
  ELSIF token IS NULL AND attempts <= expected_attempts - (expected_token IS NOT NULL)::integer THEN -- put back for listeners that can read it
    PERFORM pgonce.wake_up(c.name, 'later')
      FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = subscription;
  END IF;
  RETURN true;
END
$$;

-- Failed for the last time, or not to be read: kept with its reason until someone redrives or discards it. False as for schedule.
CREATE OR REPLACE FUNCTION pgonce.bury(
  subscription integer, id bigint, expected_attempts integer, expected_token uuid, attempts integer, reason text, error text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, delivery_key, order_key, context, stamp)
  SELECT t.subscription_id, t.id, bury.attempts, t.created_at, bury.reason, bury.error, t.payload, t.delivery_key, t.order_key, t.context, t.stamp
    FROM pgonce.take_out(subscription, bury.id, expected_attempts, expected_token) t;
  RETURN FOUND;
END
$$;

-- The channel of a subscription that was dropped. Its table is small and has no index for this: without a sequential scan, which the caller has switched
-- off, PostgreSQL until 17 would add 1e10 to the cost of the plan, and compile it (jit_above_cost).
CREATE OR REPLACE FUNCTION pgonce.channel_of_dropped(subscription integer) RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = on
AS $$ SELECT d.channel_id FROM pgonce.dropped d WHERE d.subscription_id = subscription LIMIT 1 $$;

-- A subscription is done with a notification that has a delivery key. The last one ends the key, or begins the time that it is remembered; both by
-- the transaction that deletes the row. Keys are held by no one for longer than that, and their plans go by the primary key.
CREATE OR REPLACE FUNCTION pgonce.key_done(subscription integer, id bigint, key text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
  channel integer;
  forgetful boolean;
BEGIN
  SELECT c.id, c.key_memory = interval '0' INTO channel, forgetful
    FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = subscription;
  IF NOT FOUND THEN -- dropped, and this was stored by a transaction with an older snapshot, see pgonce.clear_leftovers
    SELECT c.id, c.key_memory = interval '0' INTO channel, forgetful FROM pgonce.channel c WHERE c.id = pgonce.channel_of_dropped(subscription);
  END IF;
  IF forgetful THEN
    DELETE FROM pgonce.delivery_key k WHERE k.channel_id = channel AND k.key = key_done.key AND k.id = key_done.id AND k.waiting <= 1;
    IF FOUND THEN
      RETURN;
    END IF;
  END IF;
  UPDATE pgonce.delivery_key k SET waiting = k.waiting - 1, done_at = CASE WHEN k.waiting <= 1 THEN clock_timestamp() END
   WHERE k.channel_id = channel AND k.key = key_done.key AND k.id = key_done.id AND k.waiting > 0;
END
$$;

-- When a key is done that is done from this transaction's end on, which may be far: at a time that is not known yet, and that forget_keys makes known
-- once it is committed. So a key is never remembered for less than was promised. Where nothing is remembered, it is free from then on.
CREATE OR REPLACE FUNCTION pgonce.done_later(key_memory interval) RETURNS timestamptz
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN key_memory = interval '0' THEN clock_timestamp() ELSE 'infinity' END $$;

-- The same for many of a channel at once, in somebody's transaction, which may go on; an id stands there as often as subscriptions are done with it.
CREATE OR REPLACE FUNCTION pgonce.keys_done(channel integer, ids bigint[], keys text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
  WITH ended AS MATERIALIZED (
    SELECT e.key, e.id, count(*)::integer AS times FROM unnest(keys, ids) AS e (key, id) WHERE e.key IS NOT NULL GROUP BY e.key, e.id
  ), held AS MATERIALIZED (
    SELECT k.key, e.times FROM ended e JOIN pgonce.delivery_key k ON k.channel_id = channel AND k.key = e.key AND k.id = e.id
     ORDER BY k.key COLLATE "C" FOR UPDATE OF k
  )
  UPDATE pgonce.delivery_key k
     SET waiting = greatest(k.waiting - h.times, 0),
         done_at = CASE WHEN k.waiting <= h.times THEN pgonce.done_later((SELECT c.key_memory FROM pgonce.channel c WHERE c.id = channel)) END
    FROM held h WHERE k.channel_id = channel AND k.key = h.key;
$$;

-- Takes out again what this very transaction has published under the given delivery keys (a JSON array), with the keys, from all subscriptions;
-- returns how many notifications. What another has published is passed over, so it gives a publisher no power over that.
CREATE OR REPLACE FUNCTION pgonce.take_back(channel_name text, delivery_keys json) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  own constant xid := pg_current_xact_id()::xid;
  channel constant integer := (pgonce.find_channel(channel_name)).id;
  subscriptions constant integer[] := ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.channel_id = channel);
  ids bigint[];
BEGIN
  WITH gone AS (
    DELETE FROM pgonce.delivery_key k
     WHERE k.channel_id = channel AND k.key = ANY (ARRAY(SELECT json_array_elements_text(delivery_keys))) AND k.xmin = own
    RETURNING k.id
  )
  SELECT coalesce(array_agg(g.id), '{}') INTO ids FROM gone g;
  DELETE FROM pgonce.notification n WHERE n.subscription_id = ANY (subscriptions) AND n.id = ANY (ids) AND n.xmin = own;
  DELETE FROM pgonce.scheduled d WHERE d.subscription_id = ANY (subscriptions) AND d.id = ANY (ids) AND d.xmin = own;
  DELETE FROM pgonce.dead_letter l WHERE l.subscription_id = ANY (subscriptions) AND l.id = ANY (ids) AND l.xmin = own;
  RETURN cardinality(ids);
END
$$;

-- What forget_keys does for one channel. jit = off: of millions of keys, the part that is looked for may look expensive.
CREATE OR REPLACE FUNCTION pgonce.forget_keys_of(channel integer, memory interval, amount integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
  now constant timestamptz := clock_timestamp();
  forgotten bigint;
BEGIN
  -- The first bound is for the index; a memory of months is not the same from either end.
  DELETE FROM pgonce.delivery_key k WHERE k.channel_id = channel AND k.key = ANY (ARRAY(
    SELECT o.key FROM pgonce.delivery_key o
     WHERE o.channel_id = channel AND o.done_at <= now - memory AND o.done_at + memory <= now
     ORDER BY o.done_at LIMIT amount FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  -- What is seen here is committed: its time begins now, after that.
  UPDATE pgonce.delivery_key k SET done_at = clock_timestamp() WHERE k.channel_id = channel AND k.key = ANY (ARRAY(
    SELECT o.key FROM pgonce.delivery_key o WHERE o.channel_id = channel AND o.done_at = 'infinity' LIMIT amount FOR UPDATE SKIP LOCKED));
  RETURN forgotten;
END
$$;

-- Forgets keys whose time is over, never earlier, and begins the time of those that are done since nobody knows when; at most so many of each
-- channel. Those that somebody is at are left for the next time. Returns how many it has forgotten. It stops after some seconds, and begins with another
-- channel each time, so that none waits for ever. A memory beyond the bound of pgonce.channel, forced there by hand, counts as the bound: the time from
-- which on it would remember may be none that PostgreSQL can tell.
CREATE OR REPLACE FUNCTION pgonce.forget_keys(amount integer DEFAULT 10000) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  enough constant timestamptz := clock_timestamp() + interval '3 seconds';
  channel integer;
  memory interval;
  forgotten bigint := 0;
BEGIN
  FOR channel, memory IN SELECT c.id, least(c.key_memory, interval '87600 hours') FROM pgonce.channel c ORDER BY random() LOOP
    forgotten := forgotten + pgonce.forget_keys_of(channel, memory, amount);
    EXIT WHEN clock_timestamp() > enough;
  END LOOP;
  RETURN forgotten;
END
$$;

INSERT INTO pgonce.schema_version (version) VALUES (3) ON CONFLICT DO NOTHING;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
