-- Order per key: which row of a subscription may be handled next, where those of one order key wait for one another.
--
-- A row is next when no row of its key with a lower id is left: new, scheduled (waiting, retried or leased), or dead where dead letters block. And
-- a key has one claim at a time. A lower id may turn up while a higher one is at work, from a writer that committed late or from the dead letters:
-- it waits too. So each claim locks its key until its transaction ends, which is as long as its handler takes or until it is leased, and passes
-- over a key that is locked or has a lease that is not over. It decides that twice: to choose a row, and with the key locked in another statement,
-- whose snapshot shows what became of the key until then. Where that is another row's turn by now, a sub-transaction gives the lock back and all is
-- looked at anew: a key stays locked only by whom has a row of it.
--
-- Most rows that wait cannot be claimed: their key waits for a dead letter, for a retry, or for another claim. A claim must not walk over them each
-- time. So the caller says in which ways it looks, and is told how far it has come:
--   keys   the first row of each of the given keys. The caller knows them: one of its own rows of that key has ended, or another claim held it.
--   near   rows in their order, behind the place that the caller has reached, at most a thousand. What is passed over is not looked at again so.
--   walk   the first row of each key, from key to key behind the given one, at most a thousand keys. It finds what the other two miss: a row that was
--          committed late, and a key that was set free by a discarded dead letter, a cancelled row or a process that died.
-- The result is one row. Its first columns are those of the claimed row, null if there is none. The others are for the caller's next look:
--   seen   how many keys were tried, the place reached (a due time in microseconds since 1970, and an id), whether a row was passed over that may be
--          set free by the end of another one that is at work, whether more lies behind the place reached, and what near and walk took, in
--          microseconds, 0 where it did not look so
--   busy   keys that another claim has locked
--   walked the last key of the walk, empty if it is at its end, null if there was none
--
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
-- A claim looks in the same ways, and gives the same account of it: a key that is full costs a look, however many wait in it.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Locks a key for the caller's transaction; false if another has it. Keys of one hash wait for one another. The number is "pgonce" in ASCII.
CREATE OR REPLACE FUNCTION pgonce.try_key(subscription integer, order_key text) RETURNS boolean
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
  SELECT pg_try_advisory_xact_lock(hashtextextended(order_key COLLATE "C", 123589553447781 + subscription))
$$;

-- The same for a row that has a lease already, for which nobody else keeps its key for longer than a look takes.
CREATE OR REPLACE FUNCTION pgonce.lock_key(subscription integer, order_key text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  FOR try IN 1 .. 20 LOOP
    IF pgonce.try_key(subscription, order_key) THEN
      RETURN true;
    END IF;
    PERFORM pg_sleep(0.005);
  END LOOP;
  RETURN false;
END
$$;

-- Whether it is this row's turn in its key, as far as others are concerned: 0 if it is; 1 if it waits for a row that is at work, or that a claim may
-- take; 2 if it waits for a dead letter, or for a row that is due later, and so for nothing that a claim can end.
-- It pins nothing, so that PostgreSQL puts it in the place of its call: it names all in full, and has no rights to lend. Ranges of one key, ordered by
-- the key: for = the planner may take the index of all keys.
CREATE OR REPLACE FUNCTION pgonce.turn(subscription integer, row_id bigint, key text, dead_letters_block boolean, now timestamptz) RETURNS TABLE (turn integer)
LANGUAGE sql STABLE
AS $$
  SELECT CASE
    WHEN key IS NULL THEN 0
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

-- A place among due times, and the other way round.
CREATE OR REPLACE FUNCTION pgonce.from_us(us bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN us <= 0 THEN '-infinity' ELSE timestamptz 'epoch' + us * interval '1 microsecond' END $$;

CREATE OR REPLACE FUNCTION pgonce.to_us(at timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT (1000000 * extract(epoch FROM at))::bigint $$;

-- Microseconds since then, at least one.
CREATE OR REPLACE FUNCTION pgonce.us_since(at timestamptz) RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$ SELECT greatest(1, (1000000 * extract(epoch FROM clock_timestamp() - at))::bigint) $$;

-- The id in a key that stands for a row without one, see publish; null for any other key.
CREATE OR REPLACE FUNCTION pgonce.id_in(key text) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN key ~ ('^' || chr(1) || '[0-9]{1,18}$') THEN substr(key, 2)::bigint END $$;

-- The next new row whose turn it is, locked with its key for the caller's transaction.
CREATE OR REPLACE FUNCTION pgonce.next_new(
  subscription integer, dead_letters_block boolean, ways text[], keys text[], after_us bigint, after_id bigint, walk_from text)
RETURNS TABLE (subscription_id integer, id bigint, attempts integer, created_at timestamptz, payload json, delivery_key text, order_key text,
               context jsonb, stamp integer, token uuid, held xid, seen text, busy text[], walked text)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  now constant timestamptz := clock_timestamp();
  rows refcursor;
  way text;
  began timestamptz;
  looked integer;
  next_id bigint;
  next_key text;
  turn integer;
  free boolean;
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
          LEFT JOIN LATERAL pgonce.turn(subscription, f.id, f.order_key, dead_letters_block, now) t ON true;
    ELSIF way = 'near' THEN
      OPEN rows FOR
        SELECT w.id, w.order_key, t.turn
          FROM (SELECT o.id, o.order_key FROM pgonce.notification o WHERE o.subscription_id = subscription AND o.id > after_id ORDER BY o.id LIMIT 1000) w
         CROSS JOIN LATERAL pgonce.turn(subscription, w.id, w.order_key, dead_letters_block, now) t;
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
        SELECT f.id, f.order_key, t.turn FROM first_of_key f CROSS JOIN LATERAL pgonce.turn(subscription, f.id, f.order_key, dead_letters_block, now) t LIMIT 1000;
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
      IF turn = 0 AND next_id IS NOT NULL THEN
        BEGIN
          free := pgonce.try_key(subscription, coalesce(next_key, chr(1) || next_id));
          IF free THEN -- as others have left it until then: another statement
            PERFORM FROM pgonce.turn(subscription, next_id, next_key, dead_letters_block, now) t
              WHERE t.turn = 0 AND EXISTS (SELECT FROM pgonce.notification o WHERE o.subscription_id = subscription AND o.id = next_id);
            IF NOT FOUND THEN
              RAISE EXCEPTION USING ERRCODE = 'PO008';
            END IF;
          END IF;
        EXCEPTION WHEN SQLSTATE 'PO008' THEN
          free := false; -- the key's lock is given back
        END;
        IF free THEN
          SELECT o.subscription_id, o.id, 0, o.created_at, o.payload, o.delivery_key, o.order_key, o.context, o.stamp, NULL, o.xmax
            INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
            FROM pgonce.notification o WHERE o.subscription_id = subscription AND o.id = next_id FOR UPDATE SKIP LOCKED;
          EXIT WHEN FOUND;
        END IF;
        busy := busy || coalesce(next_key, chr(1) || next_id);
        passed := true;
      ELSIF turn = 1 THEN
        passed := true;
      END IF;
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
CREATE OR REPLACE FUNCTION pgonce.next_due(
  subscription integer, dead_letters_block boolean, ways text[], keys text[], after_us bigint, after_id bigint, walk_from text)
RETURNS TABLE (subscription_id integer, id bigint, attempts integer, created_at timestamptz, payload json, delivery_key text, order_key text,
               context jsonb, stamp integer, token uuid, held xid, seen text, busy text[], walked text)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  now constant timestamptz := clock_timestamp();
  after constant timestamptz := pgonce.from_us(after_us);
  rows refcursor;
  way text;
  began timestamptz;
  looked integer;
  next_id bigint;
  next_key text;
  next_at timestamptz;
  turn integer;
  free boolean;
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
              WHERE o.subscription_id = subscription AND o.order_key >= k.key AND o.order_key <= k.key ORDER BY o.order_key, o.id LIMIT 1)
            UNION ALL
            (SELECT o.id, o.order_key, o.due_at FROM pgonce.scheduled o WHERE o.subscription_id = subscription AND o.id = pgonce.id_in(k.key) AND o.order_key IS NULL)) f ON true
          LEFT JOIN LATERAL pgonce.turn(subscription, f.id, f.order_key, dead_letters_block, now) t ON true;
    ELSIF way = 'near' THEN
      OPEN rows FOR
        SELECT w.id, w.order_key, w.due_at, t.turn
          FROM (SELECT o.id, o.order_key, o.due_at FROM pgonce.scheduled o WHERE o.subscription_id = subscription AND (o.due_at, o.id) > (after, after_id) AND o.due_at <= now
                 ORDER BY o.due_at, o.id LIMIT 1000) w
         CROSS JOIN LATERAL pgonce.turn(subscription, w.id, w.order_key, dead_letters_block, now) t;
    ELSE
      OPEN rows FOR
        WITH RECURSIVE first_of_key AS (
          (SELECT o.order_key, o.id, o.due_at FROM pgonce.scheduled o
            WHERE o.subscription_id = subscription AND o.order_key > walk_from ORDER BY o.order_key, o.id LIMIT 1)
          UNION ALL
          SELECT b.order_key, b.id, b.due_at FROM first_of_key f CROSS JOIN LATERAL (
            SELECT o.order_key, o.id, o.due_at FROM pgonce.scheduled o
             WHERE o.subscription_id = subscription AND o.order_key > f.order_key ORDER BY o.order_key, o.id LIMIT 1) b
        )
        SELECT f.id, f.order_key, f.due_at, t.turn FROM first_of_key f CROSS JOIN LATERAL pgonce.turn(subscription, f.id, f.order_key, dead_letters_block, now) t LIMIT 1000;
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
      CONTINUE WHEN next_at > now;
      IF turn = 0 AND next_id IS NOT NULL THEN
        BEGIN
          free := pgonce.try_key(subscription, coalesce(next_key, chr(1) || next_id));
          IF free THEN -- as others have left it until then: another statement
            PERFORM FROM pgonce.turn(subscription, next_id, next_key, dead_letters_block, now) t
              WHERE t.turn = 0 AND EXISTS (SELECT FROM pgonce.scheduled o WHERE o.subscription_id = subscription AND o.id = next_id AND o.due_at <= now);
            IF NOT FOUND THEN
              RAISE EXCEPTION USING ERRCODE = 'PO008';
            END IF;
          END IF;
        EXCEPTION WHEN SQLSTATE 'PO008' THEN
          free := false; -- the key's lock is given back
        END;
        IF free THEN
          SELECT o.subscription_id, o.id, o.attempts, o.created_at, o.payload, o.delivery_key, o.order_key, o.context, o.stamp, o.token, o.xmax
            INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
            FROM pgonce.scheduled o WHERE o.subscription_id = subscription AND o.id = next_id AND o.due_at <= now FOR UPDATE SKIP LOCKED;
          EXIT WHEN FOUND;
        END IF;
        busy := busy || coalesce(next_key, chr(1) || next_id);
        passed := true;
      ELSIF turn = 1 THEN
        passed := true;
      END IF;
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

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
