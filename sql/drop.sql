-- Dropping channels and subscriptions while others write, publish and handle.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Keeps all writers from storing until the caller's transaction ends, for what must not miss a row that is about to be committed. Writers queue
-- behind the wait, so each try is short (1.75 s at most), and lets them pass when it fails. After 16 s in all it gives up. A caller with a shorter
-- lock_timeout, or one that keeps a user's table locked, has one try.
CREATE OR REPLACE FUNCTION pgonce_private.hold_writers(purpose text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  set_before constant text := current_setting('lock_timeout');
  allowed constant integer := 1000 * extract(epoch FROM set_before::interval);
  -- A migration that has dropped a trigger in the same transaction keeps that table's writers waiting, and these may hold what is waited for here.
  holds_a_table constant boolean := EXISTS (
    SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
     WHERE l.locktype = 'relation' AND l.pid = pg_backend_pid() AND l.granted AND l.mode IN ('AccessExclusiveLock', 'ShareRowExclusiveLock')
       AND c.relkind IN ('r', 'p') AND c.relnamespace <> 'pgonce'::regnamespace);
  waits constant integer[] := CASE WHEN allowed BETWEEN 1 AND 1500 THEN ARRAY[allowed]
                                   WHEN holds_a_table THEN ARRAY[800]
                                   ELSE ARRAY[50, 100, 200, 400, 800, 1500, 1500, 1500, 1500, 1500] END;
BEGIN
  FOR try IN 1 .. cardinality(waits) LOOP
    IF try > 1 THEN
      PERFORM pg_sleep(waits[try - 1] / 1000.0);
    END IF;
    BEGIN
      PERFORM set_config('lock_timeout', waits[try] || 'ms', true);
      LOCK TABLE pgonce.notification IN SHARE ROW EXCLUSIVE MODE;
      PERFORM set_config('lock_timeout', least(waits[try], 250) || 'ms', true);
      LOCK TABLE pgonce.scheduled IN SHARE ROW EXCLUSIVE MODE;
      PERFORM set_config('lock_timeout', set_before, true);
      RETURN;
    EXCEPTION WHEN lock_not_available THEN NULL; -- its locks are free again
    END;
  END LOOP;
  RAISE EXCEPTION 'pgonce: cannot % now, nothing was changed: transactions that have published or settled something were open all the time (the oldest in pg_stat_activity by xact_start); try again when they have ended',
    purpose USING ERRCODE = 'lock_not_available';
END
$$;

-- The error for a row that is to be dropped and is locked.
CREATE OR REPLACE FUNCTION pgonce_private.fail_for_locked_row(purpose text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION 'pgonce: cannot % now, nothing was changed: a handler is at work on something that waits there, or somebody else changes it; pause it (pgonce.pause) or stop its listeners, and try again',
    purpose USING ERRCODE = 'lock_not_available';
END
$$;

-- Returns how many rows it deleted.
CREATE OR REPLACE FUNCTION pgonce_private.empty_subscriptions(channel integer, doomed integer[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  emptied bigint;
  ids bigint[];
  keys text[];
BEGIN
  -- Their delivery keys are counted down as the rows are deleted, and not before: another transaction may discard some meanwhile, and counts those
  -- itself.
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
    PERFORM pgonce_private.keys_done_later(channel, ids, keys);
  END IF;
  RETURN emptied;
END
$$;

-- Drops a subscription with everything that waits in it. It first waits for handlers that have rows of it, while everybody else goes on.
CREATE OR REPLACE FUNCTION pgonce.drop_subscription(channel_name text, subscription_name text, reason text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  purpose constant text := 'drop subscription "' || subscription_name || '" of channel "' || channel_name || '"';
  set_before constant text := current_setting('lock_timeout');
  doomed integer;
  channel integer;
  emptied bigint;
BEGIN
  BEGIN
    PERFORM FROM pgonce.channel c WHERE c.name = channel_name FOR NO KEY UPDATE; -- as an installation, which makes the store function too
    SELECT s.id, s.channel_id INTO doomed, channel FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
     WHERE c.name = channel_name AND s.name = subscription_name FOR UPDATE OF s;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    PERFORM FROM pgonce.notification n WHERE n.subscription_id = doomed FOR UPDATE;
    PERFORM FROM pgonce.scheduled d WHERE d.subscription_id = doomed FOR UPDATE;
    PERFORM pgonce_private.hold_writers(purpose);
    PERFORM set_config('lock_timeout', '250ms', true);
    DELETE FROM pgonce.subscription s WHERE s.id = doomed;
    INSERT INTO pgonce.dropped (channel_id, subscription_id) VALUES (channel, doomed);
    emptied := pgonce_private.empty_subscriptions(channel, ARRAY[doomed]);
    PERFORM pgonce_private.make_entries(c) FROM pgonce.channel c WHERE c.id = channel;
    PERFORM set_config('lock_timeout', set_before, true);
  EXCEPTION WHEN lock_not_available THEN
    IF SQLERRM LIKE 'pgonce: %' THEN
      RAISE;
    END IF;
    PERFORM pgonce_private.fail_for_locked_row(purpose);
  END;
  PERFORM pgonce_private.record_operation('DROP', channel_name, subscription_name, reason, emptied);
  RETURN true;
END
$$;

-- The long part of dropping channels, in the same transaction, before anybody has to wait: deletes what waits in them, and waits for handlers that
-- have rows of them. Returns how many rows it deleted of each. Delivery keys stay: a publisher may wait for one.
CREATE OR REPLACE FUNCTION pgonce.empty_channels(channel_names text[]) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  emptied bigint[] := '{}';
  doomed integer[];
  amount bigint;
BEGIN
  -- One at a time: the deletions of one would keep another one from holding the writers, and the other way round.
  PERFORM pg_advisory_xact_lock(123589553447783);
  PERFORM FROM pgonce.channel c WHERE c.name = ANY (channel_names) ORDER BY c.name COLLATE "C" FOR UPDATE;
  PERFORM FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE c.name = ANY (channel_names) ORDER BY s.id FOR UPDATE OF s;
  FOR n IN 1 .. cardinality(channel_names) LOOP
    doomed := ARRAY(SELECT s.id FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE c.name = channel_names[n]);
    WITH present AS (
      DELETE FROM pgonce.notification n WHERE n.subscription_id = ANY (doomed) RETURNING true
    ), later AS (
      DELETE FROM pgonce.scheduled d WHERE d.subscription_id = ANY (doomed) RETURNING true
    ), dead AS (
      DELETE FROM pgonce.dead_letter l WHERE l.subscription_id = ANY (doomed) RETURNING true
    )
    SELECT count(*) INTO amount FROM (TABLE present UNION ALL TABLE later UNION ALL TABLE dead) AS a;
    emptied := emptied || amount;
  END LOOP;
  RETURN emptied;
EXCEPTION WHEN lock_not_available THEN
  PERFORM pgonce_private.fail_for_locked_row('drop channel "' || array_to_string(channel_names, '", "') || '"');
END
$$;

-- The triggers that store into a channel, and their function. That which pgonce has made has its comment.
CREATE OR REPLACE FUNCTION pgonce_private.feeds(channel_name text) RETURNS TABLE (trigger text, relation regclass, function regprocedure)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT quote_ident(t.tgname), t.tgrelid, p.oid
    FROM pg_proc p JOIN pg_trigger t ON t.tgfoid = p.oid AND t.tgparentid = 0
   WHERE p.oid = pgonce_private.trigger_function(channel_name) AND starts_with(obj_description(p.oid, 'pg_proc'), 'pgonce: trigger after ')
   ORDER BY t.tgname
$$;

-- How a channel is dropped by hand: after its triggers, which go with their function.
CREATE OR REPLACE FUNCTION pgonce_private.drop_sql(channel_name text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT concat(string_agg(DISTINCT format('DROP FUNCTION %s CASCADE; ', f.function), ''), format('SELECT pgonce.drop_channel(%L);', channel_name))
    FROM pgonce_private.feeds(channel_name) f
$$;

-- Fails if a trigger stores into one of the channels: without the channel, each write to the table would fail.
CREATE OR REPLACE FUNCTION pgonce_private.refuse_fed_channels(channel_names text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  fed record;
BEGIN
  SELECT c.name, f.trigger, f.relation INTO fed FROM unnest(channel_names) AS c (name) CROSS JOIN LATERAL pgonce_private.feeds(c.name) f LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'pgonce: channel "%" was not dropped, nor any other with it, as trigger % of table % stores into it, and each write to the table would fail without it. If it was installed again meanwhile, stop whoever does that. Drop both by Triggers.drop in Java, or in one transaction with: %',
      fed.name, fed.trigger, fed.relation, pgonce_private.drop_sql(fed.name) USING ERRCODE = 'dependent_objects_still_exist';
  END IF;
END
$$;

-- Drops channels with everything that waits in them, and that no trigger stores into any more. Returns how many channels there were. already:
-- what pgonce.empty_channels returned for them in this transaction, if it was called.
CREATE OR REPLACE FUNCTION pgonce.drop_channels(channel_names text[], reason text DEFAULT NULL, already bigint[] DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  purpose constant text := 'drop channel "' || array_to_string(channel_names, '", "') || '"';
  set_before constant text := current_setting('lock_timeout');
  emptied bigint[];
  dropped bigint := 0;
  channel integer;
  doomed integer[];
BEGIN
  IF NOT EXISTS (SELECT FROM pgonce.channel c WHERE c.name = ANY (channel_names)) THEN
    RETURN 0;
  END IF;
  emptied := coalesce(already, pgonce.empty_channels(channel_names));
  PERFORM pgonce_private.refuse_fed_channels(channel_names); -- behind the channels' locks, which installations take
  PERFORM pgonce_private.hold_writers(purpose);
  -- From here on writers wait. Few rows have come meanwhile, unless a handler has one of them already.
  PERFORM set_config('lock_timeout', '250ms', true);
  FOR n IN 1 .. cardinality(channel_names) LOOP
    SELECT c.id, ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.channel_id = c.id) INTO channel, doomed
      FROM pgonce.channel c WHERE c.name = channel_names[n];
    CONTINUE WHEN NOT FOUND;
    DELETE FROM pgonce.channel c WHERE c.id = channel;
    INSERT INTO pgonce.dropped (channel_id, subscription_id) SELECT channel, d.id FROM unnest(doomed || NULL::integer) AS d (id);
    PERFORM pgonce_private.record_operation('DROP', channel_names[n], NULL, reason, emptied[n] + pgonce_private.empty_subscriptions(channel, doomed));
    DELETE FROM pgonce.delivery_key k WHERE k.channel_id = channel;
    EXECUTE format('DROP SEQUENCE IF EXISTS pgonce.%I', 'gate_' || channel_names[n]);
    PERFORM pgonce_private.drop_entries(channel_names[n]);
    dropped := dropped + 1;
  END LOOP;
  PERFORM set_config('lock_timeout', set_before, true);
  RETURN dropped;
EXCEPTION WHEN lock_not_available THEN
  IF SQLERRM LIKE 'pgonce: %' THEN
    RAISE;
  END IF;
  PERFORM pgonce_private.fail_for_locked_row(purpose);
END
$$;

CREATE OR REPLACE FUNCTION pgonce.drop_channel(channel_name text, reason text DEFAULT NULL) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT pgonce.drop_channels(ARRAY[channel_name], reason) > 0 $$;

-- Fails if a channel, or one of its subscriptions, holds more than so many notifications, scheduled ones and dead letters included: for a transaction
-- that is about to drop it. Null for the channel: all of them. No other transaction stores anything from then on until this one ends.
CREATE OR REPLACE FUNCTION pgonce.refuse_loss(channel_name text, subscription_name text DEFAULT NULL, at_most bigint DEFAULT 0) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  held record;
BEGIN
  IF channel_name IS NOT NULL AND NOT EXISTS (
       SELECT FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
        WHERE c.name = channel_name AND (subscription_name IS NULL OR s.name = subscription_name)) THEN
    RETURN; -- it is gone already, so nobody has to wait
  END IF;
  FOR try IN 1 .. 2 LOOP -- the first look is without a lock
    SELECT coalesce(sum(s.backlog), 0) AS now, coalesce(sum(s.scheduled), 0) AS later, coalesce(sum(s.dead_letters), 0) AS dead,
           string_agg(DISTINCT CASE WHEN subscription_name IS NULL THEN pgonce_private.drop_sql(s.channel)
                                ELSE format('SELECT pgonce.drop_subscription(%L, %L);', s.channel, s.subscription) END, ' ')
             FILTER (WHERE s.backlog + s.scheduled + s.dead_letters > 0) AS how
      INTO held FROM pgonce.channel_status s
     WHERE (channel_name IS NULL OR s.channel = channel_name) AND (subscription_name IS NULL OR s.subscription = subscription_name);
    IF held.now + held.later + held.dead > at_most THEN
      RAISE EXCEPTION 'pgonce: % still holds notifications: % waiting, % scheduled, % dead letters, which would be lost. Nothing was dropped: let listeners drain it, or look again and delete them on purpose with: % Then try again',
        coalesce('channel "' || channel_name || '"', 'database "' || current_database() || '"') || coalesce(', subscription "' || subscription_name || '"', ''),
        held.now, held.later, held.dead, held.how USING ERRCODE = 'PO003';
    END IF;
    IF try = 1 THEN
      PERFORM pgonce_private.hold_writers('drop ' || coalesce('channel "' || channel_name || '"', 'everything'));
    END IF;
  END LOOP;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
