-- Order per key: which row of a subscription may be handled next, where those of one order key wait for one another.
--
-- A row is next when no row of its key with a lower id is left: new, scheduled (waiting, retried or leased), or dead where dead letters block. And
-- a key has one claim at a time. A lower id may turn up while a higher one is at work, from a writer that committed late or from the dead letters:
-- it waits too. So each claim locks its key until its transaction ends, which is as long as its handler takes or until it is leased, and passes
-- over a key that is locked or has a lease that is not over. It decides that twice: to choose a row, and with the key locked in another statement,
-- whose snapshot shows what became of the key until then. Where that is another row's turn by now, a sub-transaction gives the lock back and all is
-- looked at anew: a key stays locked only by whom has a row of it.
--
-- The oldest rows are looked at first. Where a key has many that wait for their turn, they would have to be walked over each time: so after a
-- few of them the looking goes on from key to key, by the index below, from where the caller was last. Both stop at the first row whose key they
-- could lock, and try it for such rows only that would be taken. The sub-selects that compare with the first row of a key stay sub-selects: a NOT
-- EXISTS could become a join that reads all there is.

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

-- Whether it is this row's turn in its key, as far as others are concerned. Stable: it sees what the statement sees that calls it.
CREATE OR REPLACE FUNCTION pgonce.has_turn(subscription integer, row_id bigint, key text, dead_letters_block boolean, now timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN coalesce((SELECT b.id FROM pgonce.notification b WHERE b.subscription_id = subscription AND b.order_key = key ORDER BY b.id LIMIT 1) >= row_id, true)
     AND coalesce((SELECT b.id FROM pgonce.scheduled b WHERE b.subscription_id = subscription AND b.order_key = key ORDER BY b.id LIMIT 1) >= row_id, true)
     AND (NOT dead_letters_block
          OR coalesce((SELECT b.id FROM pgonce.dead_letter b WHERE b.subscription_id = subscription AND b.order_key = key ORDER BY b.id LIMIT 1) > row_id, true))
     AND NOT EXISTS (SELECT FROM pgonce.scheduled b
                      WHERE b.subscription_id = subscription AND b.order_key = key AND b.token IS NOT NULL AND b.due_at > now);
END
$$;

-- The next new row whose turn it is, locked with its key for the caller's transaction; none if there is none that nobody else holds.
CREATE OR REPLACE FUNCTION pgonce.next_new(subscription integer, dead_letters_block boolean, after_key text)
RETURNS TABLE (subscription_id integer, id bigint, attempts integer, created_at timestamptz, payload json, delivery_key text, order_key text,
               context jsonb, stamp integer, token uuid, held xid)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  now constant timestamptz := clock_timestamp();
  passed bigint[] := '{}'; -- held by somebody who is no claim
  from_key text;
  next_id bigint;
  next_key text;
BEGIN
  LOOP
    BEGIN
      SELECT w.id, w.order_key INTO next_id, next_key
        FROM (SELECT o.id, o.order_key FROM pgonce.notification o WHERE o.subscription_id = subscription ORDER BY o.id LIMIT 32) w
       WHERE CASE WHEN w.id <> ALL (passed) AND (w.order_key IS NULL OR (
                    (SELECT b.id FROM pgonce.notification b WHERE b.subscription_id = subscription AND b.order_key = w.order_key ORDER BY b.id LIMIT 1) = w.id
                    AND pgonce.has_turn(subscription, w.id, w.order_key, dead_letters_block, now)))
                  THEN pgonce.try_key(subscription, coalesce(w.order_key, chr(1) || w.id)) ELSE false END
       LIMIT 1;
      FOREACH from_key IN ARRAY CASE WHEN after_key <> '' THEN ARRAY[after_key, ''] ELSE ARRAY[''] END LOOP
        EXIT WHEN next_id IS NOT NULL;
        WITH RECURSIVE first_of_key AS (
          (SELECT o.order_key, o.id FROM pgonce.notification o
            WHERE o.subscription_id = subscription AND o.order_key > from_key ORDER BY o.order_key, o.id LIMIT 1)
          UNION ALL
          SELECT b.order_key, b.id FROM first_of_key f CROSS JOIN LATERAL (
            SELECT o.order_key, o.id FROM pgonce.notification o
             WHERE o.subscription_id = subscription AND o.order_key > f.order_key ORDER BY o.order_key, o.id LIMIT 1) b
        )
        SELECT f.id, f.order_key INTO next_id, next_key FROM first_of_key f
         WHERE CASE WHEN f.id <> ALL (passed) AND pgonce.has_turn(subscription, f.id, f.order_key, dead_letters_block, now)
                    THEN pgonce.try_key(subscription, f.order_key) ELSE false END
         LIMIT 1;
      END LOOP;
      IF next_id IS NULL THEN
        RETURN;
      END IF;
      PERFORM WHERE EXISTS (SELECT FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = next_id)
                AND (next_key IS NULL OR pgonce.has_turn(subscription, next_id, next_key, dead_letters_block, now));
      IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PO008';
      END IF;
    EXCEPTION WHEN SQLSTATE 'PO008' THEN
      CONTINUE; -- the key's lock is given back
    END;
    SELECT n.subscription_id, n.id, 0, n.created_at, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL, n.xmax
      INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
      FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = next_id FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
      RETURN NEXT;
      RETURN;
    END IF;
    passed := passed || next_id;
  END LOOP;
END
$$;

-- The same among the scheduled rows that are due.
CREATE OR REPLACE FUNCTION pgonce.next_due(subscription integer, dead_letters_block boolean, after_key text)
RETURNS TABLE (subscription_id integer, id bigint, attempts integer, created_at timestamptz, payload json, delivery_key text, order_key text,
               context jsonb, stamp integer, token uuid, held xid)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  now constant timestamptz := clock_timestamp();
  passed bigint[] := '{}'; -- held by somebody who is no claim
  from_key text;
  next_id bigint;
  next_key text;
BEGIN
  LOOP
    BEGIN
      SELECT w.id, w.order_key INTO next_id, next_key
        FROM (SELECT o.id, o.order_key FROM pgonce.scheduled o WHERE o.subscription_id = subscription AND o.due_at <= now ORDER BY o.due_at, o.id LIMIT 32) w
       WHERE CASE WHEN w.id <> ALL (passed) AND (w.order_key IS NULL OR (
                    (SELECT b.id FROM pgonce.scheduled b WHERE b.subscription_id = subscription AND b.order_key = w.order_key ORDER BY b.id LIMIT 1) = w.id
                    AND pgonce.has_turn(subscription, w.id, w.order_key, dead_letters_block, now)))
                  THEN pgonce.try_key(subscription, coalesce(w.order_key, chr(1) || w.id)) ELSE false END
       LIMIT 1;
      FOREACH from_key IN ARRAY CASE WHEN after_key <> '' THEN ARRAY[after_key, ''] ELSE ARRAY[''] END LOOP
        EXIT WHEN next_id IS NOT NULL;
        WITH RECURSIVE first_of_key AS (
          (SELECT o.order_key, o.id, o.due_at FROM pgonce.scheduled o
            WHERE o.subscription_id = subscription AND o.order_key > from_key ORDER BY o.order_key, o.id LIMIT 1)
          UNION ALL
          SELECT b.order_key, b.id, b.due_at FROM first_of_key f CROSS JOIN LATERAL (
            SELECT o.order_key, o.id, o.due_at FROM pgonce.scheduled o
             WHERE o.subscription_id = subscription AND o.order_key > f.order_key ORDER BY o.order_key, o.id LIMIT 1) b
        )
        SELECT f.id, f.order_key INTO next_id, next_key FROM first_of_key f
         WHERE CASE WHEN f.due_at <= now AND f.id <> ALL (passed) AND pgonce.has_turn(subscription, f.id, f.order_key, dead_letters_block, now)
                    THEN pgonce.try_key(subscription, f.order_key) ELSE false END
         LIMIT 1;
      END LOOP;
      IF next_id IS NULL THEN
        RETURN;
      END IF;
      PERFORM WHERE EXISTS (SELECT FROM pgonce.scheduled s WHERE s.subscription_id = subscription AND s.id = next_id AND s.due_at <= now)
                AND (next_key IS NULL OR pgonce.has_turn(subscription, next_id, next_key, dead_letters_block, now));
      IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PO008';
      END IF;
    EXCEPTION WHEN SQLSTATE 'PO008' THEN
      CONTINUE; -- the key's lock is given back
    END;
    SELECT s.subscription_id, s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, s.xmax
      INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
      FROM pgonce.scheduled s WHERE s.subscription_id = subscription AND s.id = next_id AND s.due_at <= now FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
      RETURN NEXT;
      RETURN;
    END IF;
    passed := passed || next_id;
  END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION pgonce.next_new(integer, boolean, text), pgonce.next_due(integer, boolean, text), pgonce.lock_key(integer, text)
TO pgonce_listener;

INSERT INTO pgonce.schema_version (version) VALUES (7) ON CONFLICT DO NOTHING;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
