-- Limit per key. A key has as many permits, by number, as max_per_key of its channel says. A claim keeps its permit by an advisory lock for its
-- transaction, or by key_permit and key_permit_until of its row for its lease. A row that waits for a retry has none. Where one transaction counts an
-- attempt and the next one runs it, the row keeps its permit in between, for a second at most. With a permit, the claim takes the first row of the
-- key that no other claim holds. That is told by an advisory lock on the row's id and not by a lock on the row. A row lock that is given back leaves
-- a mark that makes the row a suspect, and one that is taken in a sub-transaction makes a multixact. Where the key has no such row, a sub-transaction
-- gives the permit back. If something other than a claim holds the chosen row, and the key has no other, the permit is taken until the transaction ends.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Locks a permit of a key for the caller's transaction; false if another transaction has it. Keys of one hash share their permits.
CREATE OR REPLACE FUNCTION pgonce_private.try_key_permit(subscription integer, order_key text, permit integer) RETURNS boolean
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
  SELECT pg_try_advisory_xact_lock(hashtextextended((order_key || chr(1) || permit) COLLATE "C", 123589553447781 + subscription))
$$;

-- Locks the id of a row that is about to be claimed. Only claims do that.
CREATE OR REPLACE FUNCTION pgonce_private.try_row(subscription integer, id bigint) RETURNS boolean
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
  SELECT pg_try_advisory_xact_lock(hashint8extended(id, 123589553447781 + subscription))
$$;

-- The permits of a key that leased rows have, but for one row.
CREATE OR REPLACE FUNCTION pgonce_private.key_permits_taken(subscription integer, key text, but_for bigint) RETURNS integer[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  now constant timestamptz := clock_timestamp();
BEGIN
  RETURN ARRAY(SELECT s.key_permit FROM pgonce.scheduled s
                WHERE s.subscription_id = subscription AND s.order_key = key AND s.token IS NOT NULL AND s.due_at > now
                  AND s.key_permit IS NOT NULL AND s.key_permit_until > now AND s.id IS DISTINCT FROM but_for);
END
$$;

-- Takes a free permit of a key for the caller's transaction; null if there is none.
CREATE OR REPLACE FUNCTION pgonce_private.take_key_permit(subscription integer, key text, max_per_key integer, but_for bigint DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  taken integer[];
BEGIN
  LOOP
    BEGIN
      taken := pgonce_private.key_permits_taken(subscription, key, but_for);
      FOR permit IN 1 .. max_per_key LOOP
        IF permit <> ALL (taken) AND pgonce_private.try_key_permit(subscription, key, permit) THEN
          IF permit = ANY (pgonce_private.key_permits_taken(subscription, key, but_for)) THEN
            RAISE EXCEPTION USING ERRCODE = 'PO008';
          END IF;
          RETURN permit;
        END IF;
      END LOOP;
      RETURN NULL;
    EXCEPTION WHEN SQLSTATE 'PO008' THEN
      CONTINUE; -- a row was leased with it meanwhile: the lock is given back, and the next look sees that row
    END;
  END LOOP;
END
$$;

-- Locks what a row needs that is claimed once more by its id: its key, or under a limit (max_per_key is not null) a permit of it. Other claims keep
-- these only for as long as a look takes, unless the row's own permit, which it has for a second, is over; so it tries for 100 ms.
CREATE OR REPLACE FUNCTION pgonce.lock_key(subscription integer, order_key text, max_per_key integer, id bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  has_row boolean := max_per_key IS NULL; -- an order locks keys only
BEGIN
  IF max_per_key IS NOT NULL AND order_key = chr(1) || id THEN
    RETURN true; -- a row without a key has no limit
  END IF;
  FOR try IN 1 .. 20 LOOP
    has_row := has_row OR pgonce_private.try_row(subscription, id);
    IF has_row AND (CASE WHEN max_per_key IS NULL THEN pgonce_private.try_key(subscription, order_key)
                      ELSE pgonce_private.take_key_permit(subscription, order_key, max_per_key, id) IS NOT NULL END) THEN
      RETURN true;
    END IF;
    PERFORM pg_sleep(0.005);
  END LOOP;
  RETURN false;
END
$$;

-- Takes a permit of a key, and locks the id of the first row that is to have it: new, or scheduled and due by then. Both are null if the key has no
-- free permit or no such row. The key is a range of one, ordered by the key: with = the planner may take another index, over all keys, if its
-- statistics say that most rows are of this key.
CREATE OR REPLACE FUNCTION pgonce_private.take_permit_and_row(
  subscription integer, due boolean, key text, max_per_key integer, by_then timestamptz, passed bigint[], OUT row_id bigint, OUT permit integer)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  rows refcursor;
  next_id bigint;
  next_at timestamptz;
BEGIN
  LOOP
    BEGIN
      row_id := NULL;
      permit := pgonce_private.take_key_permit(subscription, key, max_per_key);
      IF permit IS NULL THEN
        RETURN;
      END IF;
      IF due THEN
        OPEN rows FOR
          SELECT o.id, o.due_at FROM pgonce.scheduled o
           WHERE o.subscription_id = subscription AND o.order_key > '' AND o.order_key >= key AND o.order_key <= key
           ORDER BY o.order_key, o.due_at, o.id;
      ELSE
        OPEN rows FOR
          SELECT o.id, NULL::timestamptz FROM pgonce.notification o
           WHERE o.subscription_id = subscription AND o.order_key >= key AND o.order_key <= key ORDER BY o.order_key, o.id;
      END IF;
      LOOP
        FETCH rows INTO next_id, next_at;
        EXIT WHEN NOT FOUND OR next_at > by_then;
        IF next_id <> ALL (passed) AND pgonce_private.try_row(subscription, next_id) THEN
          row_id := next_id;
          EXIT;
        END IF;
      END LOOP;
      CLOSE rows;
      -- Another statement: the claim that had the row's id locked until then may have deleted it.
      PERFORM WHERE CASE WHEN due
        THEN EXISTS (SELECT FROM pgonce.scheduled s WHERE s.subscription_id = subscription AND s.id = row_id AND s.due_at <= by_then)
        ELSE EXISTS (SELECT FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = row_id) END;
      IF FOUND THEN
        RETURN;
      END IF;
      RAISE EXCEPTION USING ERRCODE = 'PO008';
    EXCEPTION WHEN SQLSTATE 'PO008' THEN
      permit := NULL; -- it is given back
    END;
    IF row_id IS NULL THEN
      RETURN;
    END IF;
  END LOOP;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
