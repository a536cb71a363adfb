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

-- See V001.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

DO $$
BEGIN
  IF to_regclass('pgonce.notification_order') IS NULL THEN
    CREATE INDEX notification_order ON pgonce.notification (subscription_id, order_key, id) WHERE order_key IS NOT NULL;
  END IF;
  IF to_regclass('pgonce.scheduled_order') IS NULL THEN
    CREATE INDEX scheduled_order ON pgonce.scheduled (subscription_id, order_key, id) WHERE order_key IS NOT NULL;
  END IF;
  IF to_regclass('pgonce.dead_letter_order') IS NULL THEN
    CREATE INDEX dead_letter_order ON pgonce.dead_letter (subscription_id, order_key, id) WHERE order_key IS NOT NULL;
  END IF;
  IF to_regclass('pgonce.scheduled_leased') IS NULL THEN
    CREATE INDEX scheduled_leased ON pgonce.scheduled (subscription_id, order_key, due_at) WHERE order_key IS NOT NULL AND token IS NOT NULL;
  END IF;
END
$$;

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

GRANT EXECUTE ON FUNCTION pgonce.next_new(integer, boolean, text[], text[], bigint, bigint, text), pgonce.next_due(integer, boolean, text[], text[], bigint, bigint, text), pgonce.lock_key(integer, text)
TO pgonce_listener;

INSERT INTO pgonce.schema_version (version) VALUES (7) ON CONFLICT DO NOTHING;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
