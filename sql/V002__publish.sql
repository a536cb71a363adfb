-- Station 1, store: a notification and its wake-up, in the writer's own transaction.
-- Each function is owned by pgonce_owner, runs with its rights and pins what the caller's session could bend (search_path).

-- See V001.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- The wake-up. It says that there may be work and nothing else: any role can LISTEN. The payload is constant, so that PostgreSQL folds the
-- wake-ups of a transaction into one: empty for new rows, "due" for scheduled rows, "later" for rows that are not due yet, "pause", "resume" and
-- "definition" for a poll that reads what has changed. Neither SECURITY DEFINER nor a setting: so PostgreSQL puts it in the place of its call, which a
-- trigger per row would pay for each time.
CREATE OR REPLACE FUNCTION pgonce.wake_up(channel_name text, kind text DEFAULT '') RETURNS void
LANGUAGE sql
AS $$ SELECT pg_catalog.pg_notify('pgonce_' OPERATOR(pg_catalog.||) channel_name, kind) $$;

-- The sequence whose last value is a channel's notify gate, see V013; null if there is none, as after a restore without it.
CREATE OR REPLACE FUNCTION pgonce.gate_of(channel_name text) RETURNS regclass
LANGUAGE sql
AS $$ SELECT pg_catalog.to_regclass('pgonce."gate_' OPERATOR(pg_catalog.||) channel_name OPERATOR(pg_catalog.||) '"') $$;

-- Whether a writer that has stored new rows notifies: it does unless the gate is a time within the next second (open), or says that no listener is to
-- be notified. A gate that cannot be read means that it does. One expression, which PostgreSQL puts in the place of its call.
CREATE OR REPLACE FUNCTION pgonce.needs_notify(channel_name text) RETURNS boolean
LANGUAGE sql
AS $$
  SELECT coalesce(NOT (
    (pg_catalog.pg_sequence_last_value(pgonce.gate_of(channel_name))
       OPERATOR(pg_catalog.-) (1000000 OPERATOR(pg_catalog.*) pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()))::bigint)
    OPERATOR(pg_catalog.<@) '{[0,1000000],[1000000000000000000,)}'::pg_catalog.int8multirange), true)
$$;

-- BROADCAST: the payload travels in the NOTIFY, cut into parts that fit its 7,999 bytes. A transaction's NOTIFYs arrive together and in
-- order, so the parts need no more than "id/part/parts:", or "id/part/parts/version/depth:" where these are not 1 and 0. The id also keeps PostgreSQL
-- from folding two equal payloads into one.
-- Above 1 MB nothing but the fact is sent (0 parts): the queue is one for the whole server, and a trigger must not fail its writer. The same, with the
-- depth, where that is beyond the channel's.
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
  mark        constant text    := CASE WHEN version = 1 AND depth IS NULL THEN ':'
                                       ELSE '/' || (coalesce(pgonce.stamp(0, version), 0) >> 16) + 1 || '/' || coalesce(depth, 0) || ':' END;
BEGIN
  IF depth IS NOT NULL AND EXISTS (SELECT FROM pgonce.channel c WHERE c.name = channel_name AND c.max_depth < depth) THEN
    PERFORM pg_notify('pgonce_' || channel_name, id || '/0/0' || mark);
    RETURN id;
  END IF;
  IF too_large THEN
    PERFORM pg_notify('pgonce_' || channel_name, id || '/0/0:');
  END IF;
  FOR part IN 1 .. parts LOOP
    PERFORM pg_notify(
      'pgonce_' || channel_name,
      id || '/' || part || '/' || parts || mark || substr(payload, (part - 1) * part_length + 1, part_length));
  END LOOP;
  RETURN id;
END
$$;

-- What the writer's session or transaction says of itself, by the setting pgonce.context: a JSON object whose values are texts. It can be set by hand:
-- numbers and booleans are taken as their text, as filters compare texts. Anything else (null, nested values, no object) is taken for no context: a
-- writer never fails by it.
CREATE OR REPLACE FUNCTION pgonce.current_context() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  given text := current_setting('pgonce.context', true);
  context jsonb;
BEGIN
  IF given IS NULL OR given = '' OR length(given) > 20000 THEN
    RETURN NULL;
  END IF;
  context := given::jsonb;
  IF jsonb_typeof(context) <> 'object' OR context = '{}'
     OR EXISTS (SELECT FROM jsonb_each(context) AS e (key, value) WHERE jsonb_typeof(e.value) NOT IN ('string', 'number', 'boolean')) THEN
    RETURN NULL;
  END IF;
  IF EXISTS (SELECT FROM jsonb_each(context) AS e (key, value) WHERE jsonb_typeof(e.value) <> 'string') THEN
    context := (SELECT jsonb_object_agg(e.key, e.value) FROM jsonb_each_text(context) AS e (key, value));
  END IF;
  RETURN context;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END
$$;

-- How many handlers led here, by the setting pgonce.depth, which a claim sets, and who publishes from a handler. Null for none, and for what is no
-- number.
CREATE OR REPLACE FUNCTION pgonce.current_depth() RETURNS smallint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN d.given ~ '^[0-9]{1,5}$' THEN nullif(least(d.given::integer, 32767), 0)::smallint END
    FROM current_setting('pgonce.depth', true) AS d (given)
$$;

-- Depth and version as one column has them, see pgonce.notification.
CREATE OR REPLACE FUNCTION pgonce.stamp(depth integer, version integer) RETURNS integer
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF version BETWEEN 1 AND 32767 THEN
    RETURN nullif(coalesce(depth, 0) + 65536 * (version - 1), 0);
  END IF;
  RAISE EXCEPTION 'pgonce: a payload cannot be of version %, versions are numbered from 1 to 32767: give the one that its channel had when this was written, or leave it out, which is 1',
    coalesce(version::text, 'null') USING ERRCODE = 'invalid_parameter_value';
END
$$;

-- What becomes of a notification that is too deep.
CREATE OR REPLACE FUNCTION pgonce.too_deep(depth integer, max_depth integer) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT format('it was published at depth %s, by the handler of a notification that a handler published, and so on, and the channel allows a depth of %s: look for a loop of handlers, or raise max_depth, before it is redriven',
                depth, max_depth)
$$;

-- A key of one text out of several, which no other parts give: they are joined by colons; a colon in a part is written %3A, a percent sign %25 and an
-- empty part %. Null if a part is null.
CREATE OR REPLACE FUNCTION pgonce.join_key(parts text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  key text;
  part text;
BEGIN
  FOREACH part IN ARRAY parts LOOP
    IF part IS NULL THEN
      RETURN NULL;
    END IF;
    key := concat_ws(':', key, CASE part WHEN '' THEN '%' ELSE replace(replace(part, '%', '%25'), ':', '%3A') END);
  END LOOP;
  RETURN key;
END
$$;

-- The same for a publisher, who learns what is wrong with it. DeliveryKey.of in Java gives the same keys.
CREATE OR REPLACE FUNCTION pgonce.delivery_key(VARIADIC parts text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  key constant text := pgonce.join_key(parts);
BEGIN
  IF key IS NULL OR length(key) > 500 THEN
    RAISE EXCEPTION 'pgonce: no delivery key can be made of these % parts: each must be given and not null, and together they have at most 500 characters, not %',
      coalesce(cardinality(parts), 0), coalesce(length(key)::text, 'null') USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN key;
END
$$;

-- The same for a trigger, whose writer must not fail: null for a part is null, and what is too long is known by its hash.
CREATE OR REPLACE FUNCTION pgonce.row_key(VARIADIC parts text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  key constant text := pgonce.join_key(parts);
BEGIN
  RETURN CASE WHEN length(key) <= 500 THEN key ELSE 'sha256:' || encode(sha256(convert_to(key, getdatabaseencoding())), 'hex') END;
END
$$;

-- What is compared where a publisher asks whether a key was given to the same payload: the text of the payload as it was published, to the letter.
CREATE OR REPLACE FUNCTION pgonce.fingerprint(payload json) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN sha256(convert_to(payload::text, getdatabaseencoding()));
END
$$;

-- Takes delivery keys for the notifications that are about to be stored, and says of each key which notification has it: one of these, or one that
-- was there already. Nothing looks before it inserts: whoever inserts a key that somebody else has not yet committed waits for him. Keys are
-- inserted in their order, so that two who take the same ones do not wait for each other. A key that is there already is not locked: that would
-- keep its notification from being completed until this transaction ends. A null is no key.
CREATE OR REPLACE FUNCTION pgonce.take_keys(channel pgonce.channel, waiting integer, keys text[], ids bigint[], fingerprints bytea[])
RETURNS TABLE (key text, id bigint, fingerprint bytea)
LANGUAGE plpgsql SECURITY DEFINER
-- A plan that is made while the table is empty must do when it is not: by the index. And it is made once: for one key that takes longer than the rest.
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  memory constant interval := least(channel.key_memory, interval '87600 hours'); -- as in pgonce.forget_keys
  -- Where nobody has the notification.
  done constant timestamptz := CASE WHEN waiting = 0 THEN pgonce.done_later(memory) END;
  wanted bigint;
  taken bigint;
  found_keys text[];
  found_ids bigint[];
  found_fingerprints bytea[];
BEGIN
  -- Most come alone, and are new.
  IF cardinality(keys) = 1 AND keys[1] IS NOT NULL THEN
    INSERT INTO pgonce.delivery_key (channel_id, key, id, fingerprint, waiting, done_at)
    VALUES (channel.id, keys[1], ids[1], fingerprints[1], take_keys.waiting, done)
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
      RETURN QUERY SELECT keys[1], ids[1], fingerprints[1];
      RETURN;
    END IF;
  END IF;
  wanted := (SELECT count(DISTINCT g.key) FROM unnest(keys) AS g (key));
  LOOP
    INSERT INTO pgonce.delivery_key (channel_id, key, id, fingerprint, waiting, done_at)
    SELECT DISTINCT ON (g.key COLLATE "C") channel.id, g.key, g.id, g.fingerprint, take_keys.waiting, done
      FROM unnest(keys, ids, fingerprints) AS g (key, id, fingerprint) WHERE g.key IS NOT NULL
     ORDER BY g.key COLLATE "C", g.id
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken < wanted THEN
      -- Those that are no longer remembered change hands.
      WITH first AS MATERIALIZED (
        SELECT DISTINCT ON (g.key COLLATE "C") g.key, g.id, g.fingerprint
          FROM unnest(keys, ids, fingerprints) AS g (key, id, fingerprint) WHERE g.key IS NOT NULL ORDER BY g.key COLLATE "C", g.id
      ), over AS MATERIALIZED (
        SELECT f.key, f.id, f.fingerprint FROM first f JOIN pgonce.delivery_key k ON k.channel_id = channel.id AND k.key = f.key AND k.id <> f.id
         WHERE k.done_at + memory <= clock_timestamp()
         ORDER BY f.key COLLATE "C" FOR UPDATE OF k
      )
      UPDATE pgonce.delivery_key k
         SET id = o.id, fingerprint = o.fingerprint, waiting = take_keys.waiting, done_at = done
        FROM over o WHERE k.channel_id = channel.id AND k.key = o.key;
    END IF;
    -- A REPEATABLE READ snapshot still sees a row that was forgotten after it was taken, beside ours of the same key: ours has the higher id.
    SELECT array_agg(h.key), array_agg(h.id), array_agg(h.fingerprint) INTO found_keys, found_ids, found_fingerprints
      FROM (SELECT DISTINCT ON (k.key COLLATE "C") k.key, k.id, k.fingerprint
              FROM pgonce.delivery_key k WHERE k.channel_id = channel.id AND k.key = ANY (keys) ORDER BY k.key COLLATE "C", k.id DESC) AS h;
    -- One that was there and has been forgotten meanwhile is free: once more.
    EXIT WHEN coalesce(cardinality(found_keys), 0) = wanted;
  END LOOP;
  RETURN QUERY SELECT f.key, f.id, f.fingerprint FROM unnest(found_keys, found_ids, found_fingerprints) AS f (key, id, fingerprint);
END
$$;

CREATE OR REPLACE FUNCTION pgonce.find_channel(channel_name text) RETURNS pgonce.channel
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  channel pgonce.channel;
BEGIN
  SELECT c.* INTO channel FROM pgonce.channel c WHERE c.name = channel_name;
  IF NOT FOUND THEN
    -- What to do stands in the message and not in a hint, here and elsewhere: pgjdbc-ng 0.8.9 drops hints.
    RAISE EXCEPTION 'pgonce: channel "%" is not installed in database "%": install it (PgOnce.install, or its printed migration) before anything is published to it',
      channel_name, current_database() USING ERRCODE = 'undefined_object';
  END IF;
  RETURN channel;
END
$$;

-- Stores one notification per element of a JSON array, in its order, with what the arrays give for it: null, or a place without an element, is none.
-- Returns the id of each, and whether it was stored; one whose delivery key was there already has the id of the notification that it was given to.
-- version: of the channel's definition that the writer was made for. What is installed says nothing of that: writers are redeployed one by one. So
-- who says nothing is taken for one who knows of no versions, and that is 1.
CREATE OR REPLACE FUNCTION pgonce.store(
  channel_name text, payloads json, due_ats timestamptz[], keys text[], order_keys text[], same_payload boolean[],
  version integer DEFAULT 1)
RETURNS TABLE (id bigint, stored boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  channel pgonce.channel;
  writer_context constant jsonb := pgonce.current_context();
  writer_depth constant smallint := pgonce.current_depth();
  writer_stamp constant integer := CASE WHEN version = 1 THEN writer_depth ELSE pgonce.stamp(writer_depth, version) END;
  now constant timestamptz := clock_timestamp();
  addressed integer[];
  ids bigint[];
  holders bigint[];
  fingerprints bytea[];
  other_key text;
  new_rows bigint := 0;
  later_rows bigint := 0;
BEGIN
  -- Who drops a subscription or changes a mode (pgonce.hold_writers) waits from here on: a key counts those that have its notification.
  LOCK TABLE pgonce.notification IN ROW EXCLUSIVE MODE;
  channel := pgonce.find_channel(channel_name);
  IF channel.mode = 'BROADCAST' THEN
    IF EXISTS (SELECT FROM unnest(due_ats, keys, order_keys) AS g (due_at, key, order_key) WHERE num_nonnulls(g.due_at, g.key, g.order_key) > 0) THEN
      RAISE EXCEPTION 'pgonce: channel "%" is a BROADCAST, which stores nothing: it takes no due time, delivery key or order key; leave them out, or give the channel another mode',
        channel_name USING ERRCODE = 'feature_not_supported';
    END IF;
    RETURN QUERY SELECT p.id, true FROM pgonce.publish_all(channel_name, payloads, version) AS p (id);
    RETURN;
  END IF;
  IF EXISTS (SELECT FROM unnest(keys || order_keys) AS g (key) WHERE length(g.key) NOT BETWEEN 1 AND 500) THEN
    RAISE EXCEPTION 'pgonce: a delivery key or order key for channel "%" has no character, or more than 500: shorten it', channel_name
      USING ERRCODE = 'invalid_parameter_value';
  END IF;

  addressed := ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.channel_id = channel.id AND (s.filter IS NULL OR writer_context @> s.filter));
  SELECT array_agg(nextval('pgonce.notification_id') ORDER BY p.n) INTO ids FROM json_array_elements(payloads) WITH ORDINALITY AS p (value, n);
  IF EXISTS (SELECT FROM unnest(keys) AS g (key) WHERE g.key IS NOT NULL) THEN
    SELECT array_agg(CASE WHEN g.key IS NOT NULL THEN pgonce.fingerprint(g.payload) END ORDER BY g.n) INTO fingerprints
      FROM ROWS FROM (json_array_elements(payloads), unnest(keys)) WITH ORDINALITY AS g (payload, key, n);
    SELECT array_agg(t.id ORDER BY g.n), min(g.key) FILTER (WHERE g.same_payload AND t.fingerprint <> g.fingerprint) INTO holders, other_key
      FROM unnest(keys, fingerprints, same_payload) WITH ORDINALITY AS g (key, fingerprint, same_payload, n)
      LEFT JOIN pgonce.take_keys(channel, cardinality(addressed), keys, ids, fingerprints) t ON t.key = g.key;
    IF other_key IS NOT NULL THEN
      RAISE EXCEPTION 'pgonce: delivery key "%" of channel "%" was given to another payload before: publish this one under a key of its own, or without asking for the same payload',
        other_key, channel_name USING ERRCODE = 'PO004';
    END IF;
  END IF;

  IF writer_depth > channel.max_depth THEN
    INSERT INTO pgonce.dead_letter
      (subscription_id, id, attempts, created_at, reason, error, payload, delivery_key, order_key, context, stamp)
    SELECT s.id, g.id, 0, clock_timestamp(), 'TOO_DEEP', pgonce.too_deep(writer_depth, channel.max_depth), g.payload, g.key,
           CASE WHEN channel.key_order <> 'NONE' OR channel.max_per_key IS NOT NULL THEN coalesce(g.order_key, chr(1) || g.id) END, writer_context, writer_stamp
      FROM ROWS FROM (json_array_elements(payloads), unnest(ids), unnest(holders), unnest(keys), unnest(order_keys))
             AS g (payload, id, holder, key, order_key)
     CROSS JOIN unnest(addressed) AS s (id) WHERE coalesce(g.holder, g.id) = g.id;
  ELSE
    WITH given AS MATERIALIZED (
      SELECT g.payload, g.id, g.key, CASE WHEN channel.key_order <> 'NONE' OR channel.max_per_key IS NOT NULL THEN coalesce(g.order_key, chr(1) || g.id) END AS order_key, g.due_at, g.due_at > now AS later
        FROM ROWS FROM (json_array_elements(payloads), unnest(ids), unnest(holders), unnest(keys), unnest(order_keys), unnest(due_ats))
               AS g (payload, id, holder, key, order_key, due_at)
       WHERE coalesce(g.holder, g.id) = g.id
    ), stored_now AS (
      INSERT INTO pgonce.notification (subscription_id, id, payload, delivery_key, order_key, context, stamp)
      SELECT s.id, g.id, g.payload, g.key, g.order_key, writer_context, writer_stamp
        FROM given g CROSS JOIN unnest(addressed) AS s (id) WHERE g.later IS NOT TRUE
      RETURNING true
    ), stored_for_later AS (
      INSERT INTO pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, delivery_key, order_key, context, stamp)
      SELECT s.id, g.id, g.due_at, 0, clock_timestamp(), g.payload, g.key, g.order_key, writer_context, writer_stamp
        FROM given g CROSS JOIN unnest(addressed) AS s (id) WHERE g.later
      RETURNING true
    )
    SELECT (SELECT count(*) FROM stored_now), (SELECT count(*) FROM stored_for_later) INTO new_rows, later_rows;
  END IF;
  IF channel.wake_ups <> 'NEVER' THEN
    IF new_rows > 0 AND pgonce.needs_notify(channel.name) THEN
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

-- Publishes one notification per element of a JSON array, in its order, and returns their ids. One wake-up, however many they are.
CREATE OR REPLACE FUNCTION pgonce.publish_all(channel_name text, payloads json, version integer DEFAULT 1) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  channel pgonce.channel;
  -- Most writers have neither, and pay for a look only.
  writer_context constant jsonb := CASE WHEN current_setting('pgonce.context', true) <> '' THEN pgonce.current_context() END;
  writer_depth constant smallint := CASE WHEN current_setting('pgonce.depth', true) <> '' THEN pgonce.current_depth() END;
  writer_stamp constant integer := CASE WHEN version = 1 THEN writer_depth ELSE pgonce.stamp(writer_depth, version) END;
  ids bigint[];
  amount bigint;
BEGIN
  SELECT c.* INTO channel FROM pgonce.channel c WHERE c.name = channel_name;
  IF NOT FOUND THEN
    channel := pgonce.find_channel(channel_name); -- which says what is wrong
  END IF;

  IF channel.mode = 'BROADCAST' THEN
    RETURN QUERY SELECT pgonce.broadcast(channel.name, p.value::text, version) FROM json_array_elements(payloads) WITH ORDINALITY AS p (value, n) ORDER BY p.n;
    RETURN;
  END IF;
  IF writer_depth > channel.max_depth THEN
    RETURN QUERY SELECT s.id FROM pgonce.store(channel_name, payloads, NULL, NULL, NULL, NULL, version) AS s;
    RETURN;
  END IF;

  -- MATERIALIZED: one id per notification, shared by its subscriptions. The mode is looked at again, by the snapshot of the INSERT: whoever
  -- has just changed it has waited for those that had inserted before (pgonce.hold_writers).
  WITH given AS MATERIALIZED (
    SELECT nextval('pgonce.notification_id') AS id, p.value AS payload FROM json_array_elements(payloads) AS p (value)
  ), stored AS (
    INSERT INTO pgonce.notification (subscription_id, id, payload, order_key, context, stamp)
    SELECT s.id, g.id, g.payload, CASE WHEN c.key_order <> 'NONE' OR c.max_per_key IS NOT NULL THEN chr(1) || g.id END, writer_context, writer_stamp
      FROM given g CROSS JOIN pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
     WHERE c.id = channel.id AND c.mode = channel.mode AND (s.filter IS NULL OR writer_context @> s.filter)
    RETURNING true
  )
  SELECT array_agg(g.id ORDER BY g.id), (SELECT count(*) FROM stored) INTO ids, amount FROM given g;
  IF amount > 0 THEN
    IF channel.wake_ups <> 'NEVER' AND pgonce.needs_notify(channel.name) THEN
      PERFORM pgonce.wake_up(channel.name);
    END IF;
  ELSIF json_array_length(payloads) > 0
        AND NOT EXISTS (SELECT FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
                         WHERE c.id = channel.id AND c.mode = channel.mode AND s.filter IS NOT NULL) THEN
    RAISE EXCEPTION 'pgonce: channel "%" was dropped or given another mode while this was published: publish it again', channel_name
      USING ERRCODE = 'serialization_failure';
  END IF;
  RETURN QUERY SELECT unnest(ids);
END
$$;

-- The same with options for each, an array of objects in the order of the payloads: due_us (microseconds since 1970) or delay_us, delivery_key,
-- order_key, and same_payload, true where it is an error that the key was given to another payload before.
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
BEGIN
  IF json_array_length(payloads) <> json_array_length(options) THEN
    RAISE EXCEPTION 'pgonce: % payloads and options for % of them: give each its own', json_array_length(payloads), json_array_length(options)
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- By seconds and microseconds, because an interval is multiplied with a double.
  SELECT array_agg(coalesce('epoch'::timestamptz + o.due_us / 1000000 * interval '1 second' + o.due_us % 1000000 * interval '1 microsecond',
                            now + o.delay_us / 1000000 * interval '1 second' + o.delay_us % 1000000 * interval '1 microsecond') ORDER BY o.n),
         array_agg(o.delivery_key ORDER BY o.n), array_agg(o.order_key ORDER BY o.n), array_agg(o.same_payload ORDER BY o.n)
    INTO due_ats, keys, order_keys, same_payload
    FROM ROWS FROM (json_to_recordset(options) AS (due_us bigint, delay_us bigint, delivery_key text, order_key text, same_payload boolean))
           WITH ORDINALITY AS o (due_us, delay_us, delivery_key, order_key, same_payload, n);
  RETURN QUERY SELECT s.id, s.stored FROM pgonce.store(channel_name, payloads, due_ats, keys, order_keys, same_payload, version) AS s;
END
$$;

-- Publishes one notification and returns its id: the one that has the delivery key already, if there is one. order_key: what an order or a limit per
-- key goes by; where the channel has neither it is dropped. version: see pgonce.store.
CREATE OR REPLACE FUNCTION pgonce.publish(
  channel_name text, payload json, due_at timestamptz DEFAULT NULL, delay interval DEFAULT NULL, delivery_key text DEFAULT NULL,
  order_key text DEFAULT NULL, version integer DEFAULT 1)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  payloads constant json := json_build_array(payload);
  due timestamptz := due_at;
BEGIN
  IF due_at IS NULL AND delay IS NULL AND delivery_key IS NULL AND order_key IS NULL THEN
    RETURN pgonce.publish_all(channel_name, payloads, version);
  END IF;
  IF delay IS NOT NULL THEN
    IF due_at IS NOT NULL THEN
      RAISE EXCEPTION 'pgonce: both due_at and delay are given for channel "%": give one', channel_name USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF isfinite(delay) THEN
      -- In UTC, where each day has 24 hours, whatever the zone of the session.
      due := (clock_timestamp() AT TIME ZONE 'UTC' + delay) AT TIME ZONE 'UTC';
    END IF;
  END IF;
  IF NOT isfinite(due) OR due IS NULL AND delay IS NOT NULL THEN
    RAISE EXCEPTION 'pgonce: a notification for channel "%" is due at infinity, which never comes: give a time that does', channel_name
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN (SELECT s.id FROM pgonce.store(channel_name, payloads, ARRAY[due], ARRAY[delivery_key], ARRAY[order_key], NULL, version) AS s);
END
$$;

CREATE OR REPLACE FUNCTION pgonce.change_context(key text, value text, for_transaction boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  changed text;
BEGIN
  IF key IS NULL OR key = '' THEN
    RAISE EXCEPTION 'pgonce: an entry of a context needs a key of at least one character' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  changed := (coalesce(pgonce.current_context(), '{}') - key || CASE WHEN value IS NULL THEN '{}' ELSE jsonb_build_object(key, value) END)::text;
  IF length(changed) > 10000 THEN
    RAISE EXCEPTION 'pgonce: the context would have % characters as JSON, and 10000 is the most: it goes with each notification; put less into it',
      length(changed) USING ERRCODE = 'program_limit_exceeded';
  END IF;
  PERFORM set_config('pgonce.context', CASE WHEN changed = '{}' THEN '' ELSE changed END, for_transaction);
END
$$;

-- Adds to the context of this transaction, or takes the entry out if the value is null. Who may not use the schema pgonce sets pgonce.context itself.
CREATE OR REPLACE FUNCTION pgonce.set_context(key text, value text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ SELECT pgonce.change_context(key, value, true) $$;

-- The same for the session: until it is changed, or the session ends. A pool hands sessions on.
CREATE OR REPLACE FUNCTION pgonce.set_session_context(key text, value text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ SELECT pgonce.change_context(key, value, false) $$;

INSERT INTO pgonce.schema_version (version) VALUES (2) ON CONFLICT DO NOTHING;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
