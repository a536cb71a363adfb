-- Stations 3 and 5: claim and settle. A claim lives as long as its transaction: whoever dies gives the row back.
-- The claim itself, and the deletion of what is handled, are statements of the library on the tables (ClaimStatement, SettleStatements): a
-- function around them costs more than they do.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- For transactions of pgonce's own: a process that is frozen, or cut off, before it commits does not keep what it has locked. A shorter
-- bound of the session's stays.
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

-- With the id of a subscription: the advisory lock of those that lease from it (shared), and of who changes its mode. "pgon" in ASCII.
CREATE OR REPLACE FUNCTION pgonce.mode_lock() RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT 1885826926 $$;

-- Whether a handler of this subscription whose work was undone may begin again by itself. Asked by a listener of EXACTLY_ONCE before it does so without
-- counting an attempt: the channel may have become AT_MOST_ONCE since.
CREATE OR REPLACE FUNCTION pgonce.may_begin_again(subscription integer) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT EXISTS (SELECT FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
                  WHERE s.id = may_begin_again.subscription AND c.mode <> 'AT_MOST_ONCE')
$$;

-- Claims one row on lease: with a token, and due again when the lease is over. The attempt is counted with that, so it needs no one to survive
-- it. The caller commits before it runs the handler. A row whose attempts are used up is given as spent, and one whose process died as died: both
-- unchanged and locked, for the caller to bury it, to count it or to have it wait. None is given to a caller who knows the channel in another mode,
-- nor while that is being changed: see change_mode, which waits for those that have begun. What a listener of a former EXACTLY_ONCE has held, and has
-- given back, is spent for AT_MOST_ONCE: its handler may have begun, and only who locked the row before tells (as in the claim of EXACTLY_ONCE).
-- after: of new rows, those with a higher id. Where there is an order or a limit per key, it looks in the ways of claim_by_key.sql, and gives account of it
-- whether it claims one or not.
CREATE OR REPLACE FUNCTION pgonce.lease(subscription integer, due boolean, new_token uuid, lease_ms bigint, max_attempts integer,
  key_order text, known_mode text, max_per_key integer DEFAULT NULL, after bigint DEFAULT 0, after_us bigint DEFAULT 0,
  ways text[] DEFAULT '{near}', keys text[] DEFAULT '{}', walk_from text DEFAULT NULL)
RETURNS TABLE (claimed pgonce.scheduled, spent boolean, died boolean, seen text, busy text[], walked text)
LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  until constant timestamptz := clock_timestamp() + lease_ms * interval '1 millisecond';
  held_until timestamptz;
  next_id bigint;
  held xid;
  place_of_key smallint;
BEGIN
  PERFORM pgonce.bound_idle(greatest(lease_ms, 1000));
  -- A handler begins behind this commit, and never again: a crash of the server must not take the commit back. So it waits for the disk, and for
  -- the synchronous standbys, whatever the session's default is.
  IF known_mode = 'AT_MOST_ONCE' AND current_setting('synchronous_commit') <> 'remote_apply' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  -- Two statements: what a change has committed before the lock was free, the snapshot of the second sees.
  IF NOT pg_try_advisory_xact_lock_shared(pgonce.mode_lock(), subscription) THEN
    RETURN;
  END IF;
  SELECT CASE WHEN c.mode = 'AT_MOST_ONCE' THEN c.held_until END INTO held_until
    FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = subscription AND c.mode = known_mode;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF due THEN
    IF max_per_key IS NOT NULL THEN
      SELECT d.id, d.held, d.place, d.seen, d.busy, d.walked INTO next_id, held, place_of_key, seen, busy, walked
        FROM pgonce.free_due(subscription, max_per_key, ways, keys, after_us, after, walk_from) d;
    ELSIF key_order = 'NONE' THEN
      SELECT s.id, s.xmax INTO next_id, held FROM pgonce.scheduled s
       WHERE s.subscription_id = subscription AND s.due_at <= (SELECT clock_timestamp())
       ORDER BY s.due_at, s.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    ELSE
      SELECT d.id, d.held, d.seen, d.busy, d.walked INTO next_id, held, seen, busy, walked
        FROM pgonce.next_due(subscription, key_order = 'DEAD_LETTER_BLOCKS', ways, keys, after_us, after, walk_from) d;
    END IF;
    -- Two statements: what the first has locked, the snapshot of the second sees.
    SELECT s.* INTO claimed FROM pgonce.scheduled s WHERE s.subscription_id = subscription AND s.id = next_id;
    IF NOT FOUND THEN
      claimed := NULL;
      IF seen IS NOT NULL THEN
        RETURN NEXT;
      END IF;
      RETURN;
    END IF;
    spent := claimed.attempts >= max_attempts OR (held <> '0' AND claimed.created_at < held_until) IS TRUE;
    died := claimed.token IS NOT NULL;
    IF NOT spent AND NOT died THEN
      UPDATE pgonce.scheduled s SET due_at = until, attempts = s.attempts + 1, token = new_token,
             place = place_of_key, place_until = CASE WHEN place_of_key IS NOT NULL THEN until END
       WHERE s.subscription_id = subscription AND s.id = claimed.id RETURNING s.* INTO claimed;
    END IF;
  ELSE
    IF max_per_key IS NOT NULL THEN
      SELECT d.id, d.held, d.place, d.seen, d.busy, d.walked INTO next_id, held, place_of_key, seen, busy, walked
        FROM pgonce.free_new(subscription, max_per_key, ways, keys, after_us, after, walk_from) d;
    ELSIF key_order = 'NONE' THEN
      SELECT n.id, n.xmax INTO next_id, held FROM pgonce.notification n
       WHERE n.subscription_id = subscription AND n.id > after ORDER BY n.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    ELSE
      SELECT d.id, d.held, d.seen, d.busy, d.walked INTO next_id, held, seen, busy, walked
        FROM pgonce.next_new(subscription, key_order = 'DEAD_LETTER_BLOCKS', ways, keys, after_us, after, walk_from) d;
    END IF;
    IF next_id IS NULL THEN
      IF seen IS NOT NULL THEN
        RETURN NEXT;
      END IF;
      RETURN;
    END IF;
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
        (subscription_id, id, due_at, attempts, created_at, payload, delivery_key, order_key, context, stamp, token, place, place_until)
      SELECT t.subscription_id, t.id, until, 1, t.created_at, t.payload, t.delivery_key, t.order_key, t.context, t.stamp, new_token,
             place_of_key, CASE WHEN place_of_key IS NOT NULL THEN until END FROM taken t
      RETURNING * INTO claimed;
    END IF;
  END IF;
  RETURN NEXT;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
