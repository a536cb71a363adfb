-- Installing channels, and what the person on call does and sees.

-- See V001.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Who does it, for people: what the session or transaction says of itself (SET pgonce.operator = 'Anna'), or its login role.
CREATE OR REPLACE FUNCTION pgonce.operator_name() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT coalesce(nullif(current_setting('pgonce.operator', true), ''), session_user) $$;

-- Remembers an operation that changed something, in its own transaction. What is older than a year goes, some with each new one: so the table
-- is no larger than what was done in a year, and nobody else has to look after it.
CREATE OR REPLACE FUNCTION pgonce.record_operation(
  what text, channel_name text, subscription_name text, reason text, concerned bigint, detail text DEFAULT NULL)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  DELETE FROM pgonce.operation o WHERE o.id = ANY (ARRAY(
    SELECT p.id FROM pgonce.operation p WHERE p.at < clock_timestamp() - interval '1 year' ORDER BY p.at LIMIT 1000 FOR UPDATE SKIP LOCKED));
  INSERT INTO pgonce.operation (what, channel, subscription, operator, reason, concerned, detail)
  VALUES (what, channel_name, subscription_name, nullif(current_setting('pgonce.operator', true), ''), reason, concerned, detail);
$$;

-- The ids of a channel's subscriptions: the named one, or all. An error if there is none.
CREATE OR REPLACE FUNCTION pgonce.subscriptions_of(channel_name text, subscription_name text) RETURNS integer[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  ids integer[];
BEGIN
  SELECT array_agg(s.id ORDER BY s.id) INTO ids FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
   WHERE c.name = channel_name AND (subscription_name IS NULL OR s.name = subscription_name);
  IF ids IS NULL THEN
    RAISE EXCEPTION 'pgonce: channel "%" is not installed in database "%"%: look for its name in pgonce.channel_status',
      channel_name, current_database(), coalesce(' with a subscription "' || subscription_name || '"', '') USING ERRCODE = 'undefined_object';
  END IF;
  RETURN ids;
END
$$;

-- Makes the channel exist as defined. Idempotent. A mode or feed that differs from the installed one is refused, because rows stored under the
-- old one may still wait: change_mode and drop_channel say what becomes of them. What else differs is changed, and listeners that were made for
-- what was installed before handle nothing of the channel from then on: they hear of it at once, or learn it from their scan. subscriptions is an object: name to filter, or to
-- null. A subscription gets what is stored from its installation on; those that are not named stay as they are (drop_subscription). max_rate,
-- max_per_key and wake_ups: see pgonce.channel.
CREATE OR REPLACE FUNCTION pgonce.install_channel(
  channel_name text, mode text, feed text, subscriptions jsonb DEFAULT '{"default": null}',
  key_memory interval DEFAULT '0', key_order text DEFAULT 'NONE', max_depth integer DEFAULT 100, max_rate integer DEFAULT NULL,
  max_per_key integer DEFAULT NULL, wake_ups text DEFAULT 'GATED')
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  channel pgonce.channel;
  is_new boolean;
  changed boolean;
  subscribed bigint;
  unfit text;
  contradiction text;
BEGIN
  -- The bounds of pgonce.channel, and of Java, in words.
  SELECT string_agg(format('%s %s (it is %s)', s.name, coalesce(s.given, 'null'), s.bounds), ', ') INTO unfit
    FROM (VALUES ('key_memory', key_memory::text, key_memory BETWEEN interval '0' AND interval '87600 hours', '0 to 3650 days'),
                 ('max_depth', max_depth::text, max_depth BETWEEN 1 AND 10000, '1 to 10000'),
                 ('max_rate', max_rate::text, max_rate IS NULL OR max_rate BETWEEN 1 AND 1000000, '1 to 1000000, or null for none'),
                 ('max_per_key', max_per_key::text, max_per_key IS NULL OR max_per_key BETWEEN 1 AND 100, '1 to 100, or null for none'))
      AS s (name, given, fits, bounds)
   WHERE s.fits IS NOT TRUE;
  IF unfit IS NOT NULL THEN
    RAISE EXCEPTION 'pgonce: channel "%" was not installed, a setting is out of its bounds: %; give one within them', channel_name, unfit
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF max_per_key IS NOT NULL AND mode = 'BROADCAST' THEN
    RAISE EXCEPTION 'pgonce: channel "%" cannot have a limit per key: it is a BROADCAST, which stores nothing; leave max_per_key out, or take another mode',
      channel_name USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF max_per_key IS NOT NULL AND key_order <> 'NONE' THEN
    RAISE EXCEPTION 'pgonce: channel "%" cannot have a limit per key beside its order, by which one notification of a key is handled at a time: leave max_per_key out, or key_order',
      channel_name USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- In hours: a day of a session's zone may have 23.
  key_memory := extract(epoch FROM key_memory) * interval '1 second';
  LOOP
    INSERT INTO pgonce.channel (name, mode, feed, key_memory, key_order, max_depth, max_rate, max_per_key, wake_ups)
    VALUES (channel_name, install_channel.mode, install_channel.feed, install_channel.key_memory, install_channel.key_order, install_channel.max_depth,
            install_channel.max_rate, install_channel.max_per_key, install_channel.wake_ups)
    ON CONFLICT (name) DO NOTHING;
    is_new := FOUND;
    -- Nobody drops it, or changes its mode, before this transaction ends; who has just dropped it leaves nothing to be found. Two installations come one
    -- after the other, as they would at its subscriptions.
    SELECT c.* INTO channel FROM pgonce.channel c WHERE c.name = channel_name FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
  END LOOP;
  IF channel.feed <> install_channel.feed THEN
    RAISE EXCEPTION 'pgonce: channel "%" is installed with feed "%", not "%": give one of the two another name, or drop the old one with: SELECT pgonce.drop_channel(%);',
      channel_name, channel.feed, install_channel.feed, quote_literal(channel_name) USING ERRCODE = 'PO003';
  END IF;
  IF channel.mode <> install_channel.mode THEN
    RAISE EXCEPTION 'pgonce: channel "%" is installed with mode %, not %: migrate it with: SELECT pgonce.change_mode(%, %); then install again',
      channel_name, channel.mode, install_channel.mode, quote_literal(channel_name), quote_literal(install_channel.mode) USING ERRCODE = 'PO003';
  END IF;
  UPDATE pgonce.channel c SET key_memory = install_channel.key_memory, key_order = install_channel.key_order, max_depth = install_channel.max_depth,
         max_rate = install_channel.max_rate, max_per_key = install_channel.max_per_key, wake_ups = install_channel.wake_ups
   WHERE c.id = channel.id
     AND (c.key_memory, c.key_order, c.max_depth, c.max_rate, c.max_per_key, c.wake_ups) IS DISTINCT FROM
         (install_channel.key_memory, install_channel.key_order, install_channel.max_depth, install_channel.max_rate, install_channel.max_per_key, install_channel.wake_ups);
  changed := is_new OR FOUND;
  -- In one order, as pause does.
  PERFORM FROM pgonce.subscription s WHERE s.channel_id = channel.id AND s.name IN (SELECT jsonb_object_keys(subscriptions)) ORDER BY s.id FOR NO KEY UPDATE;
  INSERT INTO pgonce.subscription (channel_id, of_channel, name, filter)
  SELECT channel.id, CASE WHEN channel.mode <> 'BROADCAST' THEN channel.name END, u.key, nullif(u.value, 'null') FROM jsonb_each(subscriptions) AS u (key, value)
  ON CONFLICT (channel_id, name) DO UPDATE SET filter = excluded.filter, of_channel = excluded.of_channel
   WHERE (subscription.filter, subscription.of_channel) IS DISTINCT FROM (excluded.filter, excluded.of_channel);
  GET DIAGNOSTICS subscribed = ROW_COUNT;
  contradiction := pgonce.deferred_with_filter(channel_name, false);
  IF contradiction IS NOT NULL THEN
    RAISE EXCEPTION 'pgonce: %', contradiction USING ERRCODE = 'PO003';
  END IF;
  IF is_new AND mode <> 'BROADCAST' AND pgonce.gate_of(channel_name) IS NULL THEN
    PERFORM pgonce.make_gate(channel_name, CASE wake_ups WHEN 'NEVER' THEN 9223372036854775807 WHEN 'ALWAYS' THEN 0 ELSE 9223372036854775806 END);
  END IF;
  IF changed OR subscribed > 0 THEN
    PERFORM pgonce.record_operation('INSTALL', channel_name, NULL, NULL, subscribed,
      format('mode %s, feed %s, subscriptions %s, key memory %s, key order %s, maximum depth %s, maximum rate %s, maximum per key %s, wake-ups %s',
        install_channel.mode, install_channel.feed, subscriptions, install_channel.key_memory, install_channel.key_order, install_channel.max_depth,
        coalesce(install_channel.max_rate::text, 'none'), coalesce(install_channel.max_per_key::text, 'none'), install_channel.wake_ups));
    IF NOT is_new THEN -- who listens to it looks whether it is still what he was made for
      PERFORM pgonce.wake_up(channel_name, 'definition');
    END IF;
  END IF;
  RETURN channel.id;
END
$$;

-- Changes what a channel promises. What waits in it must have been handled, redriven or dropped before it stops being stored. Listeners that were
-- made for the old mode learn it as install_channel says. Until then they may claim under EXACTLY_ONCE, and lease nothing any more. Triggers whose
-- functions were made for a mode that stores find nobody to store for as soon as it is BROADCAST.
CREATE OR REPLACE FUNCTION pgonce.change_mode(channel_name text, new_mode text, reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  old_mode text;
  waiting bigint;
BEGIN
  -- Whatever may have to be waited for comes first, before anybody has to wait for this: who pauses, or drops a subscription, may take long.
  SELECT c.mode INTO old_mode FROM pgonce.channel c WHERE c.name = channel_name FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'pgonce: channel "%" is not installed: look for its name in pgonce.channel', channel_name USING ERRCODE = 'undefined_object';
  ELSIF old_mode = new_mode THEN
    RETURN; -- before anybody has to wait for nothing
  END IF;
  PERFORM FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE c.name = channel_name ORDER BY s.id FOR NO KEY UPDATE OF s;
  -- Nobody is leasing anything from then on; who comes meanwhile does without.
  PERFORM pg_advisory_xact_lock(pgonce.mode_lock(), o.id) FROM (
    SELECT s.id FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id WHERE c.name = channel_name AND c.mode <> new_mode ORDER BY s.id) o;
  IF new_mode = 'BROADCAST' THEN
    PERFORM pgonce.hold_writers('change the mode of channel "' || channel_name || '"');
    SELECT count(*) INTO waiting FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
      JOIN (SELECT n.subscription_id FROM pgonce.notification n
            UNION ALL SELECT d.subscription_id FROM pgonce.scheduled d
            UNION ALL SELECT l.subscription_id FROM pgonce.dead_letter l) w ON w.subscription_id = s.id
     WHERE c.name = channel_name;
    IF waiting > 0 THEN
      RAISE EXCEPTION 'pgonce: channel "%" still holds % notifications, dead letters among them, which BROADCAST would never deliver: let its listeners drain it first, and redrive or discard the dead letters',
        channel_name, waiting USING ERRCODE = 'PO003';
    END IF;
    IF EXISTS (SELECT FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
                WHERE c.name = channel_name AND s.paused_at IS NOT NULL) THEN
      RAISE EXCEPTION 'pgonce: channel "%" is paused, which BROADCAST cannot be, as nothing of it waits: resume it first', channel_name
        USING ERRCODE = 'PO003';
    END IF;
  END IF;
  -- What has begun under AT_MOST_ONCE never runs again by itself, whatever the channel promises from now on.
  INSERT INTO pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, delivery_key, order_key, context, stamp)
  SELECT t.subscription_id, t.id, t.attempts, t.created_at, 'OUTCOME_UNKNOWN', 'its handler had begun when the channel''s mode was changed',
         t.payload, t.delivery_key, t.order_key, t.context, t.stamp
    FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
    JOIN pgonce.scheduled d ON d.subscription_id = s.id AND d.token IS NOT NULL
   CROSS JOIN LATERAL pgonce.take_out(d.subscription_id, d.id, d.attempts, d.token) t
   WHERE c.name = channel_name AND c.mode = 'AT_MOST_ONCE' AND new_mode <> 'AT_MOST_ONCE';
  -- Nor does what has begun before the channel promises that: what failed, or whose process died, and waits to be run again. What is being handled
  -- may end well; if it does not, it is a dead letter then (pgonce.schedule, and lease, where its holder dies).
  INSERT INTO pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, delivery_key, order_key, context, stamp)
  SELECT t.subscription_id, t.id, greatest(t.attempts, 1), t.created_at, CASE WHEN t.token IS NULL THEN 'ATTEMPTS_USED_UP' ELSE 'OUTCOME_UNKNOWN' END,
         coalesce(t.last_error, 'its handler had begun when the channel''s mode was changed'),
         t.payload, t.delivery_key, t.order_key, t.context, t.stamp
    FROM (SELECT d.subscription_id, d.id, d.attempts, d.token
            FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id JOIN pgonce.scheduled d ON d.subscription_id = s.id
           WHERE c.name = channel_name AND c.mode <> 'AT_MOST_ONCE' AND new_mode = 'AT_MOST_ONCE' AND (d.attempts > 0) = (d.token IS NULL)
             FOR UPDATE OF d SKIP LOCKED) w
   CROSS JOIN LATERAL pgonce.take_out(w.subscription_id, w.id, w.attempts, w.token) t;
  -- What listeners of EXACTLY_ONCE hold, or held and gave back, the rows do not tell but by who locked them: lease looks for that. The hour is for
  -- those that have not heard of the change yet.
  UPDATE pgonce.channel c SET mode = new_mode,
         held_until = CASE WHEN old_mode = 'EXACTLY_ONCE' THEN clock_timestamp() + interval '1 hour' ELSE c.held_until END
   WHERE c.name = channel_name;
  UPDATE pgonce.subscription s SET of_channel = CASE WHEN new_mode <> 'BROADCAST' THEN c.name END
    FROM pgonce.channel c WHERE c.id = s.channel_id AND c.name = channel_name AND (s.of_channel IS NULL) <> (new_mode = 'BROADCAST');
  PERFORM pgonce.record_operation('CHANGE_MODE', channel_name, NULL, reason, 0, old_mode || ' to ' || new_mode);
  PERFORM pgonce.wake_up(channel_name, 'definition');
END
$$;

-- Returns how many rows it deleted.
CREATE OR REPLACE FUNCTION pgonce.empty_subscriptions(channel integer, doomed integer[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  emptied bigint;
  ids bigint[];
  keys text[];
BEGIN
  -- They are done with their delivery keys. As they are deleted and not before: what somebody else discards meanwhile he has counted.
  WITH present AS (
    DELETE FROM pgonce.notification n WHERE n.subscription_id = ANY (doomed) RETURNING n.id, n.delivery_key
  ), later AS (
    DELETE FROM pgonce.scheduled d WHERE d.subscription_id = ANY (doomed) RETURNING d.id, d.delivery_key
  ), dead AS (
    DELETE FROM pgonce.dead_letter l WHERE l.subscription_id = ANY (doomed) RETURNING l.id, l.delivery_key
  )
  SELECT count(*), array_agg(a.id) FILTER (WHERE a.delivery_key IS NOT NULL), array_agg(a.delivery_key) FILTER (WHERE a.delivery_key IS NOT NULL)
    INTO emptied, ids, keys
    FROM (TABLE present UNION ALL TABLE later UNION ALL TABLE dead) AS a;
  IF keys IS NOT NULL THEN
    PERFORM pgonce.keys_done(channel, ids, keys);
  END IF;
  RETURN emptied;
END
$$;

-- Takes dead letters of a channel (or of one of its subscriptions) out: those with the given ids, or all.
CREATE OR REPLACE FUNCTION pgonce.exhume(channel_name text, ids bigint[], subscription_name text) RETURNS SETOF pgonce.dead_letter
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  concerned constant integer[] := pgonce.subscriptions_of(channel_name, subscription_name);
BEGIN
  RETURN QUERY DELETE FROM pgonce.dead_letter l
     WHERE l.subscription_id = ANY (concerned) AND (ids IS NULL OR l.id = ANY (ids))
    RETURNING l.*;
END
$$;

-- Gives dead letters of a channel (or of one of its subscriptions) another life: attempts counted from zero, due now, under the same id. Returns how
-- many: a notification has one id, and each subscription that gave it up a dead letter of its own.
CREATE OR REPLACE FUNCTION pgonce.redrive(
  channel_name text, ids bigint[] DEFAULT NULL, reason text DEFAULT NULL, subscription_name text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  redriven bigint;
BEGIN
  INSERT INTO pgonce.scheduled
    (subscription_id, id, due_at, attempts, created_at, last_error, payload, delivery_key, order_key, context, stamp)
  SELECT r.subscription_id, r.id, clock_timestamp(), 0, r.created_at, r.error, r.payload, r.delivery_key, r.order_key, r.context, r.stamp
    FROM pgonce.exhume(channel_name, ids, subscription_name) r;
  GET DIAGNOSTICS redriven = ROW_COUNT;
  IF redriven > 0 THEN
    PERFORM pgonce.record_operation('REDRIVE', channel_name, subscription_name, reason, redriven);
    PERFORM pgonce.wake_up(channel_name, 'due');
  END IF;
  RETURN redriven;
END
$$;

-- Deletes dead letters of a channel (or of one of its subscriptions) for good: their subscriptions are done with them. Returns how many, as redrive.
CREATE OR REPLACE FUNCTION pgonce.discard(
  channel_name text, ids bigint[] DEFAULT NULL, reason text DEFAULT NULL, subscription_name text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  discarded bigint;
  keyed_ids bigint[];
  keys text[];
BEGIN
  SELECT count(*), array_agg(d.id) FILTER (WHERE d.delivery_key IS NOT NULL), array_agg(d.delivery_key) FILTER (WHERE d.delivery_key IS NOT NULL)
    INTO discarded, keyed_ids, keys FROM pgonce.exhume(channel_name, ids, subscription_name) d;
  PERFORM pgonce.keys_done(c.id, keyed_ids, keys) FROM pgonce.channel c WHERE c.name = channel_name AND keys IS NOT NULL;
  IF discarded > 0 THEN
    PERFORM pgonce.wake_up(channel_name, 'due'); -- others of their order keys may have waited for them
    PERFORM pgonce.record_operation('DISCARD', channel_name, subscription_name, reason, discarded);
  END IF;
  RETURN discarded;
END
$$;

-- From its commit on nothing of the channel (or of one of its subscriptions) is claimed; what is being handled is finished, what is stored waits.
-- Listeners hear of it at once; one that is deaf learns it from its scan. What is paused already stays as it is: since when, by whom and why. Returns
-- how many subscriptions it has paused.
CREATE OR REPLACE FUNCTION pgonce.pause(channel_name text, reason text, subscription_name text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  concerned constant integer[] := pgonce.subscriptions_of(channel_name, subscription_name);
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
  UPDATE pgonce.subscription u SET paused_at = clock_timestamp(), paused_by = pgonce.operator_name(), pause_reason = reason
   WHERE u.id = ANY (ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.id = ANY (concerned) AND s.paused_at IS NULL ORDER BY s.id FOR NO KEY UPDATE));
  GET DIAGNOSTICS paused = ROW_COUNT;
  IF paused > 0 THEN
    PERFORM pgonce.record_operation('PAUSE', channel_name, subscription_name, reason, paused);
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
  concerned constant integer[] := pgonce.subscriptions_of(channel_name, subscription_name);
  resumed bigint;
BEGIN
  UPDATE pgonce.subscription u SET paused_at = NULL, paused_by = NULL, pause_reason = NULL
   WHERE u.id = ANY (ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.id = ANY (concerned) AND s.paused_at IS NOT NULL ORDER BY s.id FOR NO KEY UPDATE));
  GET DIAGNOSTICS resumed = ROW_COUNT;
  IF resumed > 0 THEN
    PERFORM pgonce.record_operation('RESUME', channel_name, subscription_name, reason, resumed);
  END IF;
  PERFORM pgonce.wake_up(channel_name, 'resume');
  RETURN resumed;
END
$$;

-- Takes waiting rows out for good, and returns them: all but those that somebody holds, by a lock or by a lease. EXACTLY_ONCE holds by lock alone: a
-- token is then what an attempt was counted by ahead. Where an AT_MOST_ONCE handler has begun, its outcome may be unknown and must not go unseen:
-- that one becomes a dead letter first.
CREATE OR REPLACE FUNCTION pgonce.take_waiting(subscriptions integer[], ids bigint[])
RETURNS TABLE (subscription_id integer, id bigint, delivery_key text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  -- New rows first: one that is given its due time meanwhile is found there.
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
         AND (d.token IS NULL OR EXISTS (
              SELECT FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
               WHERE s.id = d.subscription_id
                 AND (c.mode = 'EXACTLY_ONCE' OR c.mode = 'AT_LEAST_ONCE' AND d.due_at <= clock_timestamp())))
         FOR UPDATE SKIP LOCKED)
    DELETE FROM pgonce.scheduled d USING free f WHERE d.subscription_id = f.subscription_id AND d.id = f.id
    RETURNING d.subscription_id, d.id, d.delivery_key;
END
$$;

-- Removes what waits under the given ids or delivery keys, due or not, for good. What is being handled at the moment is left alone, and counted:
-- it may end well, or fail and wait again. Counts rows: each subscription has its own. Dead letters are for discard.
CREATE OR REPLACE FUNCTION pgonce.cancel(
  channel_name text, ids bigint[] DEFAULT NULL, delivery_keys text[] DEFAULT NULL, reason text DEFAULT NULL, subscription_name text DEFAULT NULL)
RETURNS TABLE (cancelled bigint, being_handled bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  concerned constant integer[] := pgonce.subscriptions_of(channel_name, subscription_name);
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
    INTO cancelled, keyed_ids, keys FROM pgonce.take_waiting(concerned, wanted) t;
  PERFORM pgonce.keys_done(c.id, keyed_ids, keys) FROM pgonce.channel c WHERE c.name = channel_name AND keys IS NOT NULL;
  being_handled := (SELECT count(*) FROM pgonce.notification n WHERE n.subscription_id = ANY (concerned) AND n.id = ANY (wanted))
                 + (SELECT count(*) FROM pgonce.scheduled d WHERE d.subscription_id = ANY (concerned) AND d.id = ANY (wanted));
  IF cancelled > 0 THEN
    PERFORM pgonce.wake_up(channel_name, 'due'); -- others of their order keys may have waited for them
    PERFORM pgonce.record_operation('CANCEL', channel_name, subscription_name, reason, cancelled,
      CASE WHEN being_handled > 0 THEN being_handled || ' more were being handled' END);
  END IF;
  RETURN NEXT;
END
$$;

-- What waits, oldest first, due or not and handled at the moment or not. The payload only where it is asked for: it may be secret.
CREATE OR REPLACE FUNCTION pgonce.peek(
  channel_name text, most integer DEFAULT 100, subscription_name text DEFAULT NULL, with_payload boolean DEFAULT false)
RETURNS TABLE (subscription text, id bigint, attempts integer, due_at timestamptz, created_at timestamptz, last_error text,
               delivery_key text, order_key text, context jsonb, version integer, payload json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
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
     WHERE s.id = ANY (pgonce.subscriptions_of(channel_name, subscription_name))
     ORDER BY w.id, s.name LIMIT most;
END
$$;

DO $$
BEGIN
  -- Per channel and subscription: what waits, how old it is, what failed, who listens, and whether it is paused.
  IF to_regclass('pgonce.channel_status') IS NULL THEN
    CREATE VIEW pgonce.channel_status AS
    SELECT c.name AS channel, c.mode, c.feed, s.name AS subscription,
           ready.backlog, later.scheduled, later.retrying, later.max_attempts,
           clock_timestamp() - least(ready.oldest, later.oldest_due) AS oldest_age,
           dead.dead_letters,
           (SELECT count(*) FROM pgonce.listener l WHERE s.id = ANY (l.subscriptions) AND clock_timestamp() - l.seen_at <= l.silence) AS listeners,
           s.paused_at AS paused_since, s.paused_by, s.pause_reason, pgonce.gate_state(c.name) AS notify_gate
      FROM pgonce.channel c
      JOIN pgonce.subscription s ON s.channel_id = c.id
      CROSS JOIN LATERAL (
        SELECT count(*) AS backlog, min(n.created_at) AS oldest FROM pgonce.notification n WHERE n.subscription_id = s.id) ready
      CROSS JOIN LATERAL (
        SELECT count(*) AS scheduled, count(*) FILTER (WHERE d.attempts > 0) AS retrying, max(d.attempts) AS max_attempts,
               min(d.due_at) FILTER (WHERE d.due_at <= clock_timestamp()) AS oldest_due
          FROM pgonce.scheduled d WHERE d.subscription_id = s.id) later
      CROSS JOIN LATERAL (
        SELECT count(*) AS dead_letters FROM pgonce.dead_letter l WHERE l.subscription_id = s.id) dead;
  END IF;

  IF to_regclass('pgonce.dead_letter_status') IS NULL THEN
    CREATE VIEW pgonce.dead_letter_status AS
    SELECT c.name AS channel, s.name AS subscription, l.id, l.reason, l.error, l.attempts, l.created_at, l.died_at,
           (coalesce(l.stamp, 0) >> 16) + 1 AS version
      FROM pgonce.dead_letter l JOIN pgonce.subscription s ON s.id = l.subscription_id JOIN pgonce.channel c ON c.id = s.channel_id;
  END IF;

  IF to_regclass('pgonce.retry_status') IS NULL THEN
    CREATE VIEW pgonce.retry_status AS
    SELECT c.name AS channel, s.name AS subscription, d.id, d.attempts, d.due_at, d.last_error, d.created_at,
           (coalesce(d.stamp, 0) >> 16) + 1 AS version
      FROM pgonce.scheduled d JOIN pgonce.subscription s ON s.id = d.subscription_id JOIN pgonce.channel c ON c.id = s.channel_id
     WHERE d.attempts > 0;
  END IF;

  IF to_regclass('pgonce.listener_status') IS NULL THEN
    CREATE VIEW pgonce.listener_status AS
    SELECT l.id, l.instance, l.hears_by, l.role, l.started_at, l.seen_at, clock_timestamp() - l.seen_at <= l.silence AS alive,
           ARRAY(SELECT c.name FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
                  WHERE s.id = ANY (l.subscriptions) ORDER BY c.name) AS channels,
           -- Those whose wake-ups it answers at once, while others wait a moment; none of a broadcast's.
           ARRAY(SELECT c.name FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
                  WHERE s.id = ANY (l.subscriptions) AND c.mode <> 'BROADCAST' AND pgonce.rank(l.id, s.id) = 0 ORDER BY c.name) AS first_for,
           l.backend
      FROM pgonce.listener l;
  END IF;

  IF to_regclass('pgonce.operation_log') IS NULL THEN
    CREATE VIEW pgonce.operation_log AS
    SELECT o.id, o.at, o.what, o.channel, o.subscription, o.role, o.operator, o.reason, o.concerned, o.detail FROM pgonce.operation o;
  END IF;
END
$$;

INSERT INTO pgonce.schema_version (version) VALUES (5) ON CONFLICT DO NOTHING;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
