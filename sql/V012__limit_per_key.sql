-- Limit per key: at most so many notifications of one order key at work at once, for each subscription, in all processes together, in no order.
--
-- A key has as many places as its channel's max_per_key, by number. A claim takes a free one, and has it for as long as its transaction lasts, by an
-- advisory lock, or for as long as its lease, by the columns place and place_until of its row. What waits for a retry has none. Where one transaction
-- counts an attempt and the next one runs it, the row keeps a place in between, for a second at most.
--
-- Who takes a place looks twice at the rows that have one: to choose it, and with its lock in another statement, whose snapshot shows who has leased
-- a row with it until then. With the place it chooses the first row of the key that no claim holds. That is told by a lock on the row's id, as the row itself
-- must not be tried: a lock that is given back leaves a mark, by which the row would be a suspect, and one that a sub-transaction keeps makes a
-- multixact of each claim. Where the key has no such row, a sub-transaction gives the place back: it stays taken by whom has a row of the key. But
-- where somebody who is no claim holds the row that was chosen, and the key has no other, it is taken until the transaction ends.
--
-- The oldest rows are looked at first, and behind them the looking goes on from key to key, by the indexes, from where the caller was last: a key that
-- is full costs a look, however many wait in it.

-- See V001.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- The keys that have rows which are due, and those rows: scheduled_order would lead over all that are due later. For statements that say order_key > ''
-- as well: others, which look for leases, would be led over what is due later by it.
DO $$
BEGIN
  IF to_regclass('pgonce.scheduled_key') IS NULL THEN
    CREATE INDEX scheduled_key ON pgonce.scheduled (subscription_id, order_key, due_at, id) WHERE order_key > '';
  END IF;
END
$$;

-- Locks a place of a key for the caller's transaction; false if another has it. Keys of one hash share their places.
CREATE OR REPLACE FUNCTION pgonce.try_place(subscription integer, order_key text, place integer) RETURNS boolean
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
  SELECT pg_try_advisory_xact_lock(hashtextextended((order_key || chr(1) || place) COLLATE "C", 123589553447781 + subscription))
$$;

-- Locks the id of a row that is about to be claimed. Claims alone do that.
CREATE OR REPLACE FUNCTION pgonce.try_row(subscription integer, id bigint) RETURNS boolean
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
  SELECT pg_try_advisory_xact_lock(hashint8extended(id, 123589553447781 + subscription))
$$;

-- The places that rows have by now; but_for is one that does not count.
CREATE OR REPLACE FUNCTION pgonce.places_taken(subscription integer, key text, but_for bigint) RETURNS integer[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  now constant timestamptz := clock_timestamp();
BEGIN
  RETURN ARRAY(SELECT s.place FROM pgonce.scheduled s
                WHERE s.subscription_id = subscription AND s.order_key = key AND s.token IS NOT NULL AND s.due_at > now
                  AND s.place IS NOT NULL AND s.place_until > now AND s.id IS DISTINCT FROM but_for);
END
$$;

-- Takes a free place of a key for the caller's transaction; null if there is none.
CREATE OR REPLACE FUNCTION pgonce.take_place(subscription integer, key text, max_per_key integer, but_for bigint DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  taken integer[];
BEGIN
  LOOP
    BEGIN
      taken := pgonce.places_taken(subscription, key, but_for);
      FOR place IN 1 .. max_per_key LOOP
        IF place <> ALL (taken) AND pgonce.try_place(subscription, key, place) THEN
          IF place = ANY (pgonce.places_taken(subscription, key, but_for)) THEN
            RAISE EXCEPTION USING ERRCODE = 'PO008';
          END IF;
          RETURN place;
        END IF;
      END LOOP;
      RETURN NULL;
    EXCEPTION WHEN SQLSTATE 'PO008' THEN
      CONTINUE; -- a row has been leased with it meanwhile: its lock is given back, and the next look sees that
    END;
  END LOOP;
END
$$;

-- A place for a row whose attempt was counted in the transaction before. Others keep what it needs for no longer than a look takes, unless its second
-- is over.
CREATE OR REPLACE FUNCTION pgonce.lock_place(subscription integer, order_key text, max_per_key integer, id bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  has_row boolean := order_key = chr(1) || id; -- it has no key, and no limit
BEGIN
  IF has_row THEN
    RETURN true;
  END IF;
  FOR try IN 1 .. 20 LOOP
    has_row := has_row OR pgonce.try_row(subscription, id);
    IF has_row AND pgonce.take_place(subscription, order_key, max_per_key, id) IS NOT NULL THEN
      RETURN true;
    END IF;
    PERFORM pg_sleep(0.005);
  END LOOP;
  RETURN false;
END
$$;

-- Takes a place of a key, and locks the id of the first new row that is to have it; both null if the key is full, or nothing of it is left. The key is
-- a range of one, ordered by the key: for = another index would do, that of all keys, where PostgreSQL takes most rows to be of this one.
CREATE OR REPLACE FUNCTION pgonce.place_new(subscription integer, key text, max_per_key integer, passed bigint[], OUT row_id bigint, OUT place integer)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  LOOP
    BEGIN
      row_id := NULL;
      place := pgonce.take_place(subscription, key, max_per_key);
      IF place IS NULL THEN
        RETURN;
      END IF;
      SELECT w.id INTO row_id
        FROM (SELECT o.id FROM pgonce.notification o WHERE o.subscription_id = subscription AND o.order_key >= key AND o.order_key <= key
               ORDER BY o.order_key, o.id OFFSET 0) w
       WHERE CASE WHEN w.id <> ALL (passed) THEN pgonce.try_row(subscription, w.id) ELSE false END LIMIT 1;
      -- Another statement: who had its lock until then may have been done with it.
      PERFORM FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = row_id;
      IF FOUND THEN
        RETURN;
      END IF;
      RAISE EXCEPTION USING ERRCODE = 'PO008';
    EXCEPTION WHEN SQLSTATE 'PO008' THEN
      place := NULL; -- it is given back
    END;
    IF row_id IS NULL THEN
      RETURN;
    END IF;
  END LOOP;
END
$$;

-- The same among the scheduled rows that are due by then.
CREATE OR REPLACE FUNCTION pgonce.place_due(
  subscription integer, key text, max_per_key integer, by_then timestamptz, passed bigint[], OUT row_id bigint, OUT place integer)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  next_id bigint;
  due_at timestamptz;
BEGIN
  LOOP
    BEGIN
      row_id := NULL;
      place := pgonce.take_place(subscription, key, max_per_key);
      IF place IS NULL THEN
        RETURN;
      END IF;
      FOR next_id, due_at IN
        SELECT o.id, o.due_at FROM pgonce.scheduled o
         WHERE o.subscription_id = subscription AND o.order_key > '' AND o.order_key >= key AND o.order_key <= key
         ORDER BY o.order_key, o.due_at, o.id
      LOOP
        EXIT WHEN due_at > by_then;
        IF next_id <> ALL (passed) AND pgonce.try_row(subscription, next_id) THEN
          row_id := next_id;
          EXIT;
        END IF;
      END LOOP;
      PERFORM FROM pgonce.scheduled s WHERE s.subscription_id = subscription AND s.id = row_id AND s.due_at <= by_then;
      IF FOUND THEN
        RETURN;
      END IF;
      RAISE EXCEPTION USING ERRCODE = 'PO008';
    EXCEPTION WHEN SQLSTATE 'PO008' THEN
      place := NULL; -- it is given back
    END;
    IF row_id IS NULL THEN
      RETURN;
    END IF;
  END LOOP;
END
$$;

-- The first new row whose key has a free place, with that place, locked for the caller's transaction; none if there is none that nobody else holds.
-- What has no key needs no place.
CREATE OR REPLACE FUNCTION pgonce.free_new(subscription integer, max_per_key integer, after_key text)
RETURNS TABLE (subscription_id integer, id bigint, attempts integer, created_at timestamptz, payload json, delivery_key text, order_key text,
               context jsonb, stamp integer, token uuid, held xid, place integer)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  passed bigint[] := '{}'; -- held by somebody who is no claim
  seen text[] := '{}'; -- full, or nothing of it is left
  row_id bigint;
  key text;
BEGIN
  FOR row_id, key IN
    (SELECT o.id, o.order_key FROM pgonce.notification o WHERE o.subscription_id = subscription ORDER BY o.id LIMIT 32)
    UNION ALL
    (WITH RECURSIVE first_of_key AS (
       (SELECT o.order_key, o.id FROM pgonce.notification o
         WHERE o.subscription_id = subscription AND o.order_key > after_key ORDER BY o.order_key, o.id LIMIT 1)
       UNION ALL
       SELECT b.order_key, b.id FROM first_of_key f CROSS JOIN LATERAL (
         SELECT o.order_key, o.id FROM pgonce.notification o
          WHERE o.subscription_id = subscription AND o.order_key > f.order_key ORDER BY o.order_key, o.id LIMIT 1) b
     )
     SELECT f.id, f.order_key FROM first_of_key f)
    UNION ALL
    (WITH RECURSIVE first_of_key AS (
       (SELECT o.order_key, o.id FROM pgonce.notification o
         WHERE after_key <> '' AND o.subscription_id = subscription AND o.order_key > '' ORDER BY o.order_key, o.id LIMIT 1)
       UNION ALL
       SELECT b.order_key, b.id FROM first_of_key f CROSS JOIN LATERAL (
         SELECT o.order_key, o.id FROM pgonce.notification o
          WHERE o.subscription_id = subscription AND o.order_key > f.order_key ORDER BY o.order_key, o.id LIMIT 1) b
        WHERE b.order_key <= after_key
     )
     SELECT f.id, f.order_key FROM first_of_key f)
  LOOP
    CONTINUE WHEN key = ANY (seen);
    LOOP
      place := NULL;
      IF key <> chr(1) || row_id THEN
        SELECT p.row_id, p.place INTO row_id, place FROM pgonce.place_new(subscription, key, max_per_key, passed) p;
        EXIT WHEN row_id IS NULL;
      END IF;
      SELECT n.subscription_id, n.id, 0, n.created_at, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL, n.xmax
        INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
        FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = row_id FOR UPDATE SKIP LOCKED;
      IF FOUND THEN
        RETURN NEXT;
        RETURN;
      END IF;
      EXIT WHEN place IS NULL;
      passed := passed || row_id;
    END LOOP;
    seen := seen || key;
  END LOOP;
END
$$;

-- The same among the scheduled rows that are due. More of the oldest: from key to key it passes those too that are due later.
CREATE OR REPLACE FUNCTION pgonce.free_due(subscription integer, max_per_key integer, after_key text)
RETURNS TABLE (subscription_id integer, id bigint, attempts integer, created_at timestamptz, payload json, delivery_key text, order_key text,
               context jsonb, stamp integer, token uuid, held xid, place integer)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  now constant timestamptz := clock_timestamp();
  passed bigint[] := '{}'; -- held by somebody who is no claim
  seen text[] := '{}'; -- full, or nothing of it is left
  row_id bigint;
  key text;
BEGIN
  FOR row_id, key IN
    (SELECT o.id, o.order_key FROM pgonce.scheduled o WHERE o.subscription_id = subscription AND o.due_at <= now ORDER BY o.due_at, o.id LIMIT 1000)
    UNION ALL
    (WITH RECURSIVE first_of_key AS (
       (SELECT o.order_key, o.due_at, o.id FROM pgonce.scheduled o
         WHERE o.subscription_id = subscription AND o.order_key > after_key AND o.order_key > ''
         ORDER BY o.order_key, o.due_at, o.id LIMIT 1)
       UNION ALL
       SELECT b.order_key, b.due_at, b.id FROM first_of_key f CROSS JOIN LATERAL (
         SELECT o.order_key, o.due_at, o.id FROM pgonce.scheduled o
          WHERE o.subscription_id = subscription AND o.order_key > f.order_key AND o.order_key > '' ORDER BY o.order_key, o.due_at, o.id LIMIT 1) b
     )
     SELECT f.id, f.order_key FROM first_of_key f WHERE f.due_at <= now)
    UNION ALL
    (WITH RECURSIVE first_of_key AS (
       (SELECT o.order_key, o.due_at, o.id FROM pgonce.scheduled o
         WHERE after_key <> '' AND o.subscription_id = subscription AND o.order_key > '' ORDER BY o.order_key, o.due_at, o.id LIMIT 1)
       UNION ALL
       SELECT b.order_key, b.due_at, b.id FROM first_of_key f CROSS JOIN LATERAL (
         SELECT o.order_key, o.due_at, o.id FROM pgonce.scheduled o
          WHERE o.subscription_id = subscription AND o.order_key > f.order_key AND o.order_key > '' ORDER BY o.order_key, o.due_at, o.id LIMIT 1) b
        WHERE b.order_key <= after_key
     )
     SELECT f.id, f.order_key FROM first_of_key f WHERE f.due_at <= now)
  LOOP
    CONTINUE WHEN key = ANY (seen);
    LOOP
      place := NULL;
      IF key <> chr(1) || row_id THEN
        SELECT p.row_id, p.place INTO row_id, place FROM pgonce.place_due(subscription, key, max_per_key, now, passed) p;
        EXIT WHEN row_id IS NULL;
      END IF;
      SELECT s.subscription_id, s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, s.xmax
        INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
        FROM pgonce.scheduled s WHERE s.subscription_id = subscription AND s.id = row_id AND s.due_at <= now FOR UPDATE SKIP LOCKED;
      IF FOUND THEN
        RETURN NEXT;
        RETURN;
      END IF;
      EXIT WHEN place IS NULL;
      passed := passed || row_id;
    END LOOP;
    seen := seen || key;
  END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION
  pgonce.free_new(integer, integer, text), pgonce.free_due(integer, integer, text), pgonce.lock_place(integer, text, integer, bigint)
TO pgonce_listener;

INSERT INTO pgonce.schema_version (version) VALUES (12) ON CONFLICT DO NOTHING;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
