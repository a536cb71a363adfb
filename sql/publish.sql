-- Publish: stores a notification, and notifies, in the writer's own transaction.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- The wake-up. It says that there may be work and nothing else: any role can LISTEN. The payload is constant, so that PostgreSQL folds the wake-ups
-- of a transaction into one: empty for new rows, "due" for scheduled rows that may be claimed, "later" for rows that are not due yet, "pause",
-- "resume" and "definition" for a poll that reads what has changed. It is neither SECURITY DEFINER nor has settings, so that PostgreSQL inlines it: a
-- trigger per row would pay for a call each time.
CREATE OR REPLACE FUNCTION pgonce.wake_up(channel_name text, kind text DEFAULT '') RETURNS void
LANGUAGE sql
AS $$ SELECT pg_catalog.pg_notify('pgonce_' OPERATOR(pg_catalog.||) channel_name, kind) $$;

-- BROADCAST: the payload travels in the NOTIFY, cut into parts that fit its 7,999 bytes. A transaction's NOTIFYs arrive together and in order, so a
-- part begins with "id/part/parts:", or "id/part/parts/version/depth:" where these are not 1 and 0. The id also keeps PostgreSQL from folding two
-- equal payloads into one.
-- Above 1 MB only the fact is sent (0 parts): the queue is one for the whole server, and a trigger must not fail its writer.
CREATE OR REPLACE FUNCTION pgonce.broadcast(channel_name text, payload text, version integer DEFAULT 1) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  -- In the worst case a character takes 4 bytes: 1,950 of them and the head stay below 7,999.
  part_length constant integer := CASE WHEN octet_length(payload) = length(payload) THEN 7900 ELSE 1950 END;
  too_large   constant boolean := octet_length(payload) > 1048576;
  parts       constant integer := CASE WHEN too_large THEN 0 ELSE greatest(1, ceil(length(payload)::numeric / part_length)::integer) END;
  id          constant bigint  := nextval('pgonce.notification_id');
  depth       constant integer := CASE WHEN current_setting('pgonce.depth', true) <> '' THEN pgonce.current_depth() END;
  -- In SQL_ASCII a character of several bytes counts as several, and half of one breaks the listeners' connections.
  bytes       constant bytea   := CASE WHEN getdatabaseencoding() = 'SQL_ASCII' AND parts > 1 THEN convert_to(payload, 'SQL_ASCII') END;
  mark        constant text    := CASE WHEN version = 1 AND depth IS NULL THEN ':'
                                       ELSE '/' || (coalesce(pgonce.stamp(0, version), 0) >> 16) + 1 || '/' || coalesce(depth, 0) || ':' END;
  before      integer := 0;
  behind      integer;
BEGIN
  IF too_large THEN
    PERFORM pg_notify('pgonce_' || channel_name, id || '/0/0:');
  END IF;
  FOR part IN 1 .. parts LOOP
    behind := part * part_length;
    -- The next part begins with no continuation byte of UTF-8.
    WHILE behind < octet_length(bytes) AND behind > part * part_length - 3 AND get_byte(bytes, behind) & 192 = 128 LOOP
      behind := behind - 1;
    END LOOP;
    PERFORM pg_notify('pgonce_' || channel_name, id || '/' || part || '/' || parts || mark || substr(payload, before + 1, behind - before));
    before := behind;
  END LOOP;
  RETURN id;
END
$$;

CREATE OR REPLACE FUNCTION pgonce_private.find_channel(channel_name text) RETURNS pgonce.channel
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  channel pgonce.channel;
BEGIN
  SELECT c.* INTO channel FROM pgonce.channel c WHERE c.name = channel_name;
  IF NOT FOUND THEN
    -- The message says what to do, and not a hint, here and elsewhere: pgjdbc-ng 0.8.9 drops hints.
    RAISE EXCEPTION 'pgonce: channel "%" is not installed in database "%": install it (PgOnce.install, or its printed migration) before anything is published to it',
      channel_name, current_database() USING ERRCODE = 'undefined_object';
  END IF;
  RETURN channel;
END
$$;

-- The error for a key that is no key.
CREATE OR REPLACE FUNCTION pgonce_private.fail_for_key_length(channel_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION 'pgonce: a delivery key or order key for channel "%" has no character, or more than 500: shorten it', channel_name
    USING ERRCODE = 'invalid_parameter_value';
END
$$;

-- The error for a delay that no Java publisher may give either.
CREATE OR REPLACE FUNCTION pgonce_private.fail_for_delay(channel_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION 'pgonce: the delay of a notification for channel "%" is longer than 365,000 days: give a shorter one', channel_name
    USING ERRCODE = 'invalid_parameter_value';
END
$$;

-- The error for a notification that would be due at two times.
CREATE OR REPLACE FUNCTION pgonce_private.fail_for_two_times(channel_name text, one text, other text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION 'pgonce: both % and % are given for channel "%": give one', one, other, channel_name USING ERRCODE = 'invalid_parameter_value';
END
$$;

-- The error where a store function stands for another channel.
CREATE OR REPLACE FUNCTION pgonce_private.fail_for_other_id(channel_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' AND pgonce.copy_of_another() IS NULL THEN
    RAISE EXCEPTION 'pgonce: channel "%" was dropped and installed anew since this transaction began: run the transaction again', channel_name
      USING ERRCODE = 'serialization_failure';
  END IF;
  RAISE EXCEPTION 'pgonce: function % stores for another channel than "%": database "%" was restored from a dump of data alone; adopt it first (SELECT pgonce.adopt(''why'')), or install the channel',
    pgonce_private.store_function(channel_name), channel_name, current_database() USING ERRCODE = 'object_not_in_prerequisite_state';
END
$$;

-- Fails if one of these has what a BROADCAST cannot keep.
CREATE OR REPLACE FUNCTION pgonce_private.refuse_for_broadcast(channel_name text, due_ats timestamptz[], keys text[], order_keys text[], contexts jsonb[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF EXISTS (SELECT FROM unnest(due_ats, keys, order_keys, contexts) AS g (due_at, key, order_key, context)
              WHERE num_nonnulls(g.due_at, g.key, g.order_key, g.context) > 0) THEN
    RAISE EXCEPTION 'pgonce: channel "%" is a BROADCAST, which stores nothing: it takes no due time, delivery key, order key or context; leave them out, or give the channel another mode',
      channel_name USING ERRCODE = 'feature_not_supported';
  END IF;
END
$$;

-- One notification, by the channel's own store function (store_body of store.sql), as its triggers have it. Returns what that does. With the lock, dropping the channel and
-- changing its mode (pgonce_private.hold_writers) wait from here on, or have ended: the function is that of the channel as it is. Only functions that pin
-- search_path call it.
CREATE OR REPLACE FUNCTION pgonce_private.store_one(
  channel_name text, payload json, due_at timestamptz, key text, order_key text, same_payload boolean, version integer, context jsonb)
RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
  channel_id integer;
  id bigint;
BEGIN
  LOCK TABLE pgonce.notification IN ROW EXCLUSIVE MODE;
  SELECT c.id INTO channel_id FROM pgonce.channel c WHERE c.name = channel_name;
  IF NOT FOUND THEN
    PERFORM pgonce_private.find_channel(channel_name); -- which says what is wrong
  ELSIF to_regprocedure(pgonce_private.store_function(channel_name)) IS NULL THEN -- the transaction's snapshot is older, or the function is not there
    RAISE EXCEPTION 'pgonce: channel "%" was dropped while this was published, or restored from a dump of data alone and not adopted: install or adopt it, and publish this again',
      channel_name
      USING ERRCODE = CASE current_setting('transaction_isolation') WHEN 'read committed' THEN 'object_not_in_prerequisite_state' ELSE 'serialization_failure' END;
  END IF;
  EXECUTE format('SELECT pgonce.%I($1, $2, $3, $4, $5, NULL, $6, $7, $8)', 'store_' || channel_name) INTO id
    USING payload, key, order_key, due_at, version, context, same_payload, channel_id;
  RETURN id;
END
$$;

-- Stores one notification per element of a JSON array, in its order, with what the other arrays give for it: null, or no element, is none. A single
-- one goes the way of a trigger's; several with one statement for their keys, and one for their rows. One wake-up, however many they are. Returns
-- the id of each, and whether it was stored. Where the delivery key was there already, the id is that of the notification that has it. version: of
-- the channel's definition that the writer was made for; the default is that of writers that know of no versions. The installed version would not do,
-- as writers are redeployed one by one. contexts: of single notifications, added to the writer's; null where none has one, which costs nothing.
CREATE OR REPLACE FUNCTION pgonce.store(
  channel_name text, payloads json, due_ats timestamptz[], keys text[], order_keys text[], same_payload boolean[],
  version integer DEFAULT 1, contexts jsonb[] DEFAULT NULL)
RETURNS TABLE (id bigint, stored boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  channel pgonce.channel;
  -- Most writers have neither, and pay only for reading the setting.
  writer_context constant jsonb := CASE WHEN current_setting('pgonce.context', true) <> '' THEN pgonce.current_context() END;
  writer_depth constant smallint := CASE WHEN current_setting('pgonce.depth', true) <> '' THEN pgonce.current_depth() END;
  writer_stamp constant integer := CASE WHEN version = 1 THEN writer_depth ELSE pgonce.stamp(writer_depth, version) END;
  now constant timestamptz := clock_timestamp();
  addressed integer[];
  filters jsonb[];
  ids bigint[];
  holders bigint[];
  fingerprints bytea[];
  other_key text;
  new_rows bigint := 0;
  later_rows bigint := 0;
BEGIN
  IF json_array_length(payloads) = 1 THEN
    -- Not payloads -> 0, which reads the strings in it, and refuses one with an escaped NUL.
    RETURN QUERY SELECT abs(s.id), s.id > 0
                   FROM json_array_elements(payloads) AS p (payload)
                  CROSS JOIN LATERAL pgonce_private.store_one(
                    channel_name, p.payload, due_ats[1], keys[1], order_keys[1], same_payload[1], version, contexts[1]) AS s (id);
    RETURN;
  END IF;
  -- Dropping the channel and changing its mode (pgonce_private.hold_writers) wait from here on.
  LOCK TABLE pgonce.notification IN ROW EXCLUSIVE MODE;
  channel := pgonce_private.find_channel(channel_name);
  IF channel.mode = 'BROADCAST' THEN
    PERFORM pgonce_private.refuse_for_broadcast(channel_name, due_ats, keys, order_keys, contexts);
    RETURN QUERY SELECT pgonce.broadcast(channel.name, p.value::text, version), true
                   FROM json_array_elements(payloads) WITH ORDINALITY AS p (value, n) ORDER BY p.n;
    RETURN;
  END IF;
  IF EXISTS (SELECT FROM unnest(keys || order_keys) AS g (key) WHERE length(g.key) NOT BETWEEN 1 AND 500) THEN
    PERFORM pgonce_private.fail_for_key_length(channel_name);
  END IF;

  IF contexts IS NULL THEN
    addressed := ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.channel_id = channel.id AND (s.filter IS NULL OR writer_context @> s.filter));
  ELSE
    -- Each is compared with the filters by itself, below.
    contexts := ARRAY(SELECT pgonce_private.add_context(writer_context, c.own) FROM unnest(contexts) WITH ORDINALITY AS c (own, n) ORDER BY c.n);
    SELECT coalesce(array_agg(s.id ORDER BY s.id), '{}'), array_agg(s.filter ORDER BY s.id) INTO addressed, filters
      FROM pgonce.subscription s WHERE s.channel_id = channel.id;
  END IF;
  ids := ARRAY(SELECT nextval('pgonce.notification_id') FROM generate_series(1, json_array_length(payloads)));
  IF EXISTS (SELECT FROM unnest(keys) AS g (key) WHERE g.key IS NOT NULL) THEN
    SELECT array_agg(CASE WHEN g.key IS NOT NULL THEN pgonce.fingerprint(g.payload) END ORDER BY g.n) INTO fingerprints
      FROM ROWS FROM (json_array_elements(payloads), unnest(keys)) WITH ORDINALITY AS g (payload, key, n);
    SELECT array_agg(t.id ORDER BY g.n), min(g.key) FILTER (WHERE g.same_payload AND t.fingerprint <> g.fingerprint) INTO holders, other_key
      FROM unnest(keys, fingerprints, same_payload) WITH ORDINALITY AS g (key, fingerprint, same_payload, n)
      LEFT JOIN pgonce.take_keys(channel, cardinality(addressed), keys, ids, fingerprints) t ON t.key = g.key;
    IF other_key IS NOT NULL THEN
      PERFORM pgonce_private.fail_for_other_payload(channel_name, other_key);
    END IF;
    IF contexts IS NOT NULL THEN
      -- A key counts the subscriptions that get its notification.
      UPDATE pgonce.delivery_key k
         SET waiting = g.waiting,
             done_at = CASE WHEN g.waiting = 0 THEN pgonce_private.done_later(channel.key_memory) ELSE k.done_at END
        FROM (SELECT m.id, m.key, (SELECT count(*) FROM unnest(filters) AS f (filter) WHERE f.filter IS NULL OR m.context @> f.filter)::integer AS waiting
                FROM unnest(ids, keys, contexts) AS m (id, key, context)) AS g
       WHERE k.channel_id = channel.id AND k.key = g.key AND k.id = g.id AND k.waiting <> g.waiting;
    END IF;
  END IF;

  WITH given AS MATERIALIZED (
    SELECT g.payload, g.id, g.key, CASE WHEN channel.key_order <> 'NONE' OR channel.max_per_key IS NOT NULL THEN coalesce(g.order_key, chr(1) || g.id) END AS order_key, g.due_at, g.due_at > now AS later,
           CASE WHEN contexts IS NULL THEN writer_context ELSE g.context END AS context
      FROM ROWS FROM (json_array_elements(payloads), unnest(ids), unnest(holders), unnest(keys), unnest(order_keys), unnest(due_ats), unnest(contexts))
             AS g (payload, id, holder, key, order_key, due_at, context)
     WHERE coalesce(g.holder, g.id) = g.id
  ), stored_now AS (
    INSERT INTO pgonce.notification (subscription_id, id, payload, delivery_key, order_key, context, stamp)
    SELECT s.id, g.id, g.payload, g.key, g.order_key, g.context, writer_stamp
      FROM given g CROSS JOIN unnest(addressed, filters) AS s (id, filter) WHERE g.later IS NOT TRUE AND (s.filter IS NULL OR g.context @> s.filter)
    RETURNING true
  ), stored_for_later AS (
    INSERT INTO pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, delivery_key, order_key, context, stamp)
    SELECT s.id, g.id, g.due_at, 0, clock_timestamp(), g.payload, g.key, g.order_key, g.context, writer_stamp
      FROM given g CROSS JOIN unnest(addressed, filters) AS s (id, filter) WHERE g.later AND (s.filter IS NULL OR g.context @> s.filter)
    RETURNING true
  )
  SELECT (SELECT count(*) FROM stored_now), (SELECT count(*) FROM stored_for_later) INTO new_rows, later_rows;
  IF channel.wake_ups <> 'NEVER' THEN
    IF new_rows > 0 AND pgonce.needs_notify(pgonce.gate_of(channel.name)) THEN
      PERFORM pgonce.wake_up(channel.name);
    END IF;
    IF later_rows > 0 THEN
      PERFORM pgonce.wake_up(channel.name, 'later');
    END IF;
  END IF;
  RETURN QUERY SELECT coalesce(g.holder, g.id), coalesce(g.holder, g.id) = g.id
                 FROM ROWS FROM (unnest(ids), unnest(holders)) WITH ORDINALITY AS g (id, holder, n) ORDER BY g.n;
END
$$;

-- Publishes one notification per element of a JSON array, in its order, and returns their ids.
CREATE OR REPLACE FUNCTION pgonce.publish_all(channel_name text, payloads json, version integer DEFAULT 1) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF payloads IS NULL THEN
    RAISE EXCEPTION 'pgonce: null was given for the payloads for channel "%": give an array, which may be empty', channel_name
      USING ERRCODE = 'null_value_not_allowed';
  END IF;
  RETURN QUERY SELECT s.id FROM pgonce.store(channel_name, payloads, NULL, NULL, NULL, NULL, version) AS s;
END
$$;

-- The same with options for each, an array of objects in the order of the payloads: due_us (microseconds since 1970) or delay_us, delivery_key,
-- order_key, same_payload, which makes it an error if the key was given to another payload before, and context, which is added to the writer's. Other
-- names are refused: what is to come later under another name would be handled at once.
CREATE OR REPLACE FUNCTION pgonce.publish_each(channel_name text, payloads json, options json, version integer DEFAULT 1)
RETURNS TABLE (id bigint, stored boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  now constant timestamptz := clock_timestamp();
  due_ats timestamptz[];
  keys text[];
  order_keys text[];
  same_payload boolean[];
  contexts jsonb[];
  longest constant bigint := 31536000000000000; -- 365,000 days
  too_long boolean;
  twice boolean;
  unknown text;
BEGIN
  IF payloads IS NULL OR json_array_length(payloads) IS DISTINCT FROM json_array_length(options) THEN
    RAISE EXCEPTION 'pgonce: % payloads for channel "%", and options for % of them: give each its own',
      coalesce(json_array_length(payloads)::text, 'null'), channel_name, coalesce(json_array_length(options)::text, 'null')
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- By seconds and microseconds, because an interval is multiplied by a double. What is long past would be no time that PostgreSQL has: it is due now.
  SELECT array_agg(coalesce('epoch'::timestamptz + g.due_us / 1000000 * interval '1 second' + g.due_us % 1000000 * interval '1 microsecond',
                            now + g.delay_us / 1000000 * interval '1 second' + g.delay_us % 1000000 * interval '1 microsecond') ORDER BY o.n),
         array_agg(o.delivery_key ORDER BY o.n), array_agg(o.order_key ORDER BY o.n), array_agg(o.same_payload ORDER BY o.n),
         CASE WHEN count(o.context) > 0 THEN array_agg(o.context ORDER BY o.n) END, bool_or(o.delay_us > longest),
         bool_or(o.due_us IS NOT NULL AND o.delay_us IS NOT NULL)
    INTO due_ats, keys, order_keys, same_payload, contexts, too_long, twice
    FROM ROWS FROM (json_to_recordset(options) AS (due_us bigint, delay_us bigint, delivery_key text, order_key text, same_payload boolean, context jsonb))
           WITH ORDINALITY AS o (due_us, delay_us, delivery_key, order_key, same_payload, context, n)
   CROSS JOIN LATERAL (SELECT o.due_us * (o.due_us > 0)::integer AS due_us, o.delay_us * (o.delay_us BETWEEN 0 AND longest)::integer AS delay_us) g;
  IF twice THEN
    PERFORM pgonce_private.fail_for_two_times(channel_name, 'due_us', 'delay_us');
  END IF;
  IF too_long THEN
    PERFORM pgonce_private.fail_for_delay(channel_name);
  END IF;
  SELECT k.name INTO unknown FROM json_array_elements(options) AS o (entry) CROSS JOIN json_object_keys(o.entry) AS k (name)
   WHERE k.name <> ALL ('{due_us,delay_us,delivery_key,order_key,same_payload,context}') LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'pgonce: there is no option "%" to publish with to channel "%": an entry has due_us or delay_us (in microseconds), delivery_key, order_key, same_payload and context, as far as they are wanted',
      unknown, channel_name USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN QUERY SELECT s.id, s.stored FROM pgonce.store(channel_name, payloads, due_ats, keys, order_keys, same_payload, version, contexts) AS s;
END
$$;

-- Publishes one notification and returns its id: that of the notification that has the delivery key already, if there is one. order_key: for an order
-- or a limit per key; a channel that has neither drops it. version: see pgonce.store. context: an object of texts, added to the writer's.
CREATE OR REPLACE FUNCTION pgonce.publish(
  channel_name text, payload json, due_at timestamptz DEFAULT NULL, delay interval DEFAULT NULL, delivery_key text DEFAULT NULL,
  order_key text DEFAULT NULL, version integer DEFAULT 1, context jsonb DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  due timestamptz := due_at;
BEGIN
  IF delay IS NOT NULL THEN
    IF due_at IS NOT NULL THEN
      PERFORM pgonce_private.fail_for_two_times(channel_name, 'due_at', 'delay');
    END IF;
    IF delay > interval '365000 days' THEN
      PERFORM pgonce_private.fail_for_delay(channel_name);
    END IF;
    -- In UTC, where each day has 24 hours, whatever the zone of the session.
    due := (clock_timestamp() AT TIME ZONE 'UTC' + greatest(delay, interval '0')) AT TIME ZONE 'UTC';
  END IF;
  IF NOT isfinite(due) THEN
    RAISE EXCEPTION 'pgonce: a notification for channel "%" is due at infinity, which never comes: give a time that does', channel_name
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN abs(pgonce_private.store_one(channel_name, coalesce(payload, 'null'), due, delivery_key, order_key, NULL, version, context));
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
