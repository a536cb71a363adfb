-- Who may do what: all privileges but those of a channel's triggers (store.sql). A new function is for nobody until it is granted here. PostgreSQL would
-- give it to PUBLIC, and a definer function that any role may call, or attach to a table of its own, could forge notifications.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

-- A restore without privileges lets PUBLIC execute the functions of triggers, which belong to others.
DO $$
DECLARE
  restored text;
BEGIN
  FOR restored IN
    SELECT p.oid::regprocedure FROM pg_proc p
     WHERE p.pronamespace = 'pgonce_triggers'::regnamespace AND pg_has_role(p.proowner, 'USAGE')
       AND EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a WHERE a.grantee = 0)
  LOOP
    EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', restored); -- installers may make procedures there too
  END LOOP;
END
$$;

SET ROLE pgonce_owner;

REVOKE ALL ON SCHEMA pgonce, pgonce_private, pgonce_triggers FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA pgonce FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pgonce, pgonce_private FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE pgonce_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- Nobody uses pgonce_private: functions of pgonce call what is in it, with the rights of pgonce_owner.
GRANT USAGE ON SCHEMA pgonce TO pgonce_publisher, pgonce_listener, pgonce_admin, pgonce_installer, pgonce_monitor;

-- Keys and context: these touch no table.
GRANT EXECUTE ON FUNCTION
  pgonce.delivery_key(text[]),
  pgonce.set_context(text, text, boolean)
TO pgonce_publisher, pgonce_listener, pgonce_admin;

-- What the functions of triggers call with the rights of their owners. These touch no table either. needs_notify reads a sequence with its caller's
-- rights.
GRANT EXECUTE ON FUNCTION
  pgonce.current_context(), pgonce.current_depth(), pgonce.read_context(text), pgonce.read_depth(text),
  pgonce.key_part(json), pgonce.join_key(text[]), pgonce.row_key(text[]), pgonce.given_key(text),
  pgonce.given_payload(json), pgonce.given_due(timestamptz), pgonce.require_pairs(bigint, bigint), pgonce.shown_error(text, text), pgonce.needs_notify(regclass)
TO PUBLIC;

-- Publish.
GRANT EXECUTE ON FUNCTION
  pgonce.publish(text, json, timestamptz, interval, text, text, integer, jsonb), pgonce.publish_all(text, json, integer),
  pgonce.publish_each(text, json, json, integer), pgonce.take_back(text, json)
TO pgonce_publisher, pgonce_admin;

-- Start, stop, poll and keep house.
GRANT EXECUTE ON FUNCTION
  pgonce.listener_starts(uuid, text, integer[], text, bigint, integer, integer[]), pgonce.listener_stops(uuid),
  pgonce.listener_seen(uuid, text, integer, text[], integer[]), pgonce.poll(uuid, bigint[]), pgonce.keep_house(text, uuid)
TO pgonce_listener;

-- The gate.
GRANT EXECUTE ON FUNCTION
  pgonce.open_gate(text, integer[]), pgonce.renew_gate(text, integer[], bigint), pgonce.close_gate(text, bigint), pgonce.do_writers_wait(text, integer[])
TO pgonce_listener;

-- Claim and settle, by statements too. UPDATE of any column is what FOR UPDATE asks for.
GRANT SELECT, DELETE, UPDATE (created_at) ON pgonce.notification, pgonce.scheduled TO pgonce_listener;
-- handled_at is the database's.
GRANT INSERT (created_at, due_at, claimed_at, took, id, subscription_id, attempts, skipped, instance, delivery_key, payload) ON pgonce.handled TO pgonce_listener;
GRANT EXECUTE ON FUNCTION
  pgonce.bound_idle(bigint), pgonce.may_begin_again(integer), pgonce.take_rate_permits(integer, integer),
  pgonce.lease(integer, boolean, uuid, bigint, integer, text, text, integer, bigint, bigint, text[], text[], text),
  pgonce.claim_by_key(integer, boolean, boolean, integer, text[], text[], bigint, bigint, text),
  pgonce.lock_key(integer, text, integer, bigint),
  pgonce.renew(integer, bigint[], uuid[], bigint), pgonce.not_there(bigint, bigint), pgonce.keys_done(integer, bigint[], text[]),
  pgonce.schedule(integer, bigint, integer, uuid, integer, uuid, bigint, text, text), pgonce.bury(integer, bigint, integer, uuid, integer, text, text)
TO pgonce_listener;

-- Operate. A handler that finds that it cannot go on may pause its subscription.
GRANT EXECUTE ON FUNCTION pgonce.pause(text, text, text) TO pgonce_listener, pgonce_admin;
GRANT EXECUTE ON FUNCTION
  pgonce.resume(text, text, text), pgonce.cancel(text, bigint[], text[], text, text), pgonce.cancel(text, bigint, text, text),
  pgonce.redrive(text, bigint[], text, text, text, text, timestamptz, timestamptz), pgonce.redrive(text, bigint, text, text),
  pgonce.discard(text, bigint[], text, text, text, text, timestamptz, timestamptz), pgonce.discard(text, bigint, text, text),
  pgonce.retry_now(text, bigint[], text, text), pgonce.retry_now(text, bigint, text, text), pgonce.forget_keys(integer), pgonce.adopt(text),
  pgonce.would_retry_now(text, bigint[], text), pgonce.would_cancel(text, bigint[], text[], text)
TO pgonce_admin;
GRANT SELECT ON pgonce.notification, pgonce.scheduled, pgonce.dead_letter, pgonce.handled TO pgonce_admin;

-- Install and drop.
GRANT EXECUTE ON FUNCTION
  pgonce.install_channel(text, text, text, jsonb, interval, text, integer, integer, integer, text, interval, boolean), pgonce.let_capture(text, text),
  pgonce.capturing_role(regclass), pgonce.function_of_another(text, text), pgonce.drop_function_sql(regprocedure), pgonce.refuse_function_of_another(text, text),
  pgonce.know_partitions(text, oid), pgonce.has_trigger(regclass, text, text, text)
TO pgonce_installer, pgonce_admin;
GRANT EXECUTE ON FUNCTION
  pgonce.change_mode(text, text, text), pgonce.forget_partitions(text),
  pgonce.drop_subscription(text, text, text), pgonce.lock_channels(text[]), pgonce.drop_channels(text[], text, bigint[]), pgonce.drop_channel(text, text),
  pgonce.refuse_loss(text, text, bigint)
TO pgonce_admin;

-- What is installed, and in which state it is.
GRANT EXECUTE ON FUNCTION
  pgonce.installed(text, text), pgonce.subscriptions_sql(text), pgonce.copy_of_another(), pgonce.deferred_with_filter(text, boolean), pgonce.detached_partitions(text, oid)
TO pgonce_listener, pgonce_admin, pgonce_installer;
-- The views call gate_state, first_listeners, held, subscriptions_at_work, lock_wait, published_since and difference_in, and explain calls cause_of and session_of. peek and history_of give payloads only to roles that may read them above.
GRANT EXECUTE ON FUNCTION pgonce.gate_state(text), pgonce.first_listeners() TO pgonce_listener, pgonce_admin, pgonce_installer, pgonce_monitor;
GRANT EXECUTE ON FUNCTION pgonce.lock_wait(integer), pgonce.published_since(), pgonce.session_of(integer, boolean), pgonce.difference_in(text) TO pgonce_listener, pgonce_admin, pgonce_monitor;
GRANT EXECUTE ON FUNCTION pgonce.held(integer), pgonce.subscriptions_at_work(), pgonce.cause_of(text, bigint, text), pgonce.explain(text, bigint, text) TO pgonce_listener, pgonce_admin, pgonce_monitor;
GRANT EXECUTE ON FUNCTION
  pgonce.peek(text, integer, text, boolean), pgonce.history_of(text, timestamptz, timestamptz, bigint, integer, text, text, boolean)
TO pgonce_admin, pgonce_monitor;
GRANT SELECT ON
  pgonce.schema_version, pgonce.channel_settings, pgonce.channel_status, pgonce.channel_gauges, pgonce.at_work, pgonce.dead_letter_status,
  pgonce.retry_status, pgonce.listener_status, pgonce.former_listener_status, pgonce.operation_log, pgonce.history
TO pgonce_listener, pgonce_admin, pgonce_monitor;
GRANT SELECT ON pgonce.schema_version TO pgonce_installer, pgonce_publisher;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
