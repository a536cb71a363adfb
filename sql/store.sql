-- The ways into a channel: a view and a function of its own. By the view triggers store rows for the channel's subscriptions, and for no others. By the
-- function goes what else is stored one by one: what code publishes, what has a delivery key or a due time, dead letters and broadcasts. Neither shows
-- anything.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- The rarer ways of a channel's store function: a dead letter, or a row that is due later.
CREATE OR REPLACE FUNCTION pgonce_private.store_aside(
  subscriptions integer[], id bigint, payload json, key text, order_key text, due_at timestamptz, context jsonb, stamp integer, error text, channel_name text,
  notifies boolean)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
  IF error IS NOT NULL THEN
    INSERT INTO pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, delivery_key, order_key, context, stamp)
    SELECT s.i, id, 0, clock_timestamp(), 'NOT_STORABLE', error, payload, key, order_key, context, stamp FROM unnest(subscriptions) AS s (i);
  ELSE
    INSERT INTO pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, delivery_key, order_key, context, stamp)
    SELECT s.i, id, due_at, 0, clock_timestamp(), payload, key, order_key, context, stamp FROM unnest(subscriptions) AS s (i);
    IF FOUND AND notifies THEN
      PERFORM pgonce.wake_up(channel_name, 'later');
    END IF;
  END IF;
END
$$;

-- The body of a channel's store function. It stores one notification for those subscriptions that take its context, or broadcasts it, and wakes the
-- listeners. A delivery key that is there already stores nothing; one of a notification that no subscription takes is done at once.
-- error: it is a dead letter, since this was wrong with it. Returns the notification's id; where the key was there already, that of the notification
-- that has it, negated. What the channel is installed with stands in it as constants, so that no writer
-- pays for a look at the channel. It names all in full: a pinned search_path would be set and set back with each call. of_channel: the channel's id
-- where something is published, null in a trigger, which was made with this function.
CREATE OR REPLACE FUNCTION pgonce_private.store_body(channel pgonce.channel) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN channel.mode = 'BROADCAST' THEN format($body$
BEGIN
  IF of_channel OPERATOR(pg_catalog.<>) %2$s THEN
    PERFORM pgonce_private.fail_for_other_id(%1$L);
  ELSIF of_channel IS NOT NULL THEN
    PERFORM pgonce_private.refuse_for_broadcast(%1$L, ARRAY[due_at], ARRAY[key], ARRAY[order_key], ARRAY[context]);
  END IF;
  IF error IS NULL THEN
    RETURN pgonce.broadcast(%1$L, payload::pg_catalog.text, version);
  END IF;
  RAISE WARNING 'pgonce: channel %% cannot send a row: %%', %1$L, error;
  RETURN NULL;
END
$body$, channel.name, channel.id) ELSE format($body$
#variable_conflict use_variable
DECLARE
  new_id constant bigint := pg_catalog.nextval('pgonce.notification_id');
  -- Before the INSERT, which would prepare the calls anew with each row. What a trigger stores has none: no publisher gives that text to the letter.
  fingerprint constant pg_catalog.bytea := CASE WHEN key IS NOT NULL THEN CASE WHEN of_channel IS NULL THEN '' ELSE pgonce.fingerprint(payload) END END;
  stamp integer;
  all_context pg_catalog.jsonb;
%7$s  holder bigint;
BEGIN
  -- One look for all that most writers have not set.
  IF (version OPERATOR(pg_catalog.=) 1) IS NOT TRUE OR context IS NOT NULL OR pg_catalog.current_setting('pgonce.depth', true) OPERATOR(pg_catalog.<>) ''
     OR pg_catalog.current_setting('pgonce.context', true) OPERATOR(pg_catalog.<>) '' THEN
    stamp := pgonce.stamp(pgonce.current_depth(), version);
    all_context := pgonce_private.add_context(pgonce.current_context(), context);
  END IF;
%8$s  IF of_channel OPERATOR(pg_catalog.<>) %1$s
     OR pg_catalog.length(key) OPERATOR(pg_catalog.<) 1 OR pg_catalog.length(key) OPERATOR(pg_catalog.>) 500
     OR pg_catalog.length(order_key) OPERATOR(pg_catalog.<) 1 OR pg_catalog.length(order_key) OPERATOR(pg_catalog.>) 500 THEN
    PERFORM CASE WHEN of_channel OPERATOR(pg_catalog.<>) %1$s THEN pgonce_private.fail_for_other_id(%3$L) ELSE pgonce_private.fail_for_key_length(%3$L) END;
  END IF;
  IF key IS NOT NULL AND %11$s THEN
    INSERT INTO pgonce.delivery_key (channel_id, key, id, fingerprint, waiting)
    VALUES (%1$s, key, new_id, fingerprint, %9$s)
    ON CONFLICT DO NOTHING;
  END IF;
  IF key IS NOT NULL AND NOT FOUND THEN
    holder := pgonce_private.take_key(%3$L, %9$s, key, new_id, fingerprint, same_payload);
    IF holder OPERATOR(pg_catalog.<>) new_id THEN
      RETURN OPERATOR(pg_catalog.-) holder;
    END IF;
  END IF;
  IF error IS NOT NULL OR due_at IS NOT NULL THEN
    IF error IS NOT NULL OR due_at OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN
      PERFORM pgonce_private.store_aside(%5$s, new_id, payload, key, %2$s, due_at, all_context, stamp, error, %3$L, %4$L);
      RETURN new_id;
    END IF;
  END IF;
  INSERT INTO pgonce.notification (subscription_id, id, payload, delivery_key, order_key, context, stamp)
  SELECT s.id, new_id, payload, key, %2$s, all_context, stamp FROM %10$s AS s (id);
%6$s  RETURN new_id;
END
$body$, channel.id,
    CASE WHEN channel.key_order <> 'NONE' OR channel.max_per_key IS NOT NULL
         THEN 'coalesce(order_key, pg_catalog.concat(pg_catalog.chr(1), new_id))' ELSE 'NULL' END,
    channel.name, channel.wake_ups <> 'NEVER', CASE WHEN t.choose THEN 'takers' ELSE t.all_ids END,
    -- The gate says so too, as soon as a listener has set it.
    CASE WHEN channel.wake_ups <> 'NEVER' THEN format($notify$  IF FOUND AND pgonce.needs_notify(%L) THEN
    PERFORM pgonce.wake_up(%L);
  END IF;
$notify$, format('pgonce.%I', 'gate_' || channel.name), channel.name) ELSE '' END,
    CASE WHEN t.choose THEN E'  takers integer[];\n  waiting integer;\n' ELSE '' END,
    CASE WHEN t.choose THEN format(E'  takers := %s;\n  waiting := pg_catalog.cardinality(takers);\n', t.chosen) ELSE '' END,
    CASE WHEN t.choose THEN 'waiting' ELSE t.number::text END,
    -- Where all take everything, a list: of an array PostgreSQL makes a table with each call.
    CASE WHEN t.choose OR t.number = 0 THEN format('pg_catalog.unnest(%s)', CASE WHEN t.choose THEN 'takers' ELSE t.all_ids END) ELSE t.list END,
    CASE WHEN t.choose THEN 'waiting OPERATOR(pg_catalog.>) 0' ELSE (t.number > 0)::text END) END
    FROM (
      SELECT count(*) AS number, count(s.filter) > 0 AS choose, format('%L::pg_catalog.int4[]', coalesce(array_agg(s.id ORDER BY s.id), '{}')) AS all_ids,
             format('(VALUES %s)', string_agg(format('(%s)', s.id), ', ' ORDER BY s.id)) AS list,
             format('ARRAY(SELECT f.id FROM (VALUES %s) AS f (id, filter) WHERE f.filter IS NULL OR all_context OPERATOR(pg_catalog.@>) f.filter)',
                    string_agg(format('(%s, %L::pg_catalog.jsonb)', s.id, s.filter), ', ' ORDER BY s.id)) AS chosen
        FROM pgonce.subscription s WHERE s.channel_id = channel.id) AS t
$$;

-- As regprocedure reads it.
CREATE OR REPLACE FUNCTION pgonce_private.store_function(channel_name text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT format('pgonce.%I(json, text, text, timestamptz, integer, text, jsonb, boolean, integer)', 'store_' || channel_name) $$;

-- Makes both as the channel is now. The view holds for all ids that subscriptions of the channel can get, so it is not replaced, for which
-- PostgreSQL would wait for all writers. But after a restore of data alone it is of another id: then it is, and functions of triggers that stand for
-- the former id must not store until they are installed again. Nobody waits for the function.
CREATE OR REPLACE FUNCTION pgonce_private.make_entries(channel pgonce.channel) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  view constant text := format('pgonce.%I', 'into_' || channel.name);
  store constant text := pgonce_private.store_function(channel.name);
  body constant text := pgonce_private.store_body(channel);
BEGIN
  IF pg_get_viewdef(to_regclass(view)) !~ format('/ 4096[)] = %s([^0-9]|$)', channel.id) THEN
    EXECUTE format('DROP VIEW %s', view);
  END IF;
  IF to_regclass(view) IS NULL THEN
    EXECUTE format('CREATE VIEW %s AS SELECT subscription_id, id, payload, order_key, context, stamp FROM pgonce.notification WHERE subscription_id / 4096 = %s WITH CASCADED CHECK OPTION',
                   view, channel.id);
    -- Each step of an expression costs each statement. nullif: a setting that was used once in a session is empty from then on.
    EXECUTE format($sql$ALTER VIEW %s ALTER COLUMN context SET DEFAULT pgonce.read_context(nullif(current_setting('pgonce.context', true), ''))$sql$, view);
    EXECUTE format($sql$ALTER VIEW %s ALTER COLUMN stamp SET DEFAULT pgonce.read_depth(nullif(current_setting('pgonce.depth', true), ''))$sql$, view);
    EXECUTE format('REVOKE ALL ON %s FROM PUBLIC', view);
  END IF;
  IF NOT EXISTS (SELECT FROM pg_proc p WHERE p.oid = to_regprocedure(store) AND p.prosrc = body) THEN
    EXECUTE format($sql$
      CREATE OR REPLACE FUNCTION pgonce.%I(
        payload json, key text DEFAULT NULL, order_key text DEFAULT NULL, due_at timestamptz DEFAULT NULL, version integer DEFAULT 1,
        error text DEFAULT NULL, context jsonb DEFAULT NULL, same_payload boolean DEFAULT NULL, of_channel integer DEFAULT NULL)
      RETURNS bigint
      LANGUAGE plpgsql SECURITY DEFINER
      AS %L
      $sql$, 'store_' || channel.name, body);
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', store);
  END IF;
END
$$;

-- Drops them. Waits for all who have stored by the view.
CREATE OR REPLACE FUNCTION pgonce_private.drop_entries(channel_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  EXECUTE format('DROP VIEW IF EXISTS pgonce.%I', 'into_' || channel_name);
  EXECUTE format('DROP FUNCTION IF EXISTS pgonce.%I', 'store_' || channel_name);
END
$$;

-- The subscriptions of a channel as a relation in SQL, as its triggers have it. With filters it is of those that take the writer's context. A filter
-- has no $ in it, with which it could end the dollar quotes around it. Null if there is no such channel.
CREATE OR REPLACE FUNCTION pgonce.subscriptions_sql(channel_name text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN count(s.id) = 0 THEN '(SELECT 0 WHERE false)'
              WHEN count(s.filter) = 0 THEN format('(VALUES %s)', string_agg(format('(%s)', s.id), ', ' ORDER BY s.id))
              ELSE format('(SELECT f.id FROM (VALUES %s) AS f (id, filter) WHERE f.filter IS NULL OR pgonce.current_context() @> f.filter)',
                          string_agg(format('(%s, %L::jsonb)', s.id, replace(s.filter::text, '$', E'\\u0024')), ', ' ORDER BY s.id)) END
    FROM pgonce.channel c LEFT JOIN pgonce.subscription s ON s.channel_id = c.id WHERE c.name = channel_name GROUP BY c.id
$$;

-- The function of a channel's triggers. Any role that may install can make one of such a name: it counts if its owner may store into the channel, by
-- its view or by its function. After a restore of data alone the view is made again, without rights, and a trigger may still store by the function.
CREATE OR REPLACE FUNCTION pgonce_private.trigger_function(channel_name text) RETURNS oid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT p.oid FROM pg_proc p
   WHERE p.pronamespace = 'pgonce_triggers'::regnamespace AND p.proname = 'capture_' || channel_name AND p.pronargs = 0
     AND (has_table_privilege(p.proowner, to_regclass(format('pgonce.%I', 'into_' || channel_name)), 'INSERT')
          OR has_function_privilege(p.proowner, to_regprocedure(pgonce_private.store_function(channel_name)), 'EXECUTE'))
$$;

-- Whether a role can act as another one, by SET ROLE.
CREATE OR REPLACE FUNCTION pgonce_private.can_act_as(role_name text, other text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT pg_has_role(role_name, other, CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END) $$;

-- To whom the function of a table's triggers is to belong if the caller installs them: to the table's owner where the caller can act as that, and has
-- its rights without doing so (a NOINHERIT member has not, and could not attach such a function), else to the caller. A superuser can act as
-- everybody, and its rights are not for the SQL and the casts of an owner with fewer.
CREATE OR REPLACE FUNCTION pgonce.capturing_role(relation regclass) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN pgonce_private.can_act_as(pgonce_private.caller(), o.name) AND pg_has_role(pgonce_private.caller(), o.name, 'USAGE')
              THEN o.name ELSE pgonce_private.caller() END
    FROM pg_class c CROSS JOIN LATERAL (SELECT pg_get_userbyid(c.relowner)::text AS name) o WHERE c.oid = relation
$$;

-- Whether a role has rights itself. What it has as a member of another role, or as a superuser, may be taken from it.
CREATE OR REPLACE FUNCTION pgonce_private.has_itself(role_name text, rights aclitem[], VARIADIC wanted text[]) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT wanted <@ ARRAY(SELECT a.privilege_type FROM aclexplode(rights) a JOIN pg_roles r ON r.oid = a.grantee WHERE r.rolname = role_name) $$;

-- Lets a role, that the caller can act as, own the function of the channel's triggers: all of pgonce that such a function needs. What is
-- the channel's goes with the channel; the rights on the schemas and the sequence stay with the role (docs/guarantees.md). It is called where that function is made or
-- replaced, in the transaction that does so. One at a time: of two that grant rights on the same schema at once, PostgreSQL fails the second ("tuple
-- concurrently updated"). The lock is that of Installer in Java.
CREATE OR REPLACE FUNCTION pgonce.let_capture(channel_name text, role_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  channel constant pgonce.channel := pgonce_private.find_channel(channel_name);
  view constant text := format('pgonce.%I', 'into_' || channel_name);
  store constant text := pgonce_private.store_function(channel_name);
  gate constant regclass := pgonce.gate_of(channel_name);
  set_before constant text := current_setting('lock_timeout');
BEGIN
  PERFORM pgonce_private.require_owner(channel);
  IF NOT pgonce_private.can_act_as(pgonce_private.caller(), role_name) THEN
    RAISE EXCEPTION 'pgonce: role "%" cannot act as role "%", and so cannot let it store into channel "%"', pgonce_private.caller(), role_name, channel_name
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  BEGIN
    IF set_before = '0' THEN
      PERFORM set_config('lock_timeout', '10s', true);
    END IF;
    PERFORM pg_advisory_xact_lock(123589553447782);
    PERFORM set_config('lock_timeout', set_before, true);
  EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'pgonce: role "%" was not let store into channel "%": another installation in database "%" is still open; try again when it has ended (pg_locks shows it, locktype advisory)',
      role_name, channel_name, current_database() USING ERRCODE = 'lock_not_available';
  END;
  IF NOT pgonce_private.has_itself(role_name, (SELECT n.nspacl FROM pg_namespace n WHERE n.nspname = 'pgonce'), 'USAGE') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA pgonce TO %I', role_name);
  END IF;
  IF NOT pgonce_private.has_itself(role_name, (SELECT n.nspacl FROM pg_namespace n WHERE n.nspname = 'pgonce_triggers'), 'CREATE', 'USAGE') THEN
    EXECUTE format('GRANT CREATE, USAGE ON SCHEMA pgonce_triggers TO %I', role_name);
  END IF;
  IF NOT pgonce_private.has_itself(role_name, (SELECT c.relacl FROM pg_class c WHERE c.oid = view::regclass), 'INSERT') THEN
    EXECUTE format('GRANT INSERT ON %s TO %I', view, role_name);
  END IF;
  IF NOT pgonce_private.has_itself(role_name, (SELECT p.proacl FROM pg_proc p WHERE p.oid = store::regprocedure), 'EXECUTE') THEN
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', store, role_name);
  END IF;
  -- A row that has no order key of its own gets one of its id.
  IF NOT pgonce_private.has_itself(role_name, (SELECT c.relacl FROM pg_class c WHERE c.oid = 'pgonce.notification_id'::regclass), 'USAGE') THEN
    EXECUTE format('GRANT USAGE ON SEQUENCE pgonce.notification_id TO %I', role_name);
  END IF;
  IF gate IS NOT NULL AND NOT pgonce_private.has_itself(role_name, (SELECT c.relacl FROM pg_class c WHERE c.oid = gate), 'SELECT') THEN
    EXECUTE format('GRANT SELECT ON SEQUENCE %s TO %I', gate, role_name);
  END IF;
  -- Its listeners compare what feeds the channel with their definition, when this is committed.
  IF EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = 'pgonce_triggers'::regnamespace AND p.proname = 'capture_' || channel_name AND p.pronargs = 0) THEN
    PERFORM pgonce_private.record_operation('INSTALL', channel_name, NULL, NULL, 0, 'the function of its triggers is replaced');
    PERFORM pgonce.wake_up(channel_name, 'definition');
  END IF;
END
$$;

-- How the function of triggers is dropped by hand, and its triggers with it. Within a transaction: all who use the table wait behind its lock, so that
-- is bounded. And a partitioned table is locked before its partitions, as its writers do. DROP locks it last, and the two would wait in a circle.
CREATE OR REPLACE FUNCTION pgonce.drop_function_sql(doomed regprocedure) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT concat('SET LOCAL lock_timeout = ''800ms''; ', string_agg(DISTINCT format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE; ', c.oid::regclass), ''), format('DROP FUNCTION %s CASCADE', doomed))
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
   WHERE t.tgfoid = doomed AND t.tgparentid = 0 AND c.relkind = 'p'
$$;

-- Whose function stands where that of the channel's triggers is to be, which is to belong to the given role; null if nobody else's. Any role that may
-- install can have created it before, and CREATE OR REPLACE of a superuser would leave it to its owner, who can change it at any time. None is taken over
-- unseen: who made one in the name of another may have kept the right to execute it, and so to attach it to a table of its own.
CREATE OR REPLACE FUNCTION pgonce.function_of_another(channel_name text, role_name text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT format('there is function %1$s of role "%2$s" already, and the channel''s is to belong to role "%3$s": look at it, then drop it (BEGIN; %5$s; COMMIT) or give it to that role (%4$sALTER FUNCTION %1$s OWNER TO %3$I), and install the channel again',
                p.oid::regprocedure, pg_get_userbyid(p.proowner), role_name,
                -- Of a channel that is there: its writes would fail until the next installation.
                CASE WHEN to_regclass(format('pgonce.%I', 'into_' || channel_name)) IS NOT NULL THEN format('SELECT pgonce.let_capture(%L, %L); ', channel_name, role_name) ELSE '' END,
                pgonce.drop_function_sql(p.oid))
    FROM pg_proc p
   WHERE p.pronamespace = 'pgonce_triggers'::regnamespace AND p.proname = 'capture_' || channel_name AND p.pronargs = 0
     AND pg_get_userbyid(p.proowner) <> role_name
$$;

-- Fails if there is such a one, after the function was made: nobody else can make it any more.
CREATE OR REPLACE FUNCTION pgonce.refuse_function_of_another(channel_name text, role_name text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  why constant text := pgonce.function_of_another(channel_name, role_name);
BEGIN
  IF why IS NOT NULL THEN
    RAISE EXCEPTION 'pgonce cannot install channel "%": %', channel_name, why USING ERRCODE = 'insufficient_privilege';
  END IF;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
