-- Claims with a lease and their renewal, and what all claims share. The claim of EXACTLY_ONCE is a statement of the library
-- (claim/ClaimStatement.java), and so is the deletion of what was handled (settle/Deletion.java): a function around them costs more than they do.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- For transactions of pgonce's own: a process that is frozen or cut off before it commits loses its locks after this time. A shorter timeout of the
-- session stays.
CREATE OR REPLACE FUNCTION pgonce.bound_idle(ms bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  set_now constant interval := current_setting('idle_in_transaction_session_timeout');
BEGIN
  IF set_now = interval '0' OR set_now > ms * interval '1 millisecond' THEN
    PERFORM set_config('idle_in_transaction_session_timeout', ms::text, true);
  END IF;
END
$$;

-- With the id of a subscription: the advisory lock of those that lease from it or send back what has begun (shared), and of a change of its mode.
-- "pgon" in ASCII.
CREATE OR REPLACE FUNCTION pgonce_private.mode_lock() RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT 1885826926 $$;

-- Whether a handler of this subscription whose work was undone may run again without counting an attempt. A listener of EXACTLY_ONCE asks before it
-- does so: the channel may have become AT_MOST_ONCE since.
CREATE OR REPLACE FUNCTION pgonce.may_begin_again(subscription integer) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT EXISTS (SELECT FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
                  WHERE s.id = may_begin_again.subscription AND c.mode <> 'AT_MOST_ONCE')
$$;

-- Claims one row on lease: with a token, the attempt counted, and due again when the lease expires. The caller commits before it runs the handler. A
-- row whose attempts are used up is returned as spent, and one whose process died as died. Both are unchanged and locked: the caller buries the row,
-- counts the attempt or lets it wait. Its due_at in the result is since when it was due.
-- No row is given to a caller that knows the channel in another mode, nor while the mode is being changed (change_mode waits for those that have
-- begun). After a change from EXACTLY_ONCE to AT_MOST_ONCE, a row that a listener has held and given back is spent: its handler may have begun, and
-- only the row's former lock tells so.
-- after: new rows have a higher id. Where there is an order or a limit per key, the last five parameters and the last three results are those of
-- claim_by_key, whether a row was claimed or not.
-- It waits for nothing but a lock on a whole table, and fails before the library gives up its connection, whose session would stay behind.
CREATE OR REPLACE FUNCTION pgonce.lease(subscription integer, due boolean, new_token uuid, lease_ms bigint, max_attempts integer,
  key_order text, known_mode text, max_per_key integer DEFAULT NULL, after bigint DEFAULT 0, after_us bigint DEFAULT 0,
  ways text[] DEFAULT '{near}', keys text[] DEFAULT '{}', walk_from text DEFAULT NULL)
RETURNS TABLE (claimed pgonce.scheduled, spent boolean, died boolean, seen text, busy text[], walked text)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET lock_timeout = '10s'
AS $$
DECLARE
  until constant timestamptz := clock_timestamp() + lease_ms * interval '1 millisecond';
  held_until timestamptz;
  due_since timestamptz;
  next_id bigint;
  held xid;
  permit integer;
BEGIN
  PERFORM pgonce.bound_idle(greatest(lease_ms, 1000));
  -- The handler begins after this commit, and never again: a crash of the server must not undo it. So the commit waits for the disk, and for
  -- synchronous standbys, whatever the session's default is.
  IF known_mode = 'AT_MOST_ONCE' AND current_setting('synchronous_commit') <> 'remote_apply' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  -- Two statements: the snapshot of the second sees what a change has committed before the lock was free.
  IF NOT pg_try_advisory_xact_lock_shared(pgonce_private.mode_lock(), subscription) THEN
    RETURN;
  END IF;
  SELECT CASE WHEN c.mode = 'AT_MOST_ONCE' THEN c.held_until END INTO held_until
    FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = subscription AND c.mode = known_mode;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF key_order <> 'NONE' OR max_per_key IS NOT NULL THEN
    SELECT c.id, c.held, c.key_permit, c.seen, c.busy, c.walked INTO next_id, held, permit, seen, busy, walked
      FROM pgonce.claim_by_key(subscription, due, key_order = 'DEAD_LETTER_BLOCKS', max_per_key, ways, keys, after_us, after, walk_from) c;
  ELSIF due THEN
    SELECT s.id, s.xmax INTO next_id, held FROM pgonce.scheduled s
     WHERE s.subscription_id = subscription AND s.due_at <= (SELECT clock_timestamp())
     ORDER BY s.due_at, s.id LIMIT 1 FOR UPDATE SKIP LOCKED;
  ELSE
    SELECT n.id, n.xmax INTO next_id, held FROM pgonce.notification n
     WHERE n.subscription_id = subscription AND n.id > after ORDER BY n.id LIMIT 1 FOR UPDATE SKIP LOCKED;
  END IF;
  IF next_id IS NULL THEN
    IF seen IS NOT NULL THEN
      RETURN NEXT;
    END IF;
    RETURN;
  END IF;
  IF due THEN
    -- Two statements: the snapshot of the second sees what the first has locked.
    SELECT s.* INTO claimed FROM pgonce.scheduled s WHERE s.subscription_id = subscription AND s.id = next_id;
    due_since := claimed.due_at;
    spent := claimed.attempts >= max_attempts OR (held <> '0' AND claimed.created_at < held_until) IS TRUE;
    died := claimed.token IS NOT NULL;
    IF NOT spent AND NOT died THEN
      UPDATE pgonce.scheduled s SET due_at = until, attempts = s.attempts + 1, token = new_token,
             key_permit = permit, key_permit_until = CASE WHEN permit IS NOT NULL THEN until END
       WHERE s.subscription_id = subscription AND s.id = claimed.id RETURNING s.* INTO claimed;
    END IF;
  ELSE
    died := false;
    IF held_until IS NOT NULL AND held <> '0' THEN
      SELECT n.subscription_id, n.id, n.created_at, 0, n.created_at, NULL, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL, NULL, NULL INTO claimed
        FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = next_id AND n.created_at < held_until;
      spent := FOUND;
    ELSE
      spent := false;
    END IF;
    IF NOT spent THEN
      WITH taken AS (
        DELETE FROM pgonce.notification n WHERE n.subscription_id = subscription AND n.id = next_id RETURNING n.*
      )
      INSERT INTO pgonce.scheduled
        (subscription_id, id, due_at, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, key_permit, key_permit_until)
      SELECT t.subscription_id, t.id, until, 1, t.created_at, t.payload, t.delivery_key, t.order_key, t.context, t.stamp, new_token,
             permit, CASE WHEN permit IS NOT NULL THEN until END FROM taken t
      RETURNING * INTO claimed;
    END IF;
  END IF;
  claimed.due_at := coalesce(due_since, claimed.created_at);
  RETURN NEXT;
END
$$;

-- Prolongs leases; returns the tokens of those that are still held: they are there, and not over. Another claim gets the row, its order key
-- or its permit only when the lease is over. Others see its former end until this is committed. So this locks the key or the permit, as claims do: one
-- that comes in between finds it locked. A lease whose key another transaction has locked is not prolonged this time. One that is over goes on if no
-- other claim has taken the row, another row of its order key, or its permit since: a second statement looks behind the locks. Of two rows that had the
-- same permit one after the other, the later one goes on.
CREATE OR REPLACE FUNCTION pgonce.renew(subscription integer, ids bigint[], tokens uuid[], lease_ms bigint) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET lock_timeout = '10s'
AS $$
DECLARE
  mine bigint[];
  now timestamptz;
BEGIN
  -- Its process tries again on another connection after that time.
  PERFORM pgonce.bound_idle(least(greatest(lease_ms / 3, 1000), 30000));
  -- The rows first, in one order: a renewal that got no answer may have them, and their keys, until it ends. OFFSET 0 keeps the condition on keys
  -- behind the locks: PostgreSQL would ask it of the rows before.
  SELECT array_agg(l.id) INTO mine
    FROM (SELECT s.id, s.order_key, s.key_permit FROM unnest(ids, tokens) AS h (id, token)
            JOIN pgonce.scheduled s ON s.subscription_id = subscription AND s.id = h.id AND s.token = h.token ORDER BY s.id OFFSET 0 FOR UPDATE OF s) l
   WHERE CASE WHEN l.order_key IS NULL THEN true
              WHEN l.key_permit IS NULL THEN pgonce_private.try_key(subscription, l.order_key)
              ELSE pgonce_private.try_key_permit(subscription, l.order_key, l.key_permit) END;
  now := clock_timestamp();
  UPDATE pgonce.scheduled s
     SET due_at = now + lease_ms * interval '1 millisecond',
         key_permit_until = CASE WHEN s.key_permit IS NOT NULL THEN now + lease_ms * interval '1 millisecond' END
   WHERE s.subscription_id = subscription AND s.id = ANY (mine)
     AND (s.order_key IS NULL OR s.due_at > now
          OR (SELECT b.id FROM pgonce.scheduled b WHERE b.subscription_id = subscription AND b.order_key = s.order_key
                 AND b.token IS NOT NULL AND b.due_at > s.due_at
                 AND (s.key_permit IS NULL OR b.key_permit = s.key_permit AND b.key_permit_until > s.due_at) LIMIT 1) IS NULL);
  RETURN QUERY SELECT s.token FROM unnest(ids, tokens) AS h (id, token)
    JOIN pgonce.scheduled s ON s.subscription_id = subscription AND s.id = h.id AND s.token = h.token WHERE s.due_at > now;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
