-- Station 1, store: a notification and its wake-up, in the writer's own transaction.
-- Each function is owned by pgonce_owner, runs with its rights and pins what the caller's session could bend (search_path).

SET ROLE pgonce_owner;

-- The wake-up. It says that there may be work and nothing else: any role can LISTEN. The payload is constant, so that PostgreSQL folds the
-- wake-ups of a transaction into one: empty for new rows, "due" for scheduled ones, "pause" and "resume" for a look at whether it is paused.
CREATE OR REPLACE FUNCTION pgonce.wake_up(channel_name text, kind text DEFAULT '') RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT pg_notify('pgonce_' || channel_name, kind) $$;

-- BROADCAST: the payload travels in the NOTIFY, cut into parts that fit its 7,999 bytes. A transaction's NOTIFYs arrive together and in
-- order, so the parts need no more than "id/part/parts:". The id also keeps PostgreSQL from folding two equal payloads into one.
-- Above 1 MB nothing but the fact is sent (0 parts): the queue is one for the whole server, and a trigger must not fail its writer.
CREATE OR REPLACE FUNCTION pgonce.broadcast(channel_name text, payload text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  -- In the worst case a character takes 4 bytes: 1,950 of them and the head stay below 7,999.
  part_length constant integer := CASE WHEN octet_length(payload) = length(payload) THEN 7900 ELSE 1950 END;
  too_large   constant boolean := octet_length(payload) > 1048576;
  parts       constant integer := CASE WHEN too_large THEN 0 ELSE greatest(1, ceil(length(payload)::numeric / part_length)::integer) END;
  id          constant bigint  := nextval('pgonce.notification_id');
BEGIN
  IF too_large THEN
    PERFORM pg_notify('pgonce_' || channel_name, id || '/0/0:');
  END IF;
  FOR part IN 1 .. parts LOOP
    PERFORM pg_notify(
      'pgonce_' || channel_name,
      id || '/' || part || '/' || parts || ':' || substr(payload, (part - 1) * part_length + 1, part_length));
  END LOOP;
  RETURN id;
END
$$;

-- Publishes one notification per element of a JSON array, in its order, and returns their ids. One wake-up, however many they are.
CREATE OR REPLACE FUNCTION pgonce.publish_all(channel_name text, payloads json) RETURNS SETOF bigint
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

  IF channel.mode = 'BROADCAST' THEN
    RETURN QUERY SELECT pgonce.broadcast(channel.name, p.value::text) FROM json_array_elements(payloads) WITH ORDINALITY AS p (value, n) ORDER BY p.n;
    RETURN;
  END IF;

  -- MATERIALIZED: one id per notification, shared by its subscriptions. The mode is looked at again, by the snapshot of the INSERT: whoever
  -- has just changed it has waited for those that had inserted before (pgonce.hold_writers).
  RETURN QUERY
    WITH given AS MATERIALIZED (
      SELECT nextval('pgonce.notification_id') AS id, p.value AS payload FROM json_array_elements(payloads) AS p (value)
    ), stored AS (
      INSERT INTO pgonce.notification (subscription_id, id, payload)
      SELECT s.id, g.id, g.payload FROM given g CROSS JOIN pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
       WHERE c.id = channel.id AND c.mode = channel.mode
      RETURNING true
    )
    SELECT g.id FROM given g WHERE EXISTS (SELECT FROM stored);
  IF FOUND THEN
    PERFORM pgonce.wake_up(channel.name);
  ELSIF json_array_length(payloads) > 0 THEN
    RAISE EXCEPTION 'pgonce: channel "%" was dropped or given another mode while this was published: publish it again', channel_name
      USING ERRCODE = 'serialization_failure';
  END IF;
END
$$;

-- Publishes one notification and returns its id.
CREATE OR REPLACE FUNCTION pgonce.publish(channel_name text, payload json) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT pgonce.publish_all(channel_name, json_build_array(payload)) $$;

INSERT INTO pgonce.schema_version (version) VALUES (2) ON CONFLICT DO NOTHING;

RESET ROLE;
