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
-- A claim looks in the ways that V007 tells of, and gives the same account of it: a key that is full costs a look, however many wait in it.

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

-- 1 if all places of a key are leased, else 0: what transactions have, only their locks tell. As pgonce.turn, it is put in the place of its call.
CREATE OR REPLACE FUNCTION pgonce.fullness(subscription integer, row_id bigint, key text, max_per_key integer, now timestamptz) RETURNS TABLE (turn integer)
LANGUAGE sql STABLE
AS $$
  SELECT CASE WHEN key IS NOT NULL AND (
    SELECT pg_catalog.count(*) FROM pgonce.scheduled AS b
     WHERE b.subscription_id OPERATOR(pg_catalog.=) subscription AND b.order_key OPERATOR(pg_catalog.=) key
       AND b.token IS NOT NULL AND b.due_at OPERATOR(pg_catalog.>) now AND b.place_until OPERATOR(pg_catalog.>) now
       AND b.place OPERATOR(pg_catalog.<=) max_per_key) OPERATOR(pg_catalog.>=) max_per_key::pg_catalog.int8 THEN 1 ELSE 0 END
$$;

-- The first new row whose key has a free place, with that place, locked for the caller's transaction. What has no key needs no place.
CREATE OR REPLACE FUNCTION pgonce.free_new(
  subscription integer, max_per_key integer, ways text[], keys text[], after_us bigint, after_id bigint, walk_from text)
RETURNS TABLE (subscription_id integer, id bigint, attempts integer, created_at timestamptz, payload json, delivery_key text, order_key text,
               context jsonb, stamp integer, token uuid, held xid, place integer, seen text, busy text[], walked text)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  now constant timestamptz := clock_timestamp();
  held_by_others bigint[] := '{}'; -- who are no claims
  rows refcursor;
  way text;
  began timestamptz;
  looked integer;
  next_id bigint;
  next_key text;
  chosen bigint;
  turn integer;
  probed integer := 0;
  reached_us bigint := after_us;
  reached_id bigint := after_id;
  passed boolean := false;
  unseen boolean := false;
  near_us bigint := 0;
  walk_us bigint := 0;
BEGIN
  busy := '{}';
  <<looking>> FOREACH way IN ARRAY ways LOOP
    began := clock_timestamp();
    looked := 0;
    IF way = 'keys' THEN
      OPEN rows FOR
        SELECT f.id, f.order_key, t.turn FROM unnest(keys) AS k (key)
          LEFT JOIN LATERAL (
            (SELECT o.id, o.order_key FROM pgonce.notification o
              WHERE o.subscription_id = subscription AND o.order_key >= k.key AND o.order_key <= k.key ORDER BY o.order_key, o.id LIMIT 1)
            UNION ALL
            (SELECT o.id, o.order_key FROM pgonce.notification o WHERE o.subscription_id = subscription AND o.id = pgonce.id_in(k.key) AND o.order_key IS NULL)) f ON true
          LEFT JOIN LATERAL pgonce.fullness(subscription, f.id, f.order_key, max_per_key, now) t ON true;
    ELSIF way = 'near' THEN
      OPEN rows FOR
        SELECT w.id, w.order_key, t.turn
          FROM (SELECT o.id, o.order_key FROM pgonce.notification o WHERE o.subscription_id = subscription AND o.id > after_id ORDER BY o.id LIMIT 1000) w
         CROSS JOIN LATERAL pgonce.fullness(subscription, w.id, w.order_key, max_per_key, now) t;
    ELSE
      OPEN rows FOR
        WITH RECURSIVE first_of_key AS (
          (SELECT o.order_key, o.id FROM pgonce.notification o
            WHERE o.subscription_id = subscription AND o.order_key > walk_from ORDER BY o.order_key, o.id LIMIT 1)
          UNION ALL
          SELECT b.order_key, b.id FROM first_of_key f CROSS JOIN LATERAL (
            SELECT o.order_key, o.id FROM pgonce.notification o
             WHERE o.subscription_id = subscription AND o.order_key > f.order_key ORDER BY o.order_key, o.id LIMIT 1) b
        )
        SELECT f.id, f.order_key, t.turn FROM first_of_key f CROSS JOIN LATERAL pgonce.fullness(subscription, f.id, f.order_key, max_per_key, now) t LIMIT 1000;
    END IF;
    LOOP
      FETCH rows INTO next_id, next_key, turn;
      EXIT WHEN NOT FOUND;
      looked := looked + 1;
      CASE way
        WHEN 'keys' THEN probed := looked;
        WHEN 'near' THEN reached_id := next_id;
        ELSE walked := next_key;
      END CASE;
      CONTINUE WHEN next_id IS NULL;
      IF turn = 1 OR next_key = ANY (busy) THEN
        passed := true;
        CONTINUE;
      END IF;
      LOOP
        place := NULL;
        chosen := next_id;
        IF next_key <> chr(1) || next_id THEN
          SELECT p.row_id, p.place INTO chosen, place FROM pgonce.place_new(subscription, next_key, max_per_key, held_by_others) p;
          EXIT WHEN chosen IS NULL;
        END IF;
        SELECT o.subscription_id, o.id, 0, o.created_at, o.payload, o.delivery_key, o.order_key, o.context, o.stamp, NULL, o.xmax
          INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
          FROM pgonce.notification o WHERE o.subscription_id = subscription AND o.id = chosen FOR UPDATE SKIP LOCKED;
        EXIT WHEN FOUND OR place IS NULL;
        held_by_others := held_by_others || chosen;
      END LOOP;
      IF id IS NOT NULL THEN
        IF way = 'near' AND id <> next_id THEN
          reached_id := next_id - 1; -- another row of its key was first: this one is looked at again
        END IF;
        EXIT;
      END IF;
      busy := busy || coalesce(next_key, chr(1) || next_id);
      passed := true;
    END LOOP;
    CLOSE rows;
    IF way = 'near' THEN
      near_us := pgonce.us_since(began);
      unseen := looked = 1000;
    ELSIF way = 'walk' THEN
      walk_us := pgonce.us_since(began);
      walked := CASE WHEN id IS NULL AND looked < 1000 THEN '' ELSE walked END;
    END IF;
    EXIT looking WHEN id IS NOT NULL;
  END LOOP;
  seen := concat_ws(' ', probed, reached_us, reached_id, passed::integer, unseen::integer, near_us, walk_us);
  RETURN NEXT;
END
$$;

-- The same among the scheduled rows that are due.
CREATE OR REPLACE FUNCTION pgonce.free_due(
  subscription integer, max_per_key integer, ways text[], keys text[], after_us bigint, after_id bigint, walk_from text)
RETURNS TABLE (subscription_id integer, id bigint, attempts integer, created_at timestamptz, payload json, delivery_key text, order_key text,
               context jsonb, stamp integer, token uuid, held xid, place integer, seen text, busy text[], walked text)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  now constant timestamptz := clock_timestamp();
  after constant timestamptz := pgonce.from_us(after_us);
  held_by_others bigint[] := '{}'; -- who are no claims
  rows refcursor;
  way text;
  began timestamptz;
  looked integer;
  next_id bigint;
  next_key text;
  next_at timestamptz;
  chosen bigint;
  turn integer;
  probed integer := 0;
  reached_us bigint := after_us;
  reached_id bigint := after_id;
  passed boolean := false;
  unseen boolean := false;
  near_us bigint := 0;
  walk_us bigint := 0;
BEGIN
  busy := '{}';
  <<looking>> FOREACH way IN ARRAY ways LOOP
    began := clock_timestamp();
    looked := 0;
    IF way = 'keys' THEN
      OPEN rows FOR
        SELECT f.id, f.order_key, f.due_at, t.turn FROM unnest(keys) AS k (key)
          LEFT JOIN LATERAL (
            (SELECT o.id, o.order_key, o.due_at FROM pgonce.scheduled o
              WHERE o.subscription_id = subscription AND o.order_key > '' AND o.order_key >= k.key AND o.order_key <= k.key ORDER BY o.order_key, o.due_at, o.id LIMIT 1)
            UNION ALL
            (SELECT o.id, o.order_key, o.due_at FROM pgonce.scheduled o WHERE o.subscription_id = subscription AND o.id = pgonce.id_in(k.key) AND o.order_key IS NULL)) f ON true
          LEFT JOIN LATERAL pgonce.fullness(subscription, f.id, f.order_key, max_per_key, now) t ON true;
    ELSIF way = 'near' THEN
      OPEN rows FOR
        SELECT w.id, w.order_key, w.due_at, t.turn
          FROM (SELECT o.id, o.order_key, o.due_at FROM pgonce.scheduled o WHERE o.subscription_id = subscription AND (o.due_at, o.id) > (after, after_id) AND o.due_at <= now
                 ORDER BY o.due_at, o.id LIMIT 1000) w
         CROSS JOIN LATERAL pgonce.fullness(subscription, w.id, w.order_key, max_per_key, now) t;
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
        SELECT f.id, f.order_key, f.due_at, t.turn FROM first_of_key f CROSS JOIN LATERAL pgonce.fullness(subscription, f.id, f.order_key, max_per_key, now) t LIMIT 1000;
    END IF;
    LOOP
      FETCH rows INTO next_id, next_key, next_at, turn;
      EXIT WHEN NOT FOUND;
      looked := looked + 1;
      CASE way
        WHEN 'keys' THEN probed := looked;
        WHEN 'near' THEN reached_us := pgonce.to_us(next_at); reached_id := next_id;
        ELSE walked := next_key;
      END CASE;
      CONTINUE WHEN next_id IS NULL OR next_at > now;
      IF turn = 1 OR next_key = ANY (busy) THEN
        passed := true;
        CONTINUE;
      END IF;
      LOOP
        place := NULL;
        chosen := next_id;
        IF next_key <> chr(1) || next_id THEN
          SELECT p.row_id, p.place INTO chosen, place FROM pgonce.place_due(subscription, next_key, max_per_key, now, held_by_others) p;
          EXIT WHEN chosen IS NULL;
        END IF;
        SELECT o.subscription_id, o.id, o.attempts, o.created_at, o.payload, o.delivery_key, o.order_key, o.context, o.stamp, o.token, o.xmax
          INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
          FROM pgonce.scheduled o WHERE o.subscription_id = subscription AND o.id = chosen AND o.due_at <= now FOR UPDATE SKIP LOCKED;
        EXIT WHEN FOUND OR place IS NULL;
        held_by_others := held_by_others || chosen;
      END LOOP;
      IF id IS NOT NULL THEN
        IF way = 'near' AND id <> next_id THEN
          reached_id := next_id - 1; -- another row of its key was first: this one is looked at again
        END IF;
        EXIT;
      END IF;
      busy := busy || coalesce(next_key, chr(1) || next_id);
      passed := true;
    END LOOP;
    CLOSE rows;
    IF way = 'near' THEN
      near_us := pgonce.us_since(began);
      unseen := looked = 1000;
    ELSIF way = 'walk' THEN
      walk_us := pgonce.us_since(began);
      walked := CASE WHEN id IS NULL AND looked < 1000 THEN '' ELSE walked END;
    END IF;
    EXIT looking WHEN id IS NOT NULL;
  END LOOP;
  seen := concat_ws(' ', probed, reached_us, reached_id, passed::integer, unseen::integer, near_us, walk_us);
  RETURN NEXT;
END
$$;

GRANT EXECUTE ON FUNCTION
  pgonce.free_new(integer, integer, text[], text[], bigint, bigint, text), pgonce.free_due(integer, integer, text[], text[], bigint, bigint, text), pgonce.lock_place(integer, text, integer, bigint)
TO pgonce_listener;

INSERT INTO pgonce.schema_version (version) VALUES (12) ON CONFLICT DO NOTHING;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
