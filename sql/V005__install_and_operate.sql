-- Installing channels, and what the person on call does and sees.

SET ROLE pgonce_owner;

-- Makes the channel exist as defined. Idempotent. A mode or feed that differs from the installed one is refused, because rows stored under the
-- old one may still wait: change_mode and drop_channel say what becomes of them. What else differs is changed. subscriptions is an object: name to filter, or to
-- null. A subscription gets what is stored from its installation on; those that are not named stay as they are (drop_subscription).
CREATE OR REPLACE FUNCTION pgonce.install_channel(
  channel_name text, mode text, feed text, subscriptions jsonb DEFAULT '{"default": null}',
  key_memory interval DEFAULT '0', key_order text DEFAULT 'NONE', max_depth integer DEFAULT 100)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  channel pgonce.channel;
BEGIN
  INSERT INTO pgonce.channel (name, mode, feed, key_memory, key_order, max_depth)
  VALUES (channel_name, install_channel.mode, install_channel.feed, install_channel.key_memory, install_channel.key_order, install_channel.max_depth)
  ON CONFLICT (name) DO NOTHING;
  SELECT c.* INTO STRICT channel FROM pgonce.channel c WHERE c.name = channel_name;
  IF channel.feed <> install_channel.feed THEN
    RAISE EXCEPTION 'pgonce: channel "%" is installed with feed "%", not "%": give one of the two another name, or drop the old one with: SELECT pgonce.drop_channel(%);',
      channel_name, channel.feed, install_channel.feed, quote_literal(channel_name) USING ERRCODE = 'PO003';
  END IF;
  IF channel.mode <> install_channel.mode THEN
    RAISE EXCEPTION 'pgonce: channel "%" is installed with mode %, not %: migrate it with: SELECT pgonce.change_mode(%, %); then install again',
      channel_name, channel.mode, install_channel.mode, quote_literal(channel_name), quote_literal(install_channel.mode) USING ERRCODE = 'PO003';
  END IF;
  UPDATE pgonce.channel c SET key_memory = install_channel.key_memory, key_order = install_channel.key_order, max_depth = install_channel.max_depth
   WHERE c.id = channel.id
     AND (c.key_memory, c.key_order, c.max_depth) IS DISTINCT FROM
         (install_channel.key_memory, install_channel.key_order, install_channel.max_depth);
  INSERT INTO pgonce.subscription (channel_id, name, filter)
  SELECT channel.id, u.key, nullif(u.value, 'null') FROM jsonb_each(subscriptions) AS u (key, value)
  ON CONFLICT (channel_id, name) DO UPDATE SET filter = excluded.filter WHERE subscription.filter IS DISTINCT FROM excluded.filter;
  RETURN channel.id;
END
$$;

-- Keeps everyone from storing until the caller's transaction ends, for what must not pass over a row that is about to be committed. Waits 2 s
-- for transactions that have stored; who comes meanwhile waits behind it.
CREATE OR REPLACE FUNCTION pgonce.hold_writers(purpose text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
AS $$
BEGIN
  LOCK TABLE pgonce.notification, pgonce.scheduled IN SHARE ROW EXCLUSIVE MODE;
EXCEPTION WHEN lock_not_available THEN
  RAISE EXCEPTION 'pgonce: cannot % now, nothing was changed: a transaction that has published or settled something is still open after 2 s (the oldest in pg_stat_activity by xact_start); try again when it has ended',
    purpose USING ERRCODE = 'lock_not_available';
END
$$;

-- Changes what a channel promises. What waits in it must have been handled, redriven or dropped before it stops being stored.
CREATE OR REPLACE FUNCTION pgonce.change_mode(channel_name text, new_mode text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  waiting bigint;
BEGIN
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
  END IF;
  -- What has begun under AT_MOST_ONCE never runs again by itself, whatever the channel promises from now on.
  INSERT INTO pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, delivery_key, order_key, context, depth)
  SELECT t.subscription_id, t.id, t.attempts, t.created_at, 'OUTCOME_UNKNOWN', 'its handler had begun when the channel''s mode was changed',
         t.payload, t.delivery_key, t.order_key, t.context, t.depth
    FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
    JOIN pgonce.scheduled d ON d.subscription_id = s.id AND d.token IS NOT NULL
   CROSS JOIN LATERAL pgonce.take_out(d.subscription_id, d.id, d.attempts, d.token) t
   WHERE c.name = channel_name AND c.mode = 'AT_MOST_ONCE' AND new_mode <> 'AT_MOST_ONCE';
  UPDATE pgonce.channel c SET mode = new_mode WHERE c.name = channel_name;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'pgonce: channel "%" is not installed: look for its name in pgonce.channel', channel_name USING ERRCODE = 'undefined_object';
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION pgonce.empty_subscriptions(doomed integer[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  DELETE FROM pgonce.notification n WHERE n.subscription_id = ANY (doomed);
  DELETE FROM pgonce.scheduled d WHERE d.subscription_id = ANY (doomed);
  DELETE FROM pgonce.dead_letter l WHERE l.subscription_id = ANY (doomed);
$$;

-- Removes a subscription with everything that waits in it.
CREATE OR REPLACE FUNCTION pgonce.drop_subscription(channel_name text, subscription_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  doomed integer;
  channel integer;
  ids bigint[];
  keys text[];
BEGIN
  PERFORM pgonce.hold_writers('drop subscription "' || subscription_name || '" of channel "' || channel_name || '"');
  DELETE FROM pgonce.subscription s USING pgonce.channel c WHERE s.channel_id = c.id AND c.name = channel_name AND s.name = subscription_name
  RETURNING s.id, c.id INTO doomed, channel;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- It is done with its delivery keys. As they are deleted and not before: what somebody else discards meanwhile he has counted.
  WITH present AS (
    DELETE FROM pgonce.notification n WHERE n.subscription_id = doomed RETURNING n.id, n.delivery_key
  ), later AS (
    DELETE FROM pgonce.scheduled d WHERE d.subscription_id = doomed RETURNING d.id, d.delivery_key
  ), dead AS (
    DELETE FROM pgonce.dead_letter l WHERE l.subscription_id = doomed RETURNING l.id, l.delivery_key
  )
  SELECT array_agg(a.id), array_agg(a.delivery_key) INTO ids, keys
    FROM (TABLE present UNION ALL TABLE later UNION ALL TABLE dead) AS a WHERE a.delivery_key IS NOT NULL;
  PERFORM pgonce.keys_done(channel, ids, keys);
  RETURN true;
END
$$;

-- Removes a channel with everything that waits in it; a trigger that feeds it is dropped first, by the module that made it.
CREATE OR REPLACE FUNCTION pgonce.drop_channel(channel_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  doomed integer[];
  channel integer;
BEGIN
  PERFORM pgonce.hold_writers('drop channel "' || channel_name || '"');
  SELECT array_agg(s.id) INTO doomed FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id WHERE c.name = channel_name;
  DELETE FROM pgonce.channel c WHERE c.name = channel_name RETURNING c.id INTO channel;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM pgonce.empty_subscriptions(doomed);
  DELETE FROM pgonce.delivery_key k WHERE k.channel_id = channel;
  RETURN true;
END
$$;

-- Takes dead letters of a channel out: those with the given ids, or all.
CREATE OR REPLACE FUNCTION pgonce.exhume(channel_name text, ids bigint[]) RETURNS SETOF pgonce.dead_letter
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM pgonce.channel c WHERE c.name = channel_name) THEN
    RAISE EXCEPTION 'pgonce: channel "%" is not installed in database "%": look for its name in pgonce.channel_status',
      channel_name, current_database() USING ERRCODE = 'undefined_object';
  END IF;
  RETURN QUERY DELETE FROM pgonce.dead_letter l USING pgonce.subscription s, pgonce.channel c
     WHERE l.subscription_id = s.id AND s.channel_id = c.id AND c.name = channel_name AND (ids IS NULL OR l.id = ANY (ids))
    RETURNING l.*;
END
$$;

-- Gives dead letters of a channel another life: attempts counted from zero, due now, under the same id. Returns how many.
CREATE OR REPLACE FUNCTION pgonce.redrive(channel_name text, ids bigint[] DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  redriven bigint;
BEGIN
  INSERT INTO pgonce.scheduled
    (subscription_id, id, due_at, attempts, created_at, last_error, payload, delivery_key, order_key, context, depth)
  SELECT r.subscription_id, r.id, clock_timestamp(), 0, r.created_at, r.error, r.payload, r.delivery_key, r.order_key, r.context, r.depth
    FROM pgonce.exhume(channel_name, ids) r;
  GET DIAGNOSTICS redriven = ROW_COUNT;
  IF redriven > 0 THEN
    PERFORM pgonce.wake_up(channel_name, 'due');
  END IF;
  RETURN redriven;
END
$$;

-- Deletes dead letters of a channel for good: their subscriptions are done with them. Returns how many.
CREATE OR REPLACE FUNCTION pgonce.discard(channel_name text, ids bigint[] DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  discarded bigint;
  keyed_ids bigint[];
  keys text[];
BEGIN
  SELECT count(*), array_agg(d.id) FILTER (WHERE d.delivery_key IS NOT NULL), array_agg(d.delivery_key) FILTER (WHERE d.delivery_key IS NOT NULL)
    INTO discarded, keyed_ids, keys FROM pgonce.exhume(channel_name, ids) d;
  PERFORM pgonce.keys_done(c.id, keyed_ids, keys) FROM pgonce.channel c WHERE c.name = channel_name AND keys IS NOT NULL;
  IF discarded > 0 THEN
    PERFORM pgonce.wake_up(channel_name, 'due'); -- others of their order keys may have waited for them
  END IF;
  RETURN discarded;
END
$$;

-- Per channel and subscription: what waits, how old it is, what failed, and who listens.
CREATE OR REPLACE VIEW pgonce.channel_status AS
SELECT c.name AS channel, c.mode, c.feed, s.name AS subscription,
       ready.backlog, later.scheduled, later.retrying, later.max_attempts,
       clock_timestamp() - least(ready.oldest, later.oldest_due) AS oldest_age,
       dead.dead_letters,
       (SELECT count(*) FROM pgonce.listener l WHERE s.id = ANY (l.subscriptions) AND l.seen_at + l.silence >= clock_timestamp()) AS listeners
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

CREATE OR REPLACE VIEW pgonce.dead_letter_status AS
SELECT c.name AS channel, s.name AS subscription, l.id, l.reason, l.error, l.attempts, l.created_at, l.died_at
  FROM pgonce.dead_letter l JOIN pgonce.subscription s ON s.id = l.subscription_id JOIN pgonce.channel c ON c.id = s.channel_id;

CREATE OR REPLACE VIEW pgonce.retry_status AS
SELECT c.name AS channel, s.name AS subscription, d.id, d.attempts, d.due_at, d.last_error, d.created_at
  FROM pgonce.scheduled d JOIN pgonce.subscription s ON s.id = d.subscription_id JOIN pgonce.channel c ON c.id = s.channel_id
 WHERE d.attempts > 0;

CREATE OR REPLACE VIEW pgonce.listener_status AS
SELECT l.id, l.instance, l.hears_by, l.role, l.started_at, l.seen_at, l.seen_at + l.silence >= clock_timestamp() AS alive,
       ARRAY(SELECT c.name FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
              WHERE s.id = ANY (l.subscriptions) ORDER BY c.name) AS channels
  FROM pgonce.listener l;

INSERT INTO pgonce.schema_version (version) VALUES (5) ON CONFLICT DO NOTHING;

RESET ROLE;
