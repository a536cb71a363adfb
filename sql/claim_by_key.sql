-- Claim by key: the claim of a channel that keeps an order per key, or limits how many notifications of a key are handled at once.
--
-- Order per key. A row may be claimed when no row of its key with a lower id is left: new, scheduled (waiting, retried or leased), or dead where
-- dead letters block. A key has one claim at a time. A lower id may appear while a higher one is being handled, from a writer that committed late
-- or from a redrive: it waits too. So each claim locks its key until its transaction ends, which is when its handler has ended or the row is leased.
-- It passes over a key that is locked or has a lease that has not expired.
--
-- Limit per key: see key_permits.sql.
--
-- Both check twice: once to choose a row, and once more in another statement with the lock in hand, whose snapshot shows what was committed until then.
--
-- Most rows that wait cannot be claimed: their key waits for a dead letter, for a retry or for another claim. A claim must not read them each time.
-- So the caller says in which ways to look, and learns how far each came:
--   keys   the first row of each of the given keys. The caller names keys of which a row of its own has ended, or that another claim had locked.
--   near   rows in their order, after the position that the caller has reached, at most a thousand. Rows that are passed over are not read again.
--   walk   the first row of each key, from key to key after the given one, at most a thousand keys. It finds what the other two miss: a row that was
--          committed late, and a key that was set free by a discarded dead letter, a cancelled row or a process that died. It begins with those of
--          the first 10,000 rows that have no key: a writer stored them before the channel had an order or a limit, and may commit late. Rows with a
--          key are newer than these.
-- The result is one row. Its first columns are those of the claimed row, null if there is none. The last three are for the caller's next look:
--   seen   numbers: how many keys were tried; the position reached, as a due time (microseconds since 1970) and an id; whether a row was passed over
--          that another claim's end may set free; whether more rows follow the position; and the microseconds that near and walk took, 0 if unused
--   busy   keys that were passed over: others have locked the key, all its permits, or its row
--   walked the last key of the walk, empty if the walk has come to its end, null if there was none

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Locks a key for the caller's transaction; false if another transaction has locked it. Keys of one hash share a lock. The number is "pgonce" in ASCII.
-- It pins no path, so that PostgreSQL inlines it, and names all in full.
CREATE OR REPLACE FUNCTION pgonce_private.try_key(subscription integer, order_key text) RETURNS boolean
LANGUAGE sql
AS $$
  SELECT pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended(order_key COLLATE "C", 123589553447781 OPERATOR(pg_catalog.+) subscription))
$$;

-- Whether a row has to wait for others of its key: 0 if not; 1 if it waits for a row that is being handled, or that a claim may take; 2 if it waits
-- for a dead letter or for a row that is due later, which no claim ends. Under a limit: 1 if leases have all permits of the key; only their locks tell
-- which permits transactions have.
-- It pins no path, so that PostgreSQL inlines it: it names all in full, and runs with the rights of its caller. Ranges of one key, ordered by the key:
-- with = the planner may take the index of all keys.
CREATE OR REPLACE FUNCTION pgonce_private.key_wait(
  subscription integer, row_id bigint, key text, dead_letters_block boolean, max_per_key integer, now timestamptz) RETURNS TABLE (wait integer)
LANGUAGE sql STABLE
AS $$
  SELECT CASE
    WHEN key IS NULL THEN 0
    WHEN max_per_key IS NOT NULL THEN CASE WHEN (
      SELECT pg_catalog.count(*) FROM pgonce.scheduled AS b
       WHERE b.subscription_id OPERATOR(pg_catalog.=) subscription AND b.order_key OPERATOR(pg_catalog.=) key
         AND b.token IS NOT NULL AND b.due_at OPERATOR(pg_catalog.>) now AND b.key_permit_until OPERATOR(pg_catalog.>) now
         AND b.key_permit OPERATOR(pg_catalog.<=) max_per_key) OPERATOR(pg_catalog.>=) max_per_key::pg_catalog.int8 THEN 1 ELSE 0 END
    WHEN dead_letters_block AND (
      SELECT b.id FROM pgonce.dead_letter AS b
       WHERE b.subscription_id OPERATOR(pg_catalog.=) subscription AND b.order_key OPERATOR(pg_catalog.>=) key AND b.order_key OPERATOR(pg_catalog.<=) key
       ORDER BY b.order_key, b.id LIMIT 1) OPERATOR(pg_catalog.<) row_id THEN 2
    ELSE COALESCE(
      (SELECT CASE WHEN b.id OPERATOR(pg_catalog.<) row_id THEN CASE WHEN b.due_at OPERATOR(pg_catalog.>) now AND b.token IS NULL THEN 2 ELSE 1 END END
         FROM pgonce.scheduled AS b
        WHERE b.subscription_id OPERATOR(pg_catalog.=) subscription AND b.order_key OPERATOR(pg_catalog.>=) key AND b.order_key OPERATOR(pg_catalog.<=) key
        ORDER BY b.order_key, b.id LIMIT 1),
      (SELECT CASE WHEN b.id OPERATOR(pg_catalog.<) row_id THEN 1 END FROM pgonce.notification AS b
        WHERE b.subscription_id OPERATOR(pg_catalog.=) subscription AND b.order_key OPERATOR(pg_catalog.>=) key AND b.order_key OPERATOR(pg_catalog.<=) key
        ORDER BY b.order_key, b.id LIMIT 1),
      (SELECT 1 FROM pgonce.scheduled AS b
        WHERE b.subscription_id OPERATOR(pg_catalog.=) subscription AND b.order_key OPERATOR(pg_catalog.=) key
          AND b.token IS NOT NULL AND b.due_at OPERATOR(pg_catalog.>) now LIMIT 1),
      0) END
$$;

-- The id in a key that stands for a row without one (see notification.order_key in tables.sql); null for any other key.
CREATE OR REPLACE FUNCTION pgonce_private.id_in(key text) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN key ~ ('^' || chr(1) || '[0-9]{1,18}$') THEN substr(key, 2)::bigint END $$;

-- Claims the first new row, or the first scheduled row that is due, that its key allows. The row is locked for the caller's transaction, with its key
-- or a permit of it. max_per_key: null where the channel keeps an order. Scheduled rows of an order come by id; those of a limit by due time, by
-- scheduled_key, since scheduled_order would lead over all rows of a key that are due later.
CREATE OR REPLACE FUNCTION pgonce.claim_by_key(
  subscription integer, due boolean, dead_letters_block boolean, max_per_key integer,
  ways text[], keys text[], after_us bigint, after_id bigint, walk_from text)
RETURNS TABLE (subscription_id integer, id bigint, attempts integer, created_at timestamptz, payload json, delivery_key text, order_key text,
               context jsonb, stamp integer, token uuid, held xid, key_permit integer, seen text, busy text[], walked text)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  now constant timestamptz := clock_timestamp();
  after constant timestamptz := CASE WHEN due THEN CASE WHEN after_us > 0 THEN timestamptz 'epoch' + after_us * interval '1 microsecond' ELSE '-infinity' END END;
  not_free bigint[]; -- rows of a key that something other than a claim has locked
  not_free_of_way integer; -- how many there were in all
  most_not_free constant integer := 120; -- a walk begins with a hundred rows without a key, and goes on only from a key
  rows refcursor;
  way text;
  began timestamptz;
  looked integer;
  next_id bigint;
  next_key text;
  next_at timestamptz;
  wait integer;
  chosen bigint;
  probed integer := 0;
  reached_us bigint := after_us;
  reached_id bigint := after_id;
  passed boolean := false;
  unseen boolean := false;
  follows boolean := false;
  near_us bigint := 0;
  walk_us bigint := 0;
BEGIN
  busy := '{}';
  <<looking>> FOREACH way IN ARRAY ways LOOP
    began := clock_timestamp();
    looked := 0;
    not_free_of_way := 0;
    -- Each its own statement: what a plan holds costs each claim, whether it is read or not. Under a limit scheduled rows go by another index.
    IF way = 'keys' AND NOT due THEN
      OPEN rows FOR
        SELECT f.id, f.order_key, NULL::timestamptz, w.wait FROM unnest(keys) AS k (key)
          LEFT JOIN LATERAL (
            (SELECT o.id, o.order_key FROM pgonce.notification o
              WHERE o.subscription_id = subscription AND o.order_key >= k.key AND o.order_key <= k.key ORDER BY o.order_key, o.id LIMIT 1)
            UNION ALL
            (SELECT o.id, o.order_key FROM pgonce.notification o
              WHERE o.subscription_id = subscription AND o.id = pgonce_private.id_in(k.key) AND o.order_key IS NULL)) f ON true
          LEFT JOIN LATERAL pgonce_private.key_wait(subscription, f.id, f.order_key, dead_letters_block, max_per_key, now) w ON true;
    ELSIF way = 'keys' AND max_per_key IS NULL THEN
      OPEN rows FOR
        SELECT f.id, f.order_key, f.due_at, w.wait FROM unnest(keys) AS k (key)
          LEFT JOIN LATERAL (
            (SELECT o.id, o.order_key, o.due_at FROM pgonce.scheduled o
              WHERE o.subscription_id = subscription AND o.order_key >= k.key AND o.order_key <= k.key ORDER BY o.order_key, o.id LIMIT 1)
            UNION ALL
            (SELECT o.id, o.order_key, o.due_at FROM pgonce.scheduled o
              WHERE o.subscription_id = subscription AND o.id = pgonce_private.id_in(k.key) AND o.order_key IS NULL)) f ON true
          LEFT JOIN LATERAL pgonce_private.key_wait(subscription, f.id, f.order_key, dead_letters_block, max_per_key, now) w ON true;
    ELSIF way = 'keys' THEN
      OPEN rows FOR
        SELECT f.id, f.order_key, f.due_at, w.wait FROM unnest(keys) AS k (key)
          LEFT JOIN LATERAL (
            (SELECT o.id, o.order_key, o.due_at FROM pgonce.scheduled o
              WHERE o.subscription_id = subscription AND o.order_key > '' AND o.order_key >= k.key AND o.order_key <= k.key
              ORDER BY o.order_key, o.due_at, o.id LIMIT 1)
            UNION ALL
            (SELECT o.id, o.order_key, o.due_at FROM pgonce.scheduled o
              WHERE o.subscription_id = subscription AND o.id = pgonce_private.id_in(k.key) AND o.order_key IS NULL)) f ON true
          LEFT JOIN LATERAL pgonce_private.key_wait(subscription, f.id, f.order_key, dead_letters_block, max_per_key, now) w ON true;
    ELSIF way = 'near' AND NOT due THEN
      OPEN rows FOR
        SELECT r.id, r.order_key, NULL::timestamptz, w.wait
          FROM (SELECT o.id, o.order_key FROM pgonce.notification o WHERE o.subscription_id = subscription AND o.id > after_id ORDER BY o.id LIMIT 1000) r
         CROSS JOIN LATERAL pgonce_private.key_wait(subscription, r.id, r.order_key, dead_letters_block, max_per_key, now) w;
    ELSIF way = 'near' THEN
      OPEN rows FOR
        SELECT r.id, r.order_key, r.due_at, w.wait
          FROM (SELECT o.id, o.order_key, o.due_at FROM pgonce.scheduled o
                 WHERE o.subscription_id = subscription AND (o.due_at, o.id) > (after, after_id) AND o.due_at <= now
                 ORDER BY o.due_at, o.id LIMIT 1000) r
         CROSS JOIN LATERAL pgonce_private.key_wait(subscription, r.id, r.order_key, dead_letters_block, max_per_key, now) w;
    ELSIF NOT due THEN
      OPEN rows FOR
        WITH RECURSIVE first_of_key AS (
          (SELECT o.order_key, o.id FROM pgonce.notification o
            WHERE o.subscription_id = subscription AND o.order_key > walk_from ORDER BY o.order_key, o.id LIMIT 1)
          UNION ALL
          SELECT b.order_key, b.id FROM first_of_key f CROSS JOIN LATERAL (
            SELECT o.order_key, o.id FROM pgonce.notification o
             WHERE o.subscription_id = subscription AND o.order_key > f.order_key ORDER BY o.order_key, o.id LIMIT 1) b
        )
        (SELECT r.id, NULL::text, NULL::timestamptz, 0
           FROM (SELECT o.id, o.order_key FROM pgonce.notification o
                  WHERE walk_from = '' AND o.subscription_id = subscription AND o.id <= after_id ORDER BY o.id LIMIT 10000) r
          WHERE r.order_key IS NULL LIMIT 100)
        UNION ALL
        SELECT f.id, f.order_key, NULL::timestamptz, w.wait
          FROM first_of_key f CROSS JOIN LATERAL pgonce_private.key_wait(subscription, f.id, f.order_key, dead_letters_block, max_per_key, now) w LIMIT 1000;
    ELSIF max_per_key IS NULL THEN
      OPEN rows FOR
        WITH RECURSIVE first_of_key AS (
          (SELECT o.order_key, o.id, o.due_at FROM pgonce.scheduled o
            WHERE o.subscription_id = subscription AND o.order_key > walk_from ORDER BY o.order_key, o.id LIMIT 1)
          UNION ALL
          SELECT b.order_key, b.id, b.due_at FROM first_of_key f CROSS JOIN LATERAL (
            SELECT o.order_key, o.id, o.due_at FROM pgonce.scheduled o
             WHERE o.subscription_id = subscription AND o.order_key > f.order_key ORDER BY o.order_key, o.id LIMIT 1) b
        )
        (SELECT r.id, NULL::text, r.due_at, 0
           FROM (SELECT o.id, o.order_key, o.due_at FROM pgonce.scheduled o
                  WHERE walk_from = '' AND o.subscription_id = subscription AND (o.due_at, o.id) <= (after, after_id) ORDER BY o.due_at, o.id LIMIT 10000) r
          WHERE r.order_key IS NULL LIMIT 100)
        UNION ALL
        SELECT f.id, f.order_key, f.due_at, w.wait
          FROM first_of_key f CROSS JOIN LATERAL pgonce_private.key_wait(subscription, f.id, f.order_key, dead_letters_block, max_per_key, now) w LIMIT 1000;
    ELSE
      OPEN rows FOR
        WITH RECURSIVE first_of_key AS (
          (SELECT o.order_key, o.id, o.due_at FROM pgonce.scheduled o
            WHERE o.subscription_id = subscription AND o.order_key > walk_from AND o.order_key > '' ORDER BY o.order_key, o.due_at, o.id LIMIT 1)
          UNION ALL
          SELECT b.order_key, b.id, b.due_at FROM first_of_key f CROSS JOIN LATERAL (
            SELECT o.order_key, o.id, o.due_at FROM pgonce.scheduled o
             WHERE o.subscription_id = subscription AND o.order_key > f.order_key AND o.order_key > '' ORDER BY o.order_key, o.due_at, o.id LIMIT 1) b
        )
        (SELECT r.id, NULL::text, r.due_at, 0
           FROM (SELECT o.id, o.order_key, o.due_at FROM pgonce.scheduled o
                  WHERE walk_from = '' AND o.subscription_id = subscription AND (o.due_at, o.id) <= (after, after_id) ORDER BY o.due_at, o.id LIMIT 10000) r
          WHERE r.order_key IS NULL LIMIT 100)
        UNION ALL
        SELECT f.id, f.order_key, f.due_at, w.wait
          FROM first_of_key f CROSS JOIN LATERAL pgonce_private.key_wait(subscription, f.id, f.order_key, dead_letters_block, max_per_key, now) w LIMIT 1000;
    END IF;
    LOOP
      FETCH rows INTO next_id, next_key, next_at, wait;
      EXIT WHEN NOT FOUND;
      looked := looked + 1;
      CASE way
        WHEN 'keys' THEN probed := looked;
        WHEN 'near' THEN
          reached_id := next_id;
          IF due THEN
            reached_us := (1000000 * extract(epoch FROM next_at))::bigint;
          END IF;
        ELSE walked := next_key;
      END CASE;
      CONTINUE WHEN next_id IS NULL OR next_at > now OR wait = 2;
      IF wait = 1 OR next_key = ANY (busy) THEN
        passed := true;
        CONTINUE;
      END IF;
      not_free := '{}';
      LOOP
        key_permit := NULL;
        chosen := next_id;
        IF max_per_key IS NULL THEN
          BEGIN
            IF NOT pgonce_private.try_key(subscription, coalesce(next_key, chr(1) || next_id)) THEN
              chosen := NULL;
            ELSE -- in another statement: what others have committed until they gave the key back
              IF due THEN
                PERFORM FROM pgonce_private.key_wait(subscription, next_id, next_key, dead_letters_block, NULL, now) w
                  WHERE w.wait = 0 AND EXISTS (SELECT FROM pgonce.scheduled o WHERE o.subscription_id = subscription AND o.id = next_id AND o.due_at <= now);
              ELSE
                PERFORM FROM pgonce_private.key_wait(subscription, next_id, next_key, dead_letters_block, NULL, now) w
                  WHERE w.wait = 0 AND EXISTS (SELECT FROM pgonce.notification o WHERE o.subscription_id = subscription AND o.id = next_id);
              END IF;
              IF NOT FOUND THEN
                RAISE EXCEPTION USING ERRCODE = 'PO008';
              END IF;
            END IF;
          EXCEPTION WHEN SQLSTATE 'PO008' THEN
            chosen := NULL; -- the key's lock is given back
          END;
        ELSIF next_key <> chr(1) || next_id THEN -- a row without a key has no limit
          SELECT p.row_id, p.permit INTO chosen, key_permit
            FROM pgonce_private.take_permit_and_row(subscription, due, next_key, max_per_key, now, not_free) p;
        END IF;
        EXIT WHEN chosen IS NULL;
        IF due THEN
          SELECT o.subscription_id, o.id, o.attempts, o.created_at, o.payload, o.delivery_key, o.order_key, o.context, o.stamp, o.token, o.xmax
            INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
            FROM pgonce.scheduled o WHERE o.subscription_id = subscription AND o.id = chosen AND o.due_at <= now FOR UPDATE SKIP LOCKED;
        ELSE
          SELECT o.subscription_id, o.id, 0, o.created_at, o.payload, o.delivery_key, o.order_key, o.context, o.stamp, NULL, o.xmax
            INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
            FROM pgonce.notification o WHERE o.subscription_id = subscription AND o.id = chosen FOR UPDATE SKIP LOCKED;
        END IF;
        EXIT WHEN FOUND;
        not_free_of_way := not_free_of_way + 1;
        -- A cancellation may have locked thousands of a key, and each look at one walks over those before it.
        EXIT WHEN key_permit IS NULL OR cardinality(not_free) = 20;
        not_free := not_free || chosen;
      END LOOP;
      IF id IS NOT NULL THEN
        IF way = 'near' AND id <> next_id THEN
          reached_id := next_id - 1; -- another row of its key was first: this one is to be read again
        END IF;
        FETCH rows INTO next_id, next_key, next_at, wait;
        follows := FOUND;
        EXIT;
      END IF;
      busy := busy || coalesce(next_key, chr(1) || next_id);
      passed := true;
      -- Or of thousands of keys. What was locked here for a row that could not be had stays locked until the transaction ends, and the server has room
      -- for some thousand locks of all its sessions: the next look goes on from here.
      IF not_free_of_way >= most_not_free THEN
        follows := way = 'near';
        EXIT;
      END IF;
    END LOOP;
    CLOSE rows;
    IF way = 'near' THEN
      near_us := greatest(1, (1000000 * extract(epoch FROM clock_timestamp() - began))::bigint);
      unseen := looked = 1000 OR follows;
    ELSIF way = 'walk' THEN
      walk_us := greatest(1, (1000000 * extract(epoch FROM clock_timestamp() - began))::bigint);
      walked := CASE WHEN id IS NULL AND looked < 1000 AND not_free_of_way < most_not_free THEN '' ELSE walked END;
    END IF;
    EXIT looking WHEN id IS NOT NULL;
  END LOOP;
  seen := concat_ws(' ', probed, reached_us, reached_id, passed::integer, unseen::integer, near_us, walk_us);
  RETURN NEXT;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
