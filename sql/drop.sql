-- Dropping channels and subscriptions while others write, publish and handle.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Keeps all writers from storing until the caller's transaction ends, for what must not miss a row that is about to be committed. Writers queue
-- behind the wait, so each try is short (1.75 s at most), and lets them pass when it fails. After 16 s in all it gives up. A caller with a
-- shorter lock_timeout, or one that keeps a user's table locked, has one try. The second lock is waited for for less than deadlock_timeout.
-- A caller that does not go on for 5 s, then or later, loses its session: all writers wait for it.
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
  PERFORM pgonce.bound_idle(5000);
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
  RAISE EXCEPTION 'pgonce: cannot % now, nothing was changed: transactions that have published or settled something were open all the time (the oldest in pg_stat_activity by xact_start, a VACUUM of pgonce.notification or pgonce.scheduled included); try again when they have ended',
    purpose USING ERRCODE = 'lock_not_available';
END
$$;

-- The error where another transaction has a channel or a subscription that is to be dropped.
CREATE OR REPLACE FUNCTION pgonce_private.fail_for_lock(purpose text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION 'pgonce: cannot % now, nothing was changed: another transaction that installs, changes, pauses or drops it is still open; try again when it has ended (pg_stat_activity shows the oldest by xact_start)',
    purpose USING ERRCODE = 'lock_not_available';
END
$$;

-- How many rows wait in these subscriptions, dead letters included.
CREATE OR REPLACE FUNCTION pgonce_private.count_waiting(subscriptions integer[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT (SELECT count(*) FROM pgonce.notification n WHERE n.subscription_id = ANY (subscriptions))
       + (SELECT count(*) FROM pgonce.scheduled d WHERE d.subscription_id = ANY (subscriptions))
       + (SELECT count(*) FROM pgonce.dead_letter l WHERE l.subscription_id = ANY (subscriptions))
$$;

-- Drops a subscription. Nobody waits for it, and it waits for no handler: what waits in the subscription is deleted by the housekeeping, see
-- clear_leftovers. Had it locked these rows, each would look like that of a process that died, if the drop failed.
CREATE OR REPLACE FUNCTION pgonce.drop_subscription(channel_name text, subscription_name text, reason text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  doomed integer;
  channel integer;
  set_before constant text := current_setting('lock_timeout');
BEGIN
  IF set_before = '0' THEN
    PERFORM set_config('lock_timeout', '10s', true);
  END IF;
  PERFORM FROM pgonce.channel c WHERE c.name = channel_name FOR NO KEY UPDATE; -- as an installation, which makes the store function too
  SELECT s.id, s.channel_id INTO doomed, channel FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
   WHERE c.name = channel_name AND s.name = subscription_name FOR UPDATE OF s;
  IF NOT FOUND THEN
    PERFORM set_config('lock_timeout', set_before, true);
    RETURN false;
  END IF;
  -- An installation with an older snapshot would store for it again: the change fails it.
  UPDATE pgonce.channel c SET changed_at = clock_timestamp(), changed_by = pgonce_private.operator_name() WHERE c.id = channel;
  PERFORM pgonce_private.record_operation('DROP', channel_name, subscription_name, reason, pgonce_private.count_waiting(ARRAY[doomed]));
  DELETE FROM pgonce.subscription s WHERE s.id = doomed;
  INSERT INTO pgonce.dropped (channel_id, subscription_id) VALUES (channel, doomed);
  PERFORM pgonce_private.make_entries(c) FROM pgonce.channel c WHERE c.id = channel;
  PERFORM pgonce.wake_up(channel_name, 'definition');
  PERFORM set_config('lock_timeout', set_before, true);
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  PERFORM pgonce_private.fail_for_lock('drop subscription "' || subscription_name || '" of channel "' || channel_name || '"');
END
$$;

-- Keeps installations from channels that are to be dropped, until the transaction ends. Returns how many rows wait in each.
CREATE OR REPLACE FUNCTION pgonce.lock_channels(channel_names text[]) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  set_before constant text := current_setting('lock_timeout');
BEGIN
  IF set_before = '0' THEN
    PERFORM set_config('lock_timeout', '10s', true);
  END IF;
  PERFORM FROM pgonce.channel c WHERE c.name = ANY (channel_names) ORDER BY c.name COLLATE "C" FOR UPDATE;
  PERFORM FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE c.name = ANY (channel_names) ORDER BY s.id FOR UPDATE OF s;
  PERFORM set_config('lock_timeout', set_before, true);
  RETURN ARRAY(SELECT pgonce_private.count_waiting(ARRAY(SELECT s.id FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE c.name = w.name))
                 FROM unnest(channel_names) WITH ORDINALITY AS w (name, n) ORDER BY w.n);
EXCEPTION WHEN lock_not_available THEN
  PERFORM pgonce_private.fail_for_lock('drop channel "' || array_to_string(channel_names, '", "') || '"');
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

-- How a channel is dropped by hand: after its triggers, which go with their function, in one transaction.
CREATE OR REPLACE FUNCTION pgonce_private.drop_sql(channel_name text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT concat(string_agg(DISTINCT 'BEGIN; ' || pgonce.drop_function_sql(f.function) || '; ', ''), format('SELECT pgonce.drop_channel(%L);', channel_name),
                CASE WHEN count(*) > 0 THEN ' COMMIT;' END)
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
    RAISE EXCEPTION 'pgonce: channel "%" was not dropped, nor any other with it, as trigger % of table % stores into it, and each write to the table would fail without it. If it was installed again meanwhile, stop whoever does that. Drop both by Triggers.drop in Java, or with: %',
      fed.name, fed.trigger, fed.relation, pgonce_private.drop_sql(fed.name) USING ERRCODE = 'dependent_objects_still_exist';
  END IF;
END
$$;

-- Drops channels that no trigger stores into any more. Returns how many there were. What waits in them is deleted by the housekeeping, as that of a
-- dropped subscription, and with it their delivery keys. Who stores something has the channel's view and function, which go here: so writers are held.
-- already: what pgonce.lock_channels returned for them in this transaction, if it was called.
CREATE OR REPLACE FUNCTION pgonce.drop_channels(channel_names text[], reason text DEFAULT NULL, already bigint[] DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  purpose constant text := 'drop channel "' || array_to_string(channel_names, '", "') || '"';
  set_before constant text := current_setting('lock_timeout');
  waiting bigint[];
  dropped bigint := 0;
  channel integer;
BEGIN
  IF NOT EXISTS (SELECT FROM pgonce.channel c WHERE c.name = ANY (channel_names)) THEN
    RETURN 0;
  END IF;
  waiting := coalesce(already, pgonce.lock_channels(channel_names));
  PERFORM pgonce_private.refuse_fed_channels(channel_names); -- behind the channels' locks, which installations take
  PERFORM pgonce_private.hold_writers(purpose);
  PERFORM set_config('lock_timeout', '250ms', true);
  FOR n IN 1 .. cardinality(channel_names) LOOP
    SELECT c.id INTO channel FROM pgonce.channel c WHERE c.name = channel_names[n];
    CONTINUE WHEN NOT FOUND;
    PERFORM pgonce.wake_up(channel_names[n], 'definition');
    INSERT INTO pgonce.dropped (channel_id, subscription_id)
    SELECT channel, s.id FROM pgonce.subscription s WHERE s.channel_id = channel UNION ALL SELECT channel, NULL;
    DELETE FROM pgonce.channel c WHERE c.id = channel;
    PERFORM pgonce_private.record_operation('DROP', channel_names[n], NULL, reason, waiting[n]);
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
  PERFORM pgonce_private.fail_for_lock(purpose);
END
$$;

CREATE OR REPLACE FUNCTION pgonce.drop_channel(channel_name text, reason text DEFAULT NULL) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT pgonce.drop_channels(ARRAY[channel_name], reason) > 0 $$;

-- Fails if a channel, or one of its subscriptions, holds more than so many notifications, scheduled ones and dead letters included. Null for the
-- channel: all of them.
CREATE OR REPLACE FUNCTION pgonce_private.refuse_waiting(channel_name text, subscription_name text, at_most bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  held record;
BEGIN
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
END
$$;

-- The same, for a transaction that is about to drop it. No other transaction stores anything from then on until this one ends.
CREATE OR REPLACE FUNCTION pgonce.refuse_loss(channel_name text, subscription_name text DEFAULT NULL, at_most bigint DEFAULT 0) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
    RAISE EXCEPTION 'pgonce: nothing was dropped: this transaction is %, and does not see what others commit while it waits for them; run it in one that is READ COMMITTED (BEGIN ISOLATION LEVEL READ COMMITTED)',
      upper(current_setting('transaction_isolation')) USING ERRCODE = 'invalid_transaction_state';
  END IF;
  IF channel_name IS NOT NULL AND NOT EXISTS (
       SELECT FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
        WHERE c.name = channel_name AND (subscription_name IS NULL OR s.name = subscription_name)) THEN
    RETURN; -- it is gone already, so nobody has to wait
  END IF;
  PERFORM pgonce_private.refuse_waiting(channel_name, subscription_name, at_most); -- before anybody has to wait
  PERFORM pgonce_private.hold_writers('drop ' || coalesce('channel "' || channel_name || '"', 'everything'));
  PERFORM pgonce_private.refuse_waiting(channel_name, subscription_name, at_most);
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
