-- What an operator does: pause and resume, cancel, retry now, redrive and discard, peek.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- The program of the session and its address, as far as they are known.
CREATE OR REPLACE FUNCTION pgonce_private.program() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT nullif(concat_ws(' from ', nullif(current_setting('application_name'), ''), host(inet_client_addr())), '') $$;

-- The operator's name: from the session or transaction (SET pgonce.operator = 'Anna'), or the login role with its program.
CREATE OR REPLACE FUNCTION pgonce_private.operator_name() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT coalesce(nullif(current_setting('pgonce.operator', true), ''), concat_ws(', ', session_user, pgonce_private.program())) $$;

-- Records an operation that changed something, in its own transaction. Each record deletes some that are older than a year, so the table needs no
-- other care.
CREATE OR REPLACE FUNCTION pgonce_private.record_operation(
  what text, channel_name text, subscription_name text, reason text, concerned bigint, detail text DEFAULT NULL)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  DELETE FROM pgonce.operation o WHERE o.id = ANY (ARRAY(
    SELECT p.id FROM pgonce.operation p WHERE p.at < clock_timestamp() - interval '1 year' ORDER BY p.at LIMIT 1000 FOR UPDATE SKIP LOCKED));
  INSERT INTO pgonce.operation (what, channel, subscription, operator, reason, concerned, detail)
  VALUES (what, channel_name, subscription_name, coalesce(nullif(current_setting('pgonce.operator', true), ''), pgonce_private.program()), reason, concerned, detail);
$$;

-- The ids of a channel's subscriptions: the named one, or all. An error if there is none.
CREATE OR REPLACE FUNCTION pgonce_private.subscriptions_of(channel_name text, subscription_name text) RETURNS integer[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  ids integer[];
BEGIN
  SELECT array_agg(s.id ORDER BY s.id) INTO ids FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
   WHERE c.name = channel_name AND (subscription_name IS NULL OR s.name = subscription_name);
  IF ids IS NULL THEN
    IF EXISTS (SELECT FROM pgonce.channel c WHERE c.name = channel_name AND NOT EXISTS (SELECT FROM pgonce.subscription s WHERE s.channel_id = c.id)) THEN
      RAISE EXCEPTION 'pgonce: channel "%" of database "%" has no subscription any more, so nothing that is published to it is stored: install it again, with one (PgOnce.install), or drop it (pgonce.drop_channel)',
        channel_name, current_database() USING ERRCODE = 'undefined_object';
    END IF;
    RAISE EXCEPTION 'pgonce: channel "%" is not installed in database "%"%: look for its name in pgonce.channel_status',
      channel_name, current_database(), coalesce(' with a subscription "' || subscription_name || '"', '') USING ERRCODE = 'undefined_object';
  END IF;
  RETURN ids;
END
$$;

-- Takes dead letters of a channel (or of one of its subscriptions) out: those that fit all that is given, or all.
CREATE OR REPLACE FUNCTION pgonce_private.take_dead_letters(
  channel_name text, ids bigint[], subscription_name text, died_of text, error_like text, died_from timestamptz, died_before timestamptz)
RETURNS SETOF pgonce.dead_letter
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  concerned constant integer[] := pgonce_private.subscriptions_of(channel_name, subscription_name);
BEGIN
  IF died_of NOT IN ('ATTEMPTS_USED_UP', 'UNREADABLE', 'REJECTED', 'OUTCOME_UNKNOWN', 'TOO_DEEP', 'NOT_STORABLE') THEN
    RAISE EXCEPTION 'pgonce: no dead letter of channel "%" has the reason "%": it is ATTEMPTS_USED_UP, UNREADABLE, REJECTED, OUTCOME_UNKNOWN, TOO_DEEP or NOT_STORABLE',
      channel_name, died_of USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN QUERY DELETE FROM pgonce.dead_letter l
     WHERE l.subscription_id = ANY (concerned) AND (ids IS NULL OR l.id = ANY (ids)) AND (died_of IS NULL OR l.reason = died_of)
       AND (error_like IS NULL OR l.error LIKE error_like)
       AND (died_from IS NULL OR l.died_at >= died_from) AND (died_before IS NULL OR l.died_at < died_before)
    RETURNING l.*;
END
$$;

-- For the operation log: which dead letters were asked for, beside their ids. Null: all.
CREATE OR REPLACE FUNCTION pgonce_private.dead_letter_filter(died_of text, error_like text, died_from timestamptz, died_before timestamptz) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT nullif(concat_ws(', ', 'died of ' || died_of, 'error like ' || quote_literal(error_like), 'died from ' || died_from, 'died before ' || died_before), '') $$;

-- Makes dead letters of a channel (or of one of its subscriptions) due again: attempts counted from zero, under the same id. Returns how many rows: a
-- notification has one id, and each subscription that gave it up has a dead letter of its own. reason: why the caller does it. All that is given must
-- fit: died_of is the dead letter's reason, error_like a pattern as of LIKE, and it died at died_from or later, and before died_before.
CREATE OR REPLACE FUNCTION pgonce.redrive(
  channel_name text, ids bigint[] DEFAULT NULL, reason text DEFAULT NULL, subscription_name text DEFAULT NULL,
  died_of text DEFAULT NULL, error_like text DEFAULT NULL, died_from timestamptz DEFAULT NULL, died_before timestamptz DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  redriven bigint;
BEGIN
  INSERT INTO pgonce.scheduled
    (subscription_id, id, due_at, attempts, created_at, last_error, payload, delivery_key, order_key, context, stamp)
  SELECT r.subscription_id, r.id, clock_timestamp(), 0, r.created_at, r.error, r.payload, r.delivery_key, r.order_key, r.context, r.stamp
    FROM pgonce_private.take_dead_letters(channel_name, ids, subscription_name, died_of, error_like, died_from, died_before) r;
  GET DIAGNOSTICS redriven = ROW_COUNT;
  IF redriven > 0 THEN
    PERFORM pgonce_private.record_operation('REDRIVE', channel_name, subscription_name, reason, redriven,
      pgonce_private.dead_letter_filter(died_of, error_like, died_from, died_before));
    PERFORM pgonce.wake_up(channel_name, 'due');
  END IF;
  RETURN redriven;
END
$$;

-- Deletes dead letters of a channel (or of one of its subscriptions) for good: their subscriptions are done with them. Which ones, and how many, as
-- with redrive.
CREATE OR REPLACE FUNCTION pgonce.discard(
  channel_name text, ids bigint[] DEFAULT NULL, reason text DEFAULT NULL, subscription_name text DEFAULT NULL,
  died_of text DEFAULT NULL, error_like text DEFAULT NULL, died_from timestamptz DEFAULT NULL, died_before timestamptz DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  discarded bigint;
  keyed_ids bigint[];
  keys text[];
BEGIN
  SELECT count(*), array_agg(d.id) FILTER (WHERE d.delivery_key IS NOT NULL), array_agg(d.delivery_key) FILTER (WHERE d.delivery_key IS NOT NULL)
    INTO discarded, keyed_ids, keys
    FROM pgonce_private.take_dead_letters(channel_name, ids, subscription_name, died_of, error_like, died_from, died_before) d;
  PERFORM pgonce_private.keys_done_later(c.id, keyed_ids, keys) FROM pgonce.channel c WHERE c.name = channel_name AND keys IS NOT NULL;
  IF discarded > 0 THEN
    PERFORM pgonce.wake_up(channel_name, 'due'); -- rows of their order keys may have waited for them
    PERFORM pgonce_private.record_operation('DISCARD', channel_name, subscription_name, reason, discarded,
      pgonce_private.dead_letter_filter(died_of, error_like, died_from, died_before));
  END IF;
  RETURN discarded;
END
$$;

-- One id for the functions that take many. Null is refused: it would mean all.
CREATE OR REPLACE FUNCTION pgonce_private.only(id bigint) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF id IS NULL THEN
    RAISE EXCEPTION 'pgonce: the id is null: give one, or name what you mean (ids => ..., delivery_keys => ...)' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN ARRAY[id];
END
$$;

CREATE OR REPLACE FUNCTION pgonce.redrive(channel_name text, id bigint, reason text DEFAULT NULL, subscription_name text DEFAULT NULL) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT pgonce.redrive(channel_name, pgonce_private.only(id), reason, subscription_name) $$;

CREATE OR REPLACE FUNCTION pgonce.discard(channel_name text, id bigint, reason text DEFAULT NULL, subscription_name text DEFAULT NULL) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT pgonce.discard(channel_name, pgonce_private.only(id), reason, subscription_name) $$;

-- Makes rows of a channel (or of one of its subscriptions) due now that wait for their time: scheduled ones, and retries that wait out their backoff.
-- Those that are held by a lock or a lease, due already, or not there are passed over. So is every row with a token, whatever the mode: it may be a lease
-- from before a change of mode, or an attempt of EXACTLY_ONCE that was counted and is about to begin. Returns how many rows: each subscription has its own.
CREATE OR REPLACE FUNCTION pgonce.retry_now(channel_name text, ids bigint[], reason text DEFAULT NULL, subscription_name text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  concerned constant integer[] := pgonce_private.subscriptions_of(channel_name, subscription_name);
  now constant timestamptz := clock_timestamp();
  hastened bigint;
BEGIN
  IF ids IS NULL THEN
    RAISE EXCEPTION 'pgonce: what of channel "%" is to be tried now? Give ids (pgonce.retry_status and pgonce.peek list them)', channel_name
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  WITH free AS MATERIALIZED (
    SELECT d.subscription_id, d.id FROM pgonce.scheduled d
     WHERE d.subscription_id = ANY (concerned) AND d.id = ANY (ids) AND d.due_at > now AND d.token IS NULL
       FOR UPDATE SKIP LOCKED
  ), taken AS (
    -- Inserted anew: an update would hand the lock's mark on to the new row, which would be a suspect.
    DELETE FROM pgonce.scheduled d USING free f WHERE d.subscription_id = f.subscription_id AND d.id = f.id RETURNING d.*
  )
  INSERT INTO pgonce.scheduled
    (subscription_id, id, due_at, attempts, created_at, last_error, payload, delivery_key, order_key, context, stamp)
  SELECT t.subscription_id, t.id, now, t.attempts, t.created_at, t.last_error, t.payload, t.delivery_key, t.order_key, t.context, t.stamp FROM taken t;
  GET DIAGNOSTICS hastened = ROW_COUNT;
  IF hastened > 0 THEN
    PERFORM pgonce_private.record_operation('RETRY_NOW', channel_name, subscription_name, reason, hastened);
    PERFORM pgonce.wake_up(channel_name, 'due');
  END IF;
  RETURN hastened;
END
$$;

CREATE OR REPLACE FUNCTION pgonce.retry_now(channel_name text, id bigint, reason text DEFAULT NULL, subscription_name text DEFAULT NULL) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT pgonce.retry_now(channel_name, pgonce_private.only(id), reason, subscription_name) $$;

-- From its commit on nothing of the channel (or of one of its subscriptions) is claimed. Running handlers finish, and what is stored waits. A wake-up
-- tells the listeners; one that is disconnected learns it from its next poll. A subscription that is paused already keeps its time, operator and
-- reason. Returns how many subscriptions it has paused.
CREATE OR REPLACE FUNCTION pgonce.pause(channel_name text, reason text, subscription_name text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  concerned constant integer[] := pgonce_private.subscriptions_of(channel_name, subscription_name);
  paused bigint;
BEGIN
  IF coalesce(btrim(reason), '') = '' THEN
    RAISE EXCEPTION 'pgonce: channel "%" is not paused without a reason, which whoever finds it so will look for: say why', channel_name
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF EXISTS (SELECT FROM pgonce.channel c WHERE c.name = channel_name AND c.mode = 'BROADCAST') THEN
    RAISE EXCEPTION 'pgonce: channel "%" cannot be paused: it is a BROADCAST, which stores nothing, so nothing of it could wait; stop its listeners instead',
      channel_name USING ERRCODE = 'PO003';
  END IF;
  -- In one order: two that pause at once must not wait for each other.
  UPDATE pgonce.subscription u SET paused_at = clock_timestamp(), paused_by = pgonce_private.operator_name(), pause_reason = reason
   WHERE u.id = ANY (ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.id = ANY (concerned) AND s.paused_at IS NULL AND s.of_channel IS NOT NULL ORDER BY s.id FOR NO KEY UPDATE));
  GET DIAGNOSTICS paused = ROW_COUNT;
  IF paused > 0 THEN
    PERFORM pgonce_private.record_operation('PAUSE', channel_name, subscription_name, reason, paused);
  END IF;
  PERFORM pgonce.wake_up(channel_name, 'pause');
  RETURN paused;
END
$$;

-- Ends a pause: work goes on with what has waited. Returns how many subscriptions were paused.
CREATE OR REPLACE FUNCTION pgonce.resume(channel_name text, reason text, subscription_name text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  concerned constant integer[] := pgonce_private.subscriptions_of(channel_name, subscription_name);
  resumed bigint;
BEGIN
  UPDATE pgonce.subscription u SET paused_at = NULL, paused_by = NULL, pause_reason = NULL
   WHERE u.id = ANY (ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.id = ANY (concerned) AND s.paused_at IS NOT NULL ORDER BY s.id FOR NO KEY UPDATE));
  GET DIAGNOSTICS resumed = ROW_COUNT;
  IF resumed > 0 THEN
    PERFORM pgonce_private.record_operation('RESUME', channel_name, subscription_name, reason, resumed);
  END IF;
  PERFORM pgonce.wake_up(channel_name, 'resume') WHERE EXISTS (SELECT FROM pgonce.channel c WHERE c.name = channel_name AND c.mode <> 'BROADCAST');
  RETURN resumed;
END
$$;

-- Deletes waiting rows and returns them: all but those that are held by a lock or a lease.
CREATE OR REPLACE FUNCTION pgonce_private.take_waiting(subscriptions integer[], ids bigint[])
RETURNS TABLE (subscription_id integer, id bigint, delivery_key text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  -- New rows first: a row that is scheduled meanwhile is found by the second statement.
  RETURN QUERY
    WITH free AS MATERIALIZED (
      SELECT n.subscription_id, n.id FROM pgonce.notification n
       WHERE n.subscription_id = ANY (subscriptions) AND n.id = ANY (ids) FOR UPDATE SKIP LOCKED)
    DELETE FROM pgonce.notification n USING free f WHERE n.subscription_id = f.subscription_id AND n.id = f.id
    RETURNING n.subscription_id, n.id, n.delivery_key;
  RETURN QUERY
    WITH free AS MATERIALIZED (
      SELECT d.subscription_id, d.id FROM pgonce.scheduled d
       WHERE d.subscription_id = ANY (subscriptions) AND d.id = ANY (ids)
         AND NOT pgonce_private.is_left_to_its_handler(d)
         FOR UPDATE SKIP LOCKED)
    DELETE FROM pgonce.scheduled d USING free f WHERE d.subscription_id = f.subscription_id AND d.id = f.id
    RETURNING d.subscription_id, d.id, d.delivery_key;
END
$$;

-- Deletes what waits under the given ids or delivery keys, due or not. Rows that are being handled are left alone and counted: they may end well, or
-- fail and wait again. Counts rows: each subscription has its own. For dead letters there is discard.
CREATE OR REPLACE FUNCTION pgonce.cancel(
  channel_name text, ids bigint[] DEFAULT NULL, delivery_keys text[] DEFAULT NULL, reason text DEFAULT NULL, subscription_name text DEFAULT NULL)
RETURNS TABLE (cancelled bigint, being_handled bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  concerned constant integer[] := pgonce_private.subscriptions_of(channel_name, subscription_name);
  wanted constant bigint[] := coalesce(ids, '{}') || ARRAY(
    SELECT k.id FROM pgonce.delivery_key k JOIN pgonce.channel c ON c.id = k.channel_id WHERE c.name = channel_name AND k.key = ANY (delivery_keys));
  keyed_ids bigint[];
  keys text[];
BEGIN
  IF ids IS NULL AND delivery_keys IS NULL THEN
    RAISE EXCEPTION 'pgonce: what of channel "%" is to be cancelled? Give ids or delivery keys (pgonce.peek lists them)', channel_name
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT count(*), array_agg(t.id) FILTER (WHERE t.delivery_key IS NOT NULL), array_agg(t.delivery_key) FILTER (WHERE t.delivery_key IS NOT NULL)
    INTO cancelled, keyed_ids, keys FROM pgonce_private.take_waiting(concerned, wanted) t;
  PERFORM pgonce_private.keys_done_later(c.id, keyed_ids, keys) FROM pgonce.channel c WHERE c.name = channel_name AND keys IS NOT NULL;
  being_handled := (SELECT count(*) FROM pgonce.notification n WHERE n.subscription_id = ANY (concerned) AND n.id = ANY (wanted))
                 + (SELECT count(*) FROM pgonce.scheduled d WHERE d.subscription_id = ANY (concerned) AND d.id = ANY (wanted));
  IF cancelled > 0 THEN
    PERFORM pgonce.wake_up(channel_name, 'due'); -- rows of their order keys may have waited for them
    PERFORM pgonce_private.record_operation('CANCEL', channel_name, subscription_name, reason, cancelled,
      CASE WHEN being_handled > 0 THEN being_handled || ' more were being handled' END);
  END IF;
  RETURN NEXT;
END
$$;

-- How many rows retry_now and cancel would touch now, for a dry run. They take no lock: one that is given back leaves a mark in the row, by which a
-- claim takes it for a suspect. What is held when it is done is passed over then, so these are estimates.
CREATE OR REPLACE FUNCTION pgonce.would_retry_now(channel_name text, ids bigint[], subscription_name text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  concerned constant integer[] := pgonce_private.subscriptions_of(channel_name, subscription_name);
BEGIN
  RETURN (SELECT count(*) FROM pgonce.scheduled d
           WHERE d.subscription_id = ANY (concerned) AND d.id = ANY (ids) AND d.due_at > clock_timestamp() AND d.token IS NULL);
END
$$;

CREATE OR REPLACE FUNCTION pgonce.would_cancel(
  channel_name text, ids bigint[], delivery_keys text[] DEFAULT NULL, subscription_name text DEFAULT NULL, OUT cancelled bigint, OUT being_handled bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  concerned constant integer[] := pgonce_private.subscriptions_of(channel_name, subscription_name);
  wanted constant bigint[] := coalesce(ids, '{}') || ARRAY(
    SELECT k.id FROM pgonce.delivery_key k JOIN pgonce.channel c ON c.id = k.channel_id WHERE c.name = channel_name AND k.key = ANY (delivery_keys));
BEGIN
  WITH present AS (
    SELECT n.subscription_id, n.id, false AS begun FROM pgonce.notification n WHERE n.subscription_id = ANY (concerned) AND n.id = ANY (wanted)
    UNION ALL
    SELECT d.subscription_id, d.id, pgonce_private.is_left_to_its_handler(d) FROM pgonce.scheduled d
     WHERE d.subscription_id = ANY (concerned) AND d.id = ANY (wanted)
  ), held AS (
    SELECT h.subscription_id, h.id FROM unnest(concerned) AS s (id) CROSS JOIN LATERAL pgonce.held(s.id) h
  )
  SELECT count(*) FILTER (WHERE h.id IS NULL AND NOT p.begun), count(*) FILTER (WHERE h.id IS NOT NULL OR p.begun) INTO cancelled, being_handled
    FROM present p LEFT JOIN held h ON h.subscription_id = p.subscription_id AND h.id = p.id;
END
$$;

CREATE OR REPLACE FUNCTION pgonce.cancel(
  channel_name text, id bigint, reason text DEFAULT NULL, subscription_name text DEFAULT NULL, OUT cancelled bigint, OUT being_handled bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT c.cancelled, c.being_handled FROM pgonce.cancel(channel_name, pgonce_private.only(id), NULL::text[], reason, subscription_name) c
$$;

-- What waits, oldest first, due or not, being handled or not. The payload only on request, and for a role that may read the table: it may be secret.
CREATE OR REPLACE FUNCTION pgonce.peek(
  channel_name text, most integer DEFAULT 100, subscription_name text DEFAULT NULL, with_payload boolean DEFAULT false)
RETURNS TABLE (subscription text, id bigint, attempts integer, due_at timestamptz, created_at timestamptz, last_error text,
               delivery_key text, order_key text, context jsonb, version integer, payload json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF with_payload AND NOT has_table_privilege(pgonce_private.caller(), 'pgonce.notification', 'SELECT') THEN
    RAISE EXCEPTION 'pgonce: role "%" may not see payloads of channel "%", which may be secret: leave with_payload out, or GRANT it pgonce_admin',
      pgonce_private.caller(), channel_name USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN QUERY
    SELECT s.name, w.* FROM pgonce.subscription s
     CROSS JOIN LATERAL (
       (SELECT n.id, 0, n.created_at AS due_at, n.created_at, NULL::text, n.delivery_key, CASE WHEN n.order_key NOT LIKE chr(1) || '%' THEN n.order_key END, n.context,
               (coalesce(n.stamp, 0) >> 16) + 1, CASE WHEN with_payload THEN n.payload END
          FROM pgonce.notification n WHERE n.subscription_id = s.id ORDER BY n.id LIMIT most)
       UNION ALL
       (SELECT d.id, d.attempts, d.due_at, d.created_at, d.last_error, d.delivery_key, CASE WHEN d.order_key NOT LIKE chr(1) || '%' THEN d.order_key END, d.context,
               (coalesce(d.stamp, 0) >> 16) + 1, CASE WHEN with_payload THEN d.payload END
          FROM pgonce.scheduled d WHERE d.subscription_id = s.id ORDER BY d.id LIMIT most)) w
     WHERE s.id = ANY (pgonce_private.subscriptions_of(channel_name, subscription_name))
     ORDER BY w.id, s.name LIMIT most;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
