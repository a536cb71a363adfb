-- Delivery keys: how parts become a key, which notification has it, and when it is free again.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- One text out of several, which no other parts give. Parts are joined by colons; in a part, a colon is written %3A and a percent sign %25; an empty
-- part is written %. Null if a part is null.
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

-- The same for a publisher, with an error that says what is wrong. DeliveryKey.of in Java gives the same keys.
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

-- The same for a trigger, whose writer must not fail: null if a part is null, and a hash of what is too long.
CREATE OR REPLACE FUNCTION pgonce.row_key(VARIADIC parts text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  key constant text := pgonce.join_key(parts);
BEGIN
  RETURN CASE WHEN length(key) <= 500 THEN key ELSE 'sha256:' || encode(sha256(convert_to(key, getdatabaseencoding())), 'hex') END;
END
$$;

-- The fingerprint that is compared where a publisher asks whether a key was given to the same payload: of the payload's text as it was published.
-- PostgreSQL inlines it, so it names all in full. The space around it is cut off its bytes: of a text, btrim looks at each character.
CREATE OR REPLACE FUNCTION pgonce.fingerprint(payload json) RETURNS bytea
LANGUAGE sql STABLE
AS $$
  SELECT pg_catalog.sha256(pg_catalog.btrim(pg_catalog.convert_to(payload::pg_catalog.text, pg_catalog.getdatabaseencoding()), pg_catalog.decode('20090a0d', 'hex')))
$$;

-- The time for a key that is done when this transaction ends, which is not known yet: 'infinity', until forget_keys sees it committed. So a key is
-- never remembered for less than was promised. Where nothing is remembered, the key is free from then on.
CREATE OR REPLACE FUNCTION pgonce_private.done_later(key_memory interval) RETURNS timestamptz
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN key_memory = interval '0' THEN clock_timestamp() ELSE 'infinity' END $$;

-- Takes delivery keys for notifications that are about to be stored. Returns for each key the notification that has it: one of these, or an earlier
-- one. There is no look before the insert: an insert of a key that another transaction has not yet committed waits for it. Keys are inserted in their
-- order, so that two transactions with the same keys do not wait for each other. A key that is there already is not locked: its notification could
-- not be completed until this transaction ends. A null is no key.
CREATE OR REPLACE FUNCTION pgonce.take_keys(channel pgonce.channel, waiting integer, keys text[], ids bigint[], fingerprints bytea[])
RETURNS TABLE (key text, id bigint, fingerprint bytea)
LANGUAGE plpgsql SECURITY DEFINER
-- A plan that is made while the table is empty must do when it is full: by the index. It is made once: planning for one key takes longer than the
-- rest.
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  -- For a notification without subscriptions.
  done constant timestamptz := CASE WHEN waiting = 0 THEN pgonce_private.done_later(channel.key_memory) END;
  wanted bigint;
  taken bigint;
  found_keys text[];
  found_ids bigint[];
  found_fingerprints bytea[];
BEGIN
  wanted := (SELECT count(DISTINCT g.key) FROM unnest(keys) AS g (key));
  LOOP
    INSERT INTO pgonce.delivery_key (channel_id, key, id, fingerprint, waiting, done_at)
    SELECT DISTINCT ON (g.key COLLATE "C") channel.id, g.key, g.id, g.fingerprint, take_keys.waiting, done
      FROM unnest(keys, ids, fingerprints) AS g (key, id, fingerprint) WHERE g.key IS NOT NULL
     ORDER BY g.key COLLATE "C", g.id
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken < wanted THEN
      -- Keys that are no longer remembered go to the new notification.
      WITH first AS MATERIALIZED (
        SELECT DISTINCT ON (g.key COLLATE "C") g.key, g.id, g.fingerprint
          FROM unnest(keys, ids, fingerprints) AS g (key, id, fingerprint) WHERE g.key IS NOT NULL ORDER BY g.key COLLATE "C", g.id
      ), over AS MATERIALIZED (
        SELECT f.key, f.id, f.fingerprint FROM first f JOIN pgonce.delivery_key k ON k.channel_id = channel.id AND k.key = f.key AND k.id <> f.id
         WHERE k.done_at + channel.key_memory <= clock_timestamp()
         ORDER BY f.key COLLATE "C" FOR UPDATE OF k
      )
      UPDATE pgonce.delivery_key k
         SET id = o.id, fingerprint = o.fingerprint, waiting = take_keys.waiting, done_at = done
        FROM over o WHERE k.channel_id = channel.id AND k.key = o.key;
    END IF;
    -- A REPEATABLE READ snapshot still sees a row that was forgotten after it was taken, beside the new row of the same key, which has the higher id.
    SELECT array_agg(h.key), array_agg(h.id), array_agg(h.fingerprint) INTO found_keys, found_ids, found_fingerprints
      FROM (SELECT DISTINCT ON (k.key COLLATE "C") k.key, k.id, k.fingerprint
              FROM pgonce.delivery_key k WHERE k.channel_id = channel.id AND k.key = ANY (keys) ORDER BY k.key COLLATE "C", k.id DESC) AS h;
    -- A key that was there and has been forgotten meanwhile is free: once more.
    EXIT WHEN coalesce(cardinality(found_keys), 0) = wanted;
  END LOOP;
  RETURN QUERY SELECT f.key, f.id, f.fingerprint FROM unnest(found_keys, found_ids, found_fingerprints) AS f (key, id, fingerprint);
END
$$;

-- The error where a publisher asks for the same payload.
CREATE OR REPLACE FUNCTION pgonce_private.fail_for_other_payload(channel_name text, key text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION 'pgonce: delivery key "%" of channel "%" was given to another payload before: publish this one under a key of its own, or without asking for the same payload',
    key, channel_name USING ERRCODE = 'PO004';
END
$$;

-- As take_keys, for one notification, whose key a channel's store function could not insert: it is there already, or no subscription takes the
-- notification. Returns the id of the notification that has the key.
CREATE OR REPLACE FUNCTION pgonce_private.take_key(channel_name text, waiting integer, key text, id bigint, fingerprint bytea, same_payload boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
  holder bigint;
  is_another boolean;
BEGIN
  SELECT t.its_id, t.its_fingerprint <> fingerprint INTO holder, is_another
    FROM pgonce.channel c
   CROSS JOIN LATERAL pgonce.take_keys(c, waiting, ARRAY[key], ARRAY[id], ARRAY[fingerprint]) AS t (its_key, its_id, its_fingerprint)
   WHERE c.name = channel_name;
  IF holder IS NULL THEN
    RAISE EXCEPTION 'pgonce: channel "%" was installed after the snapshot of this transaction, and another notification has its delivery key "%": try the transaction again',
      channel_name, key USING ERRCODE = 'serialization_failure';
  END IF;
  IF same_payload AND is_another THEN
    PERFORM pgonce_private.fail_for_other_payload(channel_name, key);
  END IF;
  RETURN holder;
END
$$;

-- A subscription is done with notifications that have a delivery key, in the transaction that deletes their rows. The last subscription deletes the
-- key, or begins the time that it is remembered. In the order of the keys, as all who lock several.
CREATE OR REPLACE FUNCTION pgonce.keys_done(subscription integer, ids bigint[], keys text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
  channel integer;
  forgetful boolean;
  done record;
BEGIN
  SELECT c.id, c.key_memory = interval '0' INTO channel, forgetful
    FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = subscription;
  IF NOT FOUND THEN -- dropped, and this was stored by a transaction with an older snapshot, see pgonce_private.clear_leftovers
    SELECT c.id, c.key_memory = interval '0' INTO channel, forgetful FROM pgonce.channel c WHERE c.id = pgonce_private.channel_of_dropped(subscription);
  END IF;
  FOR done IN SELECT d.id, d.key FROM unnest(ids, keys) AS d (id, key) ORDER BY d.key COLLATE "C" LOOP
    IF forgetful THEN
      DELETE FROM pgonce.delivery_key k WHERE k.channel_id = channel AND k.key = done.key AND k.id = done.id AND k.waiting <= 1;
      CONTINUE WHEN FOUND;
    END IF;
    UPDATE pgonce.delivery_key k SET waiting = k.waiting - 1, done_at = CASE WHEN k.waiting <= 1 THEN clock_timestamp() END
     WHERE k.channel_id = channel AND k.key = done.key AND k.id = done.id AND k.waiting > 0;
  END LOOP;
END
$$;

-- The channel of a subscription that was dropped. The table is small and has no index for this. The caller has switched sequential scans off, which
-- until PostgreSQL 17 adds 1e10 to the cost of the plan, so that a server with LLVM compiles it (jit_above_cost).
CREATE OR REPLACE FUNCTION pgonce_private.channel_of_dropped(subscription integer) RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = on
AS $$ SELECT d.channel_id FROM pgonce.dropped d WHERE d.subscription_id = subscription LIMIT 1 $$;

-- As keys_done, for notifications of a channel, by a transaction that may go on. An id stands there as often as subscriptions are done with it.
CREATE OR REPLACE FUNCTION pgonce_private.keys_done_later(channel integer, ids bigint[], keys text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
  WITH ended AS MATERIALIZED (
    SELECT e.key, e.id, count(*)::integer AS times FROM unnest(keys, ids) AS e (key, id) WHERE e.key IS NOT NULL GROUP BY e.key, e.id
  ), held AS MATERIALIZED (
    SELECT k.key, e.times FROM ended e JOIN pgonce.delivery_key k ON k.channel_id = channel AND k.key = e.key AND k.id = e.id
     ORDER BY k.key COLLATE "C" FOR UPDATE OF k
  )
  UPDATE pgonce.delivery_key k
     SET waiting = greatest(k.waiting - h.times, 0),
         done_at = CASE WHEN k.waiting <= h.times THEN pgonce_private.done_later((SELECT c.key_memory FROM pgonce.channel c WHERE c.id = channel)) END
    FROM held h WHERE k.channel_id = channel AND k.key = h.key;
$$;

-- Removes what this transaction has published under the given delivery keys (a JSON array), with the keys, for all subscriptions. Returns how many
-- notifications. What another transaction has published is passed over, so a publisher gets no power over it.
CREATE OR REPLACE FUNCTION pgonce.take_back(channel_name text, delivery_keys json) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  own constant xid := pg_current_xact_id()::xid;
  channel constant integer := (pgonce_private.find_channel(channel_name)).id;
  subscriptions constant integer[] := ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.channel_id = channel);
  ids bigint[];
BEGIN
  WITH gone AS (
    DELETE FROM pgonce.delivery_key k
     WHERE k.channel_id = channel AND k.key = ANY (ARRAY(SELECT json_array_elements_text(delivery_keys))) AND k.xmin = own
    RETURNING k.id
  )
  SELECT coalesce(array_agg(g.id), '{}') INTO ids FROM gone g;
  DELETE FROM pgonce.notification n WHERE n.subscription_id = ANY (subscriptions) AND n.id = ANY (ids) AND n.xmin = own;
  DELETE FROM pgonce.scheduled d WHERE d.subscription_id = ANY (subscriptions) AND d.id = ANY (ids) AND d.xmin = own;
  DELETE FROM pgonce.dead_letter l WHERE l.subscription_id = ANY (subscriptions) AND l.id = ANY (ids) AND l.xmin = own;
  RETURN cardinality(ids);
END
$$;

-- What forget_keys does for one channel. jit = off: with millions of keys, the plan may look expensive.
CREATE OR REPLACE FUNCTION pgonce_private.forget_keys_of(channel integer, memory interval, amount integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
  now constant timestamptz := clock_timestamp();
  forgotten bigint;
BEGIN
  -- The first bound is for the index; a memory of months is not the same from either end.
  DELETE FROM pgonce.delivery_key k WHERE k.channel_id = channel AND k.key = ANY (ARRAY(
    SELECT o.key FROM pgonce.delivery_key o
     WHERE o.channel_id = channel AND o.done_at <= now - memory AND o.done_at + memory <= now
     ORDER BY o.done_at LIMIT amount FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  -- What is seen here is committed: its time begins now. A time that lies ahead, by more than the DELETE can take, was that of a clock which has been
  -- set back since.
  UPDATE pgonce.delivery_key k SET done_at = clock_timestamp() WHERE k.channel_id = channel AND k.key = ANY (ARRAY(
    SELECT o.key FROM pgonce.delivery_key o WHERE o.channel_id = channel AND o.done_at > now + interval '1 minute' LIMIT amount FOR UPDATE SKIP LOCKED));
  RETURN forgotten;
END
$$;

-- Forgets keys whose time is over, never earlier, and begins the time of those marked 'infinity'; at most so many of each channel. Keys that another
-- transaction has locked are left for the next time. Returns how many it has forgotten. It stops after 3 seconds, and begins with another channel
-- each time.
CREATE OR REPLACE FUNCTION pgonce.forget_keys(amount integer DEFAULT 10000) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  enough constant timestamptz := clock_timestamp() + interval '3 seconds';
  channel integer;
  memory interval;
  forgotten bigint := 0;
BEGIN
  FOR channel, memory IN SELECT c.id, c.key_memory FROM pgonce.channel c ORDER BY random() LOOP
    forgotten := forgotten + pgonce_private.forget_keys_of(channel, memory, amount);
    EXIT WHEN clock_timestamp() > enough;
  END LOOP;
  RETURN forgotten;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
