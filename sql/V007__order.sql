-- Order per key: which row of a subscription may be handled next, where those of one order key wait for one another.
--
-- A row is a head when no row of its key with a lower id is left: new, scheduled (waiting, retried or leased), or dead where dead letters block.
-- Each look decides that, and locks the row, in one statement and so in one snapshot: a row that moves from one table to another is seen in one
-- of them. A row that a transaction holds is still there for everybody else, so those behind it are none's.
--
-- The oldest rows are looked at first. Where a key has many that wait for their turn, they would have to be walked over each time: so after a
-- few of them the looking goes on from key to key, by the index below, from where the caller was last. The sub-selects that compare with the
-- first row of a key stay sub-selects: a NOT EXISTS could become a join that reads all there is.

SET ROLE pgonce_owner;

CREATE INDEX IF NOT EXISTS notification_order ON pgonce.notification (subscription_id, order_key, id) WHERE order_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS scheduled_order ON pgonce.scheduled (subscription_id, order_key, id) WHERE order_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS dead_letter_order ON pgonce.dead_letter (subscription_id, order_key, id) WHERE order_key IS NOT NULL;

-- The next new row that is a head, locked for the caller's transaction; none if there is none that nobody else holds.
CREATE OR REPLACE FUNCTION pgonce.next_new(subscription integer, dead_letters_block boolean, after_key text)
RETURNS TABLE (subscription_id integer, id bigint, attempts integer, created_at timestamptz, payload json, delivery_key text, order_key text,
               context jsonb, stamp integer, token uuid, held xid)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  from_key text := after_key;
BEGIN
  SELECT n.subscription_id, n.id, 0, n.created_at, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL, n.xmax
    INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
    FROM pgonce.notification n
   WHERE n.subscription_id = subscription
     AND n.id <= (SELECT max(w.id) FROM (SELECT o.id FROM pgonce.notification o WHERE o.subscription_id = subscription ORDER BY o.id LIMIT 32) w)
     AND (n.order_key IS NULL OR (
     (SELECT b.id FROM pgonce.notification b WHERE b.subscription_id = subscription AND b.order_key = n.order_key ORDER BY b.id LIMIT 1) = n.id
     AND coalesce((SELECT b.id FROM pgonce.scheduled b WHERE b.subscription_id = subscription AND b.order_key = n.order_key ORDER BY b.id LIMIT 1) > n.id, true)
     AND (NOT dead_letters_block OR coalesce((SELECT b.id FROM pgonce.dead_letter b WHERE b.subscription_id = subscription AND b.order_key = n.order_key ORDER BY b.id LIMIT 1) > n.id, true))))
   ORDER BY n.id LIMIT 1 FOR UPDATE SKIP LOCKED;
  LOOP
    IF FOUND THEN
      RETURN NEXT;
      RETURN;
    END IF;
    EXIT WHEN from_key IS NULL;
    WITH RECURSIVE first_of_key AS (
      (SELECT n.order_key, n.id FROM pgonce.notification n
        WHERE n.subscription_id = subscription AND n.order_key > from_key ORDER BY n.order_key, n.id LIMIT 1)
      UNION ALL
      SELECT b.order_key, b.id FROM first_of_key f CROSS JOIN LATERAL (
        SELECT n.order_key, n.id FROM pgonce.notification n
         WHERE n.subscription_id = subscription AND n.order_key > f.order_key ORDER BY n.order_key, n.id LIMIT 1) b
    )
    SELECT n.subscription_id, n.id, 0, n.created_at, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL, n.xmax
    INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
    FROM first_of_key f JOIN pgonce.notification n ON n.subscription_id = subscription AND n.id = f.id
     WHERE (SELECT b.id FROM pgonce.notification b WHERE b.subscription_id = subscription AND b.order_key = n.order_key ORDER BY b.id LIMIT 1) = n.id
     AND coalesce((SELECT b.id FROM pgonce.scheduled b WHERE b.subscription_id = subscription AND b.order_key = n.order_key ORDER BY b.id LIMIT 1) > n.id, true)
     AND (NOT dead_letters_block OR coalesce((SELECT b.id FROM pgonce.dead_letter b WHERE b.subscription_id = subscription AND b.order_key = n.order_key ORDER BY b.id LIMIT 1) > n.id, true))
     LIMIT 1 FOR UPDATE OF n SKIP LOCKED;
    from_key := CASE WHEN from_key <> '' THEN '' END;
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
  from_key text := after_key;
BEGIN
  SELECT s.subscription_id, s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, s.xmax
    INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
    FROM pgonce.scheduled s
   WHERE s.subscription_id = subscription
     AND s.due_at <= (SELECT max(w.due_at) FROM (SELECT o.due_at FROM pgonce.scheduled o
                                                  WHERE o.subscription_id = subscription AND o.due_at <= now ORDER BY o.due_at LIMIT 32) w)
     AND (s.order_key IS NULL OR (
     coalesce((SELECT b.id FROM pgonce.notification b WHERE b.subscription_id = subscription AND b.order_key = s.order_key ORDER BY b.id LIMIT 1) > s.id, true)
     AND (SELECT b.id FROM pgonce.scheduled b WHERE b.subscription_id = subscription AND b.order_key = s.order_key ORDER BY b.id LIMIT 1) = s.id
     AND (NOT dead_letters_block OR coalesce((SELECT b.id FROM pgonce.dead_letter b WHERE b.subscription_id = subscription AND b.order_key = s.order_key ORDER BY b.id LIMIT 1) > s.id, true))))
   ORDER BY s.due_at, s.id LIMIT 1 FOR UPDATE SKIP LOCKED;
  LOOP
    IF FOUND THEN
      RETURN NEXT;
      RETURN;
    END IF;
    EXIT WHEN from_key IS NULL;
    WITH RECURSIVE first_of_key AS (
      (SELECT s.order_key, s.id FROM pgonce.scheduled s
        WHERE s.subscription_id = subscription AND s.order_key > from_key ORDER BY s.order_key, s.id LIMIT 1)
      UNION ALL
      SELECT b.order_key, b.id FROM first_of_key f CROSS JOIN LATERAL (
        SELECT s.order_key, s.id FROM pgonce.scheduled s
         WHERE s.subscription_id = subscription AND s.order_key > f.order_key ORDER BY s.order_key, s.id LIMIT 1) b
    )
    SELECT s.subscription_id, s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, s.xmax
    INTO subscription_id, id, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, held
    FROM first_of_key f JOIN pgonce.scheduled s ON s.subscription_id = subscription AND s.id = f.id
     WHERE s.due_at <= now AND coalesce((SELECT b.id FROM pgonce.notification b WHERE b.subscription_id = subscription AND b.order_key = s.order_key ORDER BY b.id LIMIT 1) > s.id, true)
     AND (SELECT b.id FROM pgonce.scheduled b WHERE b.subscription_id = subscription AND b.order_key = s.order_key ORDER BY b.id LIMIT 1) = s.id
     AND (NOT dead_letters_block OR coalesce((SELECT b.id FROM pgonce.dead_letter b WHERE b.subscription_id = subscription AND b.order_key = s.order_key ORDER BY b.id LIMIT 1) > s.id, true))
     LIMIT 1 FOR UPDATE OF s SKIP LOCKED;
    from_key := CASE WHEN from_key <> '' THEN '' END;
  END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION pgonce.next_new(integer, boolean, text), pgonce.next_due(integer, boolean, text) TO pgonce_listener;

INSERT INTO pgonce.schema_version (version) VALUES (7) ON CONFLICT DO NOTHING;

RESET ROLE;
