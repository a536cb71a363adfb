-- Installing channels and changing their modes.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- The role that the session acts as, whichever function asks.
CREATE OR REPLACE FUNCTION pgonce_private.caller() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role') END $$;

-- Fails unless the caller may change the channel. A role that owns one may have been dropped, or be one of another server. Nobody may
-- within a trigger, or where PostgreSQL runs code of a table's owner by itself (expressions of an index, ANALYZE): such code, casts included, must not
-- get the rights of who writes the row, or analyzes the table.
CREATE OR REPLACE FUNCTION pgonce_private.require_owner(channel pgonce.channel) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  caller constant text := pgonce_private.caller();
BEGIN
  UNLISTEN pgonce_nobody; -- does nothing, and fails where code is run so ("within security-restricted operation"), by autovacuum too
  IF pg_trigger_depth() > 0 THEN
    RAISE EXCEPTION 'pgonce: channel "%" cannot be installed or changed by a trigger: do it in a statement of its own', channel.name
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles r
                  WHERE r.rolname IN (channel.owner, 'pgonce_owner', 'pgonce_admin') AND pg_has_role(caller, r.oid, 'MEMBER')) THEN
    RAISE EXCEPTION 'pgonce: role "%" may not change channel "%", which role "%" has installed: %', caller, channel.name, channel.owner,
      CASE WHEN to_regrole(quote_ident(channel.owner)) IS NOT NULL THEN 'GRANT it that role, or pgonce_admin'
           ELSE format('that one is gone; GRANT it pgonce_admin, or have a superuser give it the channel: UPDATE pgonce.channel SET owner = %L WHERE name = %L', caller, channel.name) END
      USING ERRCODE = 'insufficient_privilege';
  END IF;
END
$$;

-- Makes the channel exist as defined. Idempotent. Another mode or feed than the installed one is refused, because rows stored under the old one may
-- still wait: see change_mode and drop_channel. Other differences are changed. Listeners with the former definition then handle nothing more of the
-- channel; a wake-up tells them, or their next poll.
-- subscriptions is an object: name to filter, or to null. A subscription gets what is stored from its installation on. Subscriptions that are not
-- named stay as they are (drop_subscription). max_rate, max_per_key, wake_ups, history and history_payload: see pgonce.channel. Waits for another
-- transaction that changes the channel as lock_timeout says, and for no longer than 10 s where that is not set.
CREATE OR REPLACE FUNCTION pgonce.install_channel(
  channel_name text, mode text, feed text, subscriptions jsonb DEFAULT '{"default": null}',
  key_memory interval DEFAULT '0', key_order text DEFAULT 'NONE', max_depth integer DEFAULT 100, max_rate integer DEFAULT NULL,
  max_per_key integer DEFAULT NULL, wake_ups text DEFAULT 'GATED', history interval DEFAULT NULL, history_payload boolean DEFAULT false)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  channel pgonce.channel;
  is_new boolean;
  changed boolean;
  added integer;
  subscribed bigint;
  unfit text;
  contradiction text;
  set_before constant text := current_setting('lock_timeout');
BEGIN
  -- The bounds of pgonce.channel, pgonce.subscription and Java, for the message. Intervals in seconds, as they are kept: compared as intervals, 10
  -- years are 3600 days.
  SELECT string_agg(format('%s %s (it is %s)', s.name, coalesce(s.given, 'null'), s.bounds), ', ') INTO unfit
    FROM (VALUES ('channel_name', channel_name, channel_name ~ '^[a-z][a-z0-9_.-]{0,47}$', 'a lower-case letter and at most 47 of a-z, 0-9, _ . and -'),
                 ('mode', mode, mode IN ('EXACTLY_ONCE', 'AT_LEAST_ONCE', 'AT_MOST_ONCE', 'BROADCAST'), 'EXACTLY_ONCE, AT_LEAST_ONCE, AT_MOST_ONCE or BROADCAST'),
                 ('feed', feed, feed IS NOT NULL, 'published for what is published'),
                 ('subscriptions', subscriptions::text, jsonb_typeof(subscriptions) = 'object', 'an object with a filter, or null, for each name'),
                 ('key_order', key_order, key_order IN ('NONE', 'DEAD_LETTER_BLOCKS', 'DEAD_LETTER_PASSES'), 'NONE, DEAD_LETTER_BLOCKS or DEAD_LETTER_PASSES'),
                 ('wake_ups', wake_ups, wake_ups IN ('GATED', 'ALWAYS', 'NEVER'), 'GATED, ALWAYS or NEVER'),
                 ('key_memory', key_memory::text, extract(epoch FROM key_memory) BETWEEN 0 AND 3650 * 86400, '0 to 3650 days'),
                 ('max_depth', max_depth::text, max_depth BETWEEN 1 AND 10000, '1 to 10000'),
                 ('max_rate', max_rate::text, max_rate IS NULL OR max_rate BETWEEN 1 AND 1000000, '1 to 1000000, or null for none'),
                 ('max_per_key', max_per_key::text, max_per_key IS NULL OR max_per_key BETWEEN 1 AND 100, '1 to 100, or null for none'),
                 ('history', history::text, history IS NULL OR extract(epoch FROM history) BETWEEN 60 AND 400 * 86400, '1 minute to 400 days, or null for none'),
                 ('history_payload', history_payload::text, NOT history_payload OR history IS NOT NULL, 'true or false, and false without a history'))
      AS s (name, given, fits, bounds)
   WHERE s.fits IS NOT TRUE;
  IF unfit IS NULL THEN
    SELECT string_agg(format('subscription %s with filter %s (a name is %s; a filter is an object whose values are texts, or null)',
             u.key, u.value, 'a lower-case letter and at most 47 of a-z, 0-9, _ . and -'), ', ') INTO unfit
      FROM jsonb_each(subscriptions) AS u
     WHERE u.key !~ '^[a-z][a-z0-9_.-]{0,47}$' OR jsonb_typeof(u.value) NOT IN ('object', 'null') OR jsonb_path_exists(u.value, 'strict $.* ? (@.type() != "string")', silent => true);
  END IF;
  IF unfit IS NOT NULL THEN
    RAISE EXCEPTION 'pgonce: channel "%" was not installed, a setting is out of its bounds: %; give one within them', channel_name, unfit
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- An empty filter is none: what was written without a context holds all of it too.
  subscriptions := coalesce((SELECT jsonb_object_agg(u.key, nullif(u.value, '{}')) FROM jsonb_each(subscriptions) u), '{}');
  IF max_per_key IS NOT NULL AND mode = 'BROADCAST' THEN
    RAISE EXCEPTION 'pgonce: channel "%" cannot have a limit per key: it is a BROADCAST, which stores nothing; leave max_per_key out, or take another mode',
      channel_name USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF max_per_key IS NOT NULL AND key_order <> 'NONE' THEN
    RAISE EXCEPTION 'pgonce: channel "%" cannot have a limit per key beside its order, by which one notification of a key is handled at a time: leave max_per_key out, or key_order',
      channel_name USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF history IS NOT NULL AND mode = 'BROADCAST' THEN
    RAISE EXCEPTION 'pgonce: channel "%" cannot have a history: it is a BROADCAST, which stores nothing; leave history out, or take another mode',
      channel_name USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- In hours: a day of a session's zone may have 23.
  key_memory := extract(epoch FROM key_memory) * interval '1 second';
  history := extract(epoch FROM history) * interval '1 second';
  BEGIN
    IF set_before = '0' THEN
      PERFORM set_config('lock_timeout', '10s', true);
    END IF;
    LOOP
      -- The row lock keeps others from dropping it or changing its mode until this transaction ends. Two installations run one after the other. An
      -- INSERT would use up an id, even where the channel is there.
      SELECT c.* INTO channel FROM pgonce.channel c WHERE c.name = channel_name FOR NO KEY UPDATE;
      is_new := NOT FOUND;
      EXIT WHEN FOUND;
      INSERT INTO pgonce.channel AS c (name, mode, feed, key_memory, key_order, max_depth, max_rate, max_per_key, wake_ups, history, history_payload, owner)
      VALUES (channel_name, install_channel.mode, install_channel.feed, install_channel.key_memory, install_channel.key_order, install_channel.max_depth,
              install_channel.max_rate, install_channel.max_per_key, install_channel.wake_ups, install_channel.history,
              install_channel.history_payload, pgonce_private.caller())
      ON CONFLICT (name) DO NOTHING RETURNING c.* INTO channel;
      EXIT WHEN FOUND;
    END LOOP;
    -- In one order, as pause does.
    PERFORM FROM pgonce.subscription s WHERE s.channel_id = channel.id AND s.name IN (SELECT jsonb_object_keys(subscriptions)) ORDER BY s.id FOR NO KEY UPDATE;
    PERFORM set_config('lock_timeout', set_before, true);
  EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'pgonce: channel "%" was not installed: another transaction that installs, changes or drops it is still open; try again when it has ended (pg_stat_activity shows the oldest by xact_start)',
      channel_name USING ERRCODE = 'lock_not_available';
  END;
  IF channel.id > 524287 THEN -- a subscription's id is 4096 times as large
    RAISE EXCEPTION 'pgonce: channel "%" was not installed: this database has had 524287 channels, those dropped and those whose installation failed included, and takes no more: give the service a database of its own',
      channel_name USING ERRCODE = 'program_limit_exceeded';
  END IF;
  PERFORM pgonce_private.require_owner(channel);
  IF channel.feed <> install_channel.feed THEN
    RAISE EXCEPTION 'pgonce: channel "%" is installed with feed "%", not "%": give one of the two another name, or drop the old one with: %',
      channel_name, channel.feed, install_channel.feed,
      concat(pgonce_private.drop_sql(channel_name), CASE WHEN channel.feed ^@ 'trigger on ' AND install_channel.feed ^@ 'trigger on ' THEN
        format(' If it is the same table under another name, nothing has to be dropped. Install again after: UPDATE pgonce.channel SET feed = %L WHERE name = %L, as pgonce_owner',
          install_channel.feed, channel_name) END) USING ERRCODE = 'PO003';
  END IF;
  IF channel.mode <> install_channel.mode THEN
    RAISE EXCEPTION 'pgonce: channel "%" is installed with mode %, not %: migrate it with: SELECT pgonce.change_mode(%, %); then install again',
      channel_name, channel.mode, install_channel.mode, quote_literal(channel_name), quote_literal(install_channel.mode) USING ERRCODE = 'PO003';
  END IF;
  UPDATE pgonce.channel c SET key_memory = install_channel.key_memory, key_order = install_channel.key_order, max_depth = install_channel.max_depth,
         max_rate = install_channel.max_rate, max_per_key = install_channel.max_per_key, wake_ups = install_channel.wake_ups,
         history = install_channel.history, history_payload = install_channel.history_payload
   WHERE c.id = channel.id
     AND (c.key_memory, c.key_order, c.max_depth, c.max_rate, c.max_per_key, c.wake_ups, c.history, c.history_payload) IS DISTINCT FROM
         (install_channel.key_memory, install_channel.key_order, install_channel.max_depth, install_channel.max_rate, install_channel.max_per_key, install_channel.wake_ups,
          install_channel.history, install_channel.history_payload);
  changed := is_new OR FOUND;
  SELECT count(*) INTO added FROM jsonb_object_keys(subscriptions) AS u (name)
   WHERE NOT EXISTS (SELECT FROM pgonce.subscription s WHERE s.channel_id = channel.id AND s.name = u.name);
  IF channel.numbered + added > 4095 THEN
    RAISE EXCEPTION 'pgonce: channel "%" has had % subscriptions, dropped ones included, and with % more there would be more than the 4095 that a channel can have: give these another channel',
      channel_name, channel.numbered, added USING ERRCODE = 'program_limit_exceeded';
  END IF;
  WITH added AS (
    SELECT u.key, u.value, row_number() OVER (ORDER BY u.key) AS n FROM jsonb_each(subscriptions) AS u (key, value)
     WHERE NOT EXISTS (SELECT FROM pgonce.subscription s WHERE s.channel_id = channel.id AND s.name = u.key)
  )
  INSERT INTO pgonce.subscription (id, channel_id, of_channel, name, filter)
  SELECT 4096 * channel.id + channel.numbered + a.n, channel.id, CASE WHEN channel.mode <> 'BROADCAST' THEN channel.name END, a.key, nullif(a.value, 'null')
    FROM added a;
  UPDATE pgonce.channel c SET numbered = c.numbered + added WHERE c.id = channel.id AND added > 0;
  UPDATE pgonce.subscription s SET filter = nullif(u.value, 'null') FROM jsonb_each(subscriptions) AS u (key, value)
   WHERE s.channel_id = channel.id AND s.name = u.key AND s.filter IS DISTINCT FROM nullif(u.value, 'null');
  GET DIAGNOSTICS subscribed = ROW_COUNT;
  subscribed := subscribed + added;
  contradiction := pgonce.deferred_with_filter(channel_name, false);
  IF contradiction IS NOT NULL THEN
    RAISE EXCEPTION 'pgonce: %', contradiction USING ERRCODE = 'PO003';
  END IF;
  -- Of a BROADCAST too, which may be changed to another mode: the functions of its triggers read it.
  IF pgonce.gate_of(channel_name) IS NULL THEN
    PERFORM pgonce_private.make_gate(channel_name, CASE wake_ups WHEN 'NEVER' THEN 9223372036854775807 WHEN 'ALWAYS' THEN 0 ELSE 9223372036854775806 END);
  END IF;
  PERFORM pgonce_private.make_entries(c) FROM pgonce.channel c WHERE c.id = channel.id;
  IF changed OR subscribed > 0 THEN
    UPDATE pgonce.channel c SET changed_at = clock_timestamp(), changed_by = pgonce_private.operator_name() WHERE c.id = channel.id;
    PERFORM pgonce_private.record_operation('INSTALL', channel_name, NULL, NULL, subscribed,
      format('mode %s, feed %s, subscriptions %s, key memory %s, key order %s, maximum depth %s, maximum rate %s, maximum per key %s, wake-ups %s, history %s',
        install_channel.mode, install_channel.feed, subscriptions, install_channel.key_memory, install_channel.key_order, install_channel.max_depth,
        coalesce(install_channel.max_rate::text, 'none'), coalesce(install_channel.max_per_key::text, 'none'), install_channel.wake_ups,
        coalesce(install_channel.history::text, 'none') || CASE WHEN install_channel.history_payload THEN ' with payloads' ELSE '' END));
    IF NOT is_new THEN -- its listeners compare it with their definition
      PERFORM pgonce.wake_up(channel_name, 'definition');
    END IF;
  END IF;
  RETURN channel.id;
END
$$;

-- Changes what a channel promises. What waits in it must have been handled, redriven or dropped before the channel stops being stored. Listeners of
-- the old mode learn it as with install_channel; until then they may claim under EXACTLY_ONCE, and lease nothing more. Triggers that were made
-- for a mode that stores go on storing once the channel is BROADCAST, until it is installed again. It waits for other transactions as long as
-- install_channel does.
CREATE OR REPLACE FUNCTION pgonce.change_mode(channel_name text, new_mode text, reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  old_mode text;
  waiting bigint;
  buried bigint;
  set_before constant text := current_setting('lock_timeout');
BEGIN
  IF (new_mode IN ('EXACTLY_ONCE', 'AT_LEAST_ONCE', 'AT_MOST_ONCE', 'BROADCAST')) IS NOT TRUE THEN
    RAISE EXCEPTION 'pgonce: the mode of channel "%" was not changed: there is no mode %; give EXACTLY_ONCE, AT_LEAST_ONCE, AT_MOST_ONCE or BROADCAST',
      channel_name, coalesce(new_mode, 'null') USING ERRCODE = 'invalid_parameter_value';
  END IF;
  BEGIN
    IF set_before = '0' THEN
      PERFORM set_config('lock_timeout', '10s', true);
    END IF;
    -- Locks that may have to be waited for come first, before others have to wait for this transaction: a pause, or dropping a subscription, may take
    -- long.
    SELECT c.mode INTO old_mode FROM pgonce.channel c WHERE c.name = channel_name FOR NO KEY UPDATE;
    -- With a snapshot from before the locks it would not see what was leased until then, and leave it to be run again.
    IF old_mode <> new_mode AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
      RAISE EXCEPTION 'pgonce: the mode of channel "%" was not changed: this transaction is %, and does not see what others commit while it waits for them; run it in one that is READ COMMITTED (BEGIN ISOLATION LEVEL READ COMMITTED)',
        channel_name, upper(current_setting('transaction_isolation')) USING ERRCODE = 'invalid_transaction_state';
    END IF;
    PERFORM FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE c.name = channel_name AND old_mode <> new_mode
      ORDER BY s.id FOR NO KEY UPDATE OF s;
    -- From here on nothing is leased or given back; listeners that try to lease return without a row.
    PERFORM pg_advisory_xact_lock(pgonce_private.mode_lock(), o.id) FROM (
      SELECT s.id FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id WHERE c.name = channel_name AND c.mode <> new_mode ORDER BY s.id) o;
    -- Of what was given back, one that an open transaction cancels: should that be rolled back, no claim would tell that its handler has begun.
    PERFORM FROM pgonce.scheduled d WHERE d.subscription_id IN (SELECT s.id FROM pgonce.subscription s WHERE s.of_channel = channel_name)
        AND old_mode = 'AT_LEAST_ONCE' AND new_mode = 'AT_MOST_ONCE' AND d.attempts = 0 AND d.token IS NULL AND d.xmax <> '0' ORDER BY d.id FOR UPDATE;
    PERFORM set_config('lock_timeout', set_before, true);
  EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'pgonce: the mode of channel "%" was not changed: another transaction that installs, changes, pauses or drops it, or leases from it or cancels something in it, is still open; try again when it has ended (pg_stat_activity shows the oldest by xact_start)',
      channel_name USING ERRCODE = 'lock_not_available';
  END;
  IF old_mode IS NULL THEN
    RAISE EXCEPTION 'pgonce: channel "%" is not installed: look for its name in pgonce.channel', channel_name USING ERRCODE = 'undefined_object';
  ELSIF old_mode = new_mode THEN
    RETURN; -- nothing to change, so nobody has to wait
  END IF;
  IF new_mode = 'BROADCAST' THEN
    PERFORM pgonce_private.hold_writers('change the mode of channel "' || channel_name || '"');
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
  SELECT count(*) FILTER (WHERE pgonce.bury(d.subscription_id, d.id, d.attempts, d.token, d.attempts, 'OUTCOME_UNKNOWN', 'its handler had begun when the channel''s mode was changed'))
    INTO buried
    FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
    JOIN pgonce.scheduled d ON d.subscription_id = s.id AND d.token IS NOT NULL
   WHERE c.name = channel_name AND c.mode = 'AT_MOST_ONCE' AND new_mode <> 'AT_MOST_ONCE';
  -- A row whose handler has begun before the channel becomes AT_MOST_ONCE, and that waits to be run again, becomes a dead letter. A handler that is
  -- running may end well; if not, schedule and lease make a dead letter of its row.
  SELECT buried + count(*) FILTER (WHERE pgonce.bury(w.subscription_id, w.id, w.attempts, w.token, greatest(w.attempts, 1),
                                           CASE WHEN w.token IS NULL AND w.attempts > 0 THEN 'ATTEMPTS_USED_UP' ELSE 'OUTCOME_UNKNOWN' END,
                                           coalesce(w.last_error, 'its handler had begun when the channel''s mode was changed')))
    INTO buried
    FROM (SELECT d.subscription_id, d.id, d.attempts, d.token, d.last_error
            FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id JOIN pgonce.scheduled d ON d.subscription_id = s.id
           WHERE c.name = channel_name AND c.mode <> 'AT_MOST_ONCE' AND new_mode = 'AT_MOST_ONCE' AND ((d.attempts > 0) = (d.token IS NULL)
                  -- Given back by a listener that stopped, or by a handler that paused: see pgonce.schedule.
                  OR old_mode = 'AT_LEAST_ONCE' AND d.token IS NULL AND d.xmax <> '0')
             FOR UPDATE OF d SKIP LOCKED) w;
  -- Which rows listeners of EXACTLY_ONCE hold, or held and gave back, is told only by their locks: lease looks at these. The hour is for listeners
  -- that have not heard of the change yet.
  UPDATE pgonce.channel c SET mode = new_mode,
         changed_at = clock_timestamp(), changed_by = pgonce_private.operator_name(),
         held_until = CASE WHEN old_mode = 'EXACTLY_ONCE' THEN clock_timestamp() + interval '1 hour' ELSE c.held_until END
   WHERE c.name = channel_name;
  UPDATE pgonce.subscription s SET of_channel = CASE WHEN new_mode <> 'BROADCAST' THEN c.name END
    FROM pgonce.channel c WHERE c.id = s.channel_id AND c.name = channel_name AND (s.of_channel IS NULL) <> (new_mode = 'BROADCAST');
  PERFORM pgonce_private.make_entries(c) FROM pgonce.channel c WHERE c.name = channel_name;
  PERFORM pgonce_private.record_operation('CHANGE_MODE', channel_name, NULL, reason, buried,
    concat(old_mode, ' to ', new_mode, CASE WHEN buried > 0 THEN format(', which made %s dead letters of what had begun', buried) END));
  PERFORM pgonce.wake_up(channel_name, 'definition');
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
