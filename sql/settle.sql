-- Settle. schedule makes a notification due again: failed, given back, put back, postponed, or leased as a suspect. bury makes it a dead letter. What
-- was handled is deleted by a statement of the library (settle/Deletion.java). When an attempt is counted: claim/Claim.java.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Fails a deletion that did not find what was claimed, on the server, where a commit may follow. The statement itself calls it, so that it costs
-- nothing otherwise.
CREATE OR REPLACE FUNCTION pgonce.not_there(claimed bigint, deleted bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION 'pgonce: of % that were claimed % could be deleted', claimed, deleted USING ERRCODE = 'PO001';
END
$$;

-- Removes a row from its table, unless an attempt was counted or a lease taken since. A failure may be recorded after its claim was lost; then the
-- claim that took the row decides. Waits for a lock that another claim holds; the caller bounds that with lock_timeout.
CREATE OR REPLACE FUNCTION pgonce_private.take_out(subscription integer, id bigint, expected_attempts integer, expected_token uuid)
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

-- Makes the row due again after the delay: failed, with one attempt more, or leased, if it has a token. False, and nothing changed, if the row is not
-- there as expected.
-- begun: null if its handler has not begun; else the reason for which it becomes a dead letter if the channel is AT_MOST_ONCE by now, whatever the
-- caller knows; then the result is false too.
-- Where this counts an attempt that is about to begin, the row gets a permit of its key: for its lease, or until the next transaction claims it, for
-- a second at most.
CREATE OR REPLACE FUNCTION pgonce.schedule(
  subscription integer, id bigint, expected_attempts integer, expected_token uuid, attempts integer, token uuid, delay_ms bigint, error text,
  begun text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  channel pgonce.channel; -- null if it, or the subscription, was dropped
BEGIN
  IF begun IS NOT NULL THEN
    -- A change of mode waits for this transaction, or this one for the change, and reads the new mode behind it.
    PERFORM pg_advisory_xact_lock_shared(pgonce_private.mode_lock(), subscription);
  END IF;
  SELECT c.* INTO channel FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = subscription;
  IF begun IS NOT NULL AND channel.mode = 'AT_MOST_ONCE' THEN
    PERFORM pgonce.bury(subscription, schedule.id, expected_attempts, expected_token,
                        greatest(CASE WHEN token IS NULL THEN schedule.attempts END, expected_attempts, 1), begun,
                        coalesce(error, 'its handler had begun, and its listener gave it up, when the channel was AT_MOST_ONCE already'));
    PERFORM pgonce.wake_up(channel.name, 'due'); -- rows of its order key may have waited for it
    RETURN false;
  END IF;
  INSERT INTO pgonce.scheduled
    (subscription_id, id, due_at, attempts, created_at, last_error, payload, delivery_key, order_key, context, stamp, token)
  SELECT t.subscription_id, t.id, clock_timestamp() + delay_ms * interval '1 millisecond', schedule.attempts, t.created_at,
         coalesce(error, t.last_error), t.payload, t.delivery_key, t.order_key, t.context, t.stamp, schedule.token
    FROM pgonce_private.take_out(subscription, schedule.id, expected_attempts, expected_token) t;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF begun IS NOT NULL AND attempts = 0 THEN
    -- Nothing else tells that its handler has begun. The lock's mark does, should the channel become AT_MOST_ONCE: see change_mode, and lease. So
    -- EXACTLY_ONCE counts its next attempt ahead, as that of any row that was held and given back.
    PERFORM FROM pgonce.scheduled s WHERE s.subscription_id = subscription AND s.id = schedule.id FOR UPDATE;
  END IF;
  IF channel.max_per_key IS NOT NULL AND token IS NOT NULL AND attempts > expected_attempts THEN -- this transaction has taken a permit before
    UPDATE pgonce.scheduled s SET key_permit = pgonce_private.take_key_permit(subscription, s.order_key, channel.max_per_key, s.id),
           key_permit_until = clock_timestamp()
             + CASE WHEN channel.mode = 'EXACTLY_ONCE' THEN least(delay_ms, 1000) ELSE delay_ms END * interval '1 millisecond'
     WHERE s.subscription_id = subscription AND s.id = schedule.id AND s.order_key <> chr(1) || s.id;
  END IF;
  IF delay_ms <= 0 THEN -- given back by a listener that has no use for it: another one may
    PERFORM pgonce.wake_up(channel.name, 'due') WHERE channel.id IS NOT NULL;
  ELSIF token IS NULL AND attempts <= expected_attempts - (expected_token IS NOT NULL)::integer THEN -- put back for listeners that can read it
    PERFORM pgonce.wake_up(channel.name, 'later') WHERE channel.id IS NOT NULL;
  END IF;
  RETURN true;
END
$$;

-- Failed for the last time, or not readable: kept with its reason until an operator redrives or discards it. False as for schedule.
CREATE OR REPLACE FUNCTION pgonce.bury(
  subscription integer, id bigint, expected_attempts integer, expected_token uuid, attempts integer, reason text, error text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, delivery_key, order_key, context, stamp)
  SELECT t.subscription_id, t.id, bury.attempts, t.created_at, bury.reason, coalesce(bury.error, t.last_error, 'nothing is known of why'), t.payload, t.delivery_key, t.order_key, t.context, t.stamp
    FROM pgonce_private.take_out(subscription, bury.id, expected_attempts, expected_token) t;
  RETURN FOUND;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
