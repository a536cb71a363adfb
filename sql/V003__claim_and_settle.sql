-- Stations 3 and 5: claim and settle. A claim lives as long as its transaction: whoever dies gives the row back.

SET ROLE pgonce_owner;

-- Locks up to max_rows due notifications of a subscription for the calling transaction; rows that others hold are passed over.
-- due_first says whether scheduled rows that are due go before new ones: callers alternate while there are such, so that neither starves the
-- other. They come earliest first, and are looked for after new rows too where those are too few.
-- more, for a new row, says that another lies behind it (held by someone or not): a sign that another worker has something to do, so that no
-- claim is needed to find out that nothing is left.
-- Times are passed as microseconds since 1970, which every driver reads the same. (A double holds them to the microsecond until 2106.)
-- The plan is pinned: planned while the table is empty, a sequential scan would stay in the session's cache for good. Without a sort, only
-- the index can give the order; left to itself PostgreSQL would plan anew at each call, for the LIMIT's sake, and that costs more than the claim.
-- ROWS 1 is for the statement around it: with the 1,000 rows of the default, it too would be planned anew at each call, for its parameters.
CREATE OR REPLACE FUNCTION pgonce.claim(subscription integer, max_rows integer, due_first boolean)
RETURNS TABLE (id bigint, scheduled boolean, attempts integer, created_us bigint, age_us bigint, payload text, more boolean)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  taken integer := 0;
  found integer;
BEGIN
  FOR place IN 1 .. 2 LOOP
    IF due_first = (place = 1) THEN
      RETURN QUERY
        SELECT s.id, true, s.attempts, (date_part('epoch', s.created_at) * 1000000)::bigint,
               (date_part('epoch', clock_timestamp() - s.created_at) * 1000000)::bigint, s.payload::text, false
          FROM pgonce.scheduled s
         -- The subselect makes now a bound of the index scan: a volatile function would be a filter over all that is due later.
         WHERE s.subscription_id = subscription AND s.due_at <= (SELECT clock_timestamp())
         ORDER BY s.due_at, s.id LIMIT max_rows - taken FOR UPDATE OF s SKIP LOCKED;
    ELSE
      RETURN QUERY
        SELECT n.id, false, 0, (date_part('epoch', n.created_at) * 1000000)::bigint,
               (date_part('epoch', clock_timestamp() - n.created_at) * 1000000)::bigint, n.payload::text,
               (SELECT b.id FROM pgonce.notification b WHERE b.subscription_id = subscription AND b.id > n.id ORDER BY b.id LIMIT 1) IS NOT NULL
          FROM pgonce.notification n
         WHERE n.subscription_id = subscription ORDER BY n.id LIMIT max_rows - taken FOR UPDATE OF n SKIP LOCKED;
    END IF;
    GET DIAGNOSTICS found = ROW_COUNT;
    taken := taken + found;
    EXIT WHEN taken >= max_rows;
  END LOOP;
END
$$;

-- A part of the payload of a claimed row, for drivers that cannot take all of it in one message. first counts characters from 1.
CREATE OR REPLACE FUNCTION pgonce.payload_part(subscription integer, id bigint, was_scheduled boolean, first integer, characters integer)
RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
  SELECT CASE WHEN was_scheduled
    THEN (SELECT substr(s.payload::text, first, characters) FROM pgonce.scheduled s WHERE s.subscription_id = subscription AND s.id = payload_part.id)
    ELSE (SELECT substr(n.payload::text, first, characters) FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = payload_part.id)
  END
$$;

-- Raised wherever a settled row is not there: deleted by hand, or claimed by nobody. Never taken for success.
CREATE OR REPLACE FUNCTION pgonce.not_there(subscription integer, id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION 'pgonce: notification % of subscription % is no longer there: it was deleted while it was claimed, and its handler is undone', id, subscription
    USING ERRCODE = 'PO001';
END
$$;

-- Handled: the row goes, in the transaction of its handler.
CREATE OR REPLACE FUNCTION pgonce.complete(subscription integer, id bigint, was_scheduled boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
  IF was_scheduled THEN
    DELETE FROM pgonce.scheduled s WHERE s.subscription_id = subscription AND s.id = complete.id;
  ELSE
    DELETE FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = complete.id;
  END IF;
  IF NOT FOUND THEN
    PERFORM pgonce.not_there(subscription, complete.id);
  END IF;
END
$$;

-- Takes a row out of where it waits, unless somebody has counted an attempt since: a failure may be recorded after its claim was lost, and
-- whoever took the row in between has the say. Waits for a lock that another claim holds; the caller bounds that with lock_timeout.
CREATE OR REPLACE FUNCTION pgonce.take_out(subscription integer, id bigint, expected_attempts integer)
RETURNS TABLE (created_at timestamptz, payload json)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
#variable_conflict use_column
BEGIN
  IF expected_attempts = 0 THEN
    RETURN QUERY DELETE FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = take_out.id
      RETURNING n.created_at, n.payload;
    IF FOUND THEN
      RETURN;
    END IF;
  END IF;
  RETURN QUERY DELETE FROM pgonce.scheduled s
    WHERE s.subscription_id = subscription AND s.id = take_out.id AND s.attempts = expected_attempts
    RETURNING s.created_at, s.payload;
END
$$;

-- Failed: one more attempt counted, due again after the delay. False, and nothing changed, if the row is not there with these attempts.
CREATE OR REPLACE FUNCTION pgonce.retry(subscription integer, id bigint, expected_attempts integer, delay_ms bigint, error text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, last_error, payload)
  SELECT subscription, retry.id, clock_timestamp() + delay_ms * interval '1 millisecond', expected_attempts + 1, t.created_at, error, t.payload
    FROM pgonce.take_out(subscription, retry.id, expected_attempts) t;
  RETURN FOUND;
END
$$;

-- Failed for the last time, or not to be read: kept with its reason until someone redrives or discards it. False as for retry.
CREATE OR REPLACE FUNCTION pgonce.bury(subscription integer, id bigint, expected_attempts integer, reason text, error text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload)
  SELECT subscription, bury.id, expected_attempts + 1, t.created_at, bury.reason, bury.error, t.payload
    FROM pgonce.take_out(subscription, bury.id, expected_attempts) t;
  RETURN FOUND;
END
$$;

INSERT INTO pgonce.schema_version (version) VALUES (3) ON CONFLICT DO NOTHING;

RESET ROLE;
