-- The notify gate of a channel. It spares writers their NOTIFY while a listener claims every 2 ms anyway: with a NOTIFY only one
-- transaction of the whole server commits at a time. models/ has this as a model.
--
-- The gate is the last value of a sequence: all transactions see its present value, whatever their snapshots, and no rollback brings back an earlier one.
--
--   0                     closed: writers notify
--   a time                open until then (microseconds since 1970, half a second ahead): writers do not notify
--   9223372036854775806   no process listens to the channel: writers do not notify
--   9223372036854775807   wake_ups is NEVER: writers do not notify
--
-- A writer reads the gate after it has stored its rows. A row whose writer read an open gate and commits after it was closed is found by the poll,
-- within a second by default. So nothing here needs a lock: the last value counts, and a listener that finds another value than its own stops
-- claiming every 2 ms.
-- No rollback undoes setval, so a gate can hold a value that no transaction has committed; each poll says where a value does not fit (poll.gate_unfit).

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- The sequence whose last value is a channel's gate; null if there is none, as after a restore of data alone until the copy is adopted.
CREATE OR REPLACE FUNCTION pgonce.gate_of(channel_name text) RETURNS regclass
LANGUAGE sql
AS $$ SELECT pg_catalog.to_regclass('pgonce."gate_' OPERATOR(pg_catalog.||) channel_name OPERATOR(pg_catalog.||) '"') $$;

-- Whether a writer that has stored new rows notifies: unless the gate is a time to come (open), or says that no listener is to be notified. It does
-- where the gate cannot be read. One expression, which PostgreSQL inlines, here and in the functions of triggers. A clock that is set back makes a
-- time one of the far future; the poll finds that unfit.
CREATE OR REPLACE FUNCTION pgonce.needs_notify(gate regclass) RETURNS boolean
LANGUAGE sql
AS $$
  SELECT (pg_catalog.pg_sequence_last_value(gate)
            OPERATOR(pg_catalog.>) (1000000 OPERATOR(pg_catalog.*) pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()))::pg_catalog.int8) IS NOT TRUE
$$;

-- Whether the value means that a listener claims every 2 ms, so that writers need no NOTIFY. Here and in gate_is_unfit all is named in full and no path
-- is pinned, so that PostgreSQL inlines them: the poll asks for each subscription.
CREATE OR REPLACE FUNCTION pgonce_private.is_open(value bigint) RETURNS boolean
LANGUAGE sql VOLATILE
AS $$
  SELECT value OPERATOR(pg_catalog.<) 9223372036854775806
     AND (value OPERATOR(pg_catalog.-) (1000000 OPERATOR(pg_catalog.*) pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()))::pg_catalog.int8)
         OPERATOR(pg_catalog.<@) '[0,1000000]'::pg_catalog.int8range
$$;

-- The gate for operators.
CREATE OR REPLACE FUNCTION pgonce.gate_state(channel_name text) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN c.mode = 'BROADCAST' OR c.wake_ups = 'ALWAYS' THEN 'ALWAYS CLOSED'
              WHEN c.wake_ups = 'NEVER' THEN 'NEVER NOTIFIED'
              WHEN g.value = 9223372036854775806 THEN 'NOBODY LISTENS'
              WHEN pgonce_private.is_open(g.value) THEN 'OPEN'
              ELSE 'CLOSED' END
    FROM pgonce.channel c CROSS JOIN LATERAL (SELECT pg_sequence_last_value(pgonce.gate_of(c.name)) AS value) g WHERE c.name = channel_name
$$;

CREATE OR REPLACE FUNCTION pgonce_private.make_gate(channel_name text, value bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  EXECUTE format('CREATE SEQUENCE pgonce.%I MINVALUE 0 START 0', 'gate_' || channel_name);
  EXECUTE format('REVOKE ALL ON SEQUENCE pgonce.%I FROM PUBLIC', 'gate_' || channel_name);
  PERFORM setval(pgonce.gate_of(channel_name), value);
END
$$;

-- Sets a new value, half a second ahead. It differs from the one before, so that a listener knows its own value.
CREATE OR REPLACE FUNCTION pgonce_private.set_gate(channel_name text, before bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  value constant bigint := (1000000 * date_part('epoch', clock_timestamp()))::bigint + 500000;
BEGIN
  -- Nobody waits for the disk here: what a crash of the server brings back is an earlier value, whose time is over.
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN setval(pgonce.gate_of(channel_name), CASE WHEN value = before THEN value + 1 ELSE value END);
END
$$;

-- Whether a process that listens for these subscriptions (in their order) may open the gate: only if they are all of the channel's.
CREATE OR REPLACE FUNCTION pgonce_private.may_open_gate(channel_name text, listened integer[]) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT EXISTS (SELECT FROM pgonce.channel c WHERE c.name = channel_name AND c.wake_ups = 'GATED')
     AND ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.of_channel = channel_name ORDER BY s.id) = listened
$$;

-- Opens the gate for half a second, for a process that claims every 2 ms from now on. Returns its value; 0 if another process has opened it; null if
-- this process may not.
CREATE OR REPLACE FUNCTION pgonce.open_gate(channel_name text, listened integer[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
DECLARE
  value constant bigint := pg_sequence_last_value(pgonce.gate_of(channel_name));
BEGIN
  IF value IS NULL OR value >= 9223372036854775806 OR NOT pgonce_private.may_open_gate(channel_name, listened) THEN
    RETURN NULL;
  ELSIF pgonce_private.is_open(value) THEN
    RETURN 0;
  END IF;
  RETURN pgonce_private.set_gate(channel_name, value);
END
$$;

-- Keeps the gate open for half a second more. Returns the new value; null if another process has set the gate since, or it may not be open.
CREATE OR REPLACE FUNCTION pgonce.renew_gate(channel_name text, listened integer[], mine bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
BEGIN
  IF pg_sequence_last_value(pgonce.gate_of(channel_name)) IS DISTINCT FROM mine OR NOT pgonce_private.may_open_gate(channel_name, listened) THEN
    RETURN NULL;
  END IF;
  RETURN pgonce_private.set_gate(channel_name, mine);
END
$$;

-- Closes the gate, unless another process has set it since. The process claims afterwards.
CREATE OR REPLACE FUNCTION pgonce.close_gate(channel_name text, mine bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
BEGIN
  -- As in set_gate.
  PERFORM set_config('synchronous_commit', 'off', true);
  IF pg_sequence_last_value(pgonce.gate_of(channel_name)) = mine THEN
    PERFORM setval(pgonce.gate_of(channel_name), 0);
  END IF;
END
$$;

-- Whether a writer waits for the lock with which one transaction of the whole server at a time commits with a NOTIFY (async.c: that of the database
-- whose id is 0). On a slow disk this lock alone bounds the writers, however few wake-ups there are. Null if this process may not open the gate.
CREATE OR REPLACE FUNCTION pgonce.do_writers_wait(channel_name text, listened integer[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
BEGIN
  IF NOT pgonce_private.may_open_gate(channel_name, listened) THEN
    RETURN NULL;
  END IF;
  RETURN EXISTS (SELECT FROM pg_locks l
                  WHERE l.locktype = 'object' AND l.database = 0 AND l.classid = 'pg_database'::regclass AND l.objid = 0 AND NOT l.granted);
EXCEPTION WHEN insufficient_privilege THEN
  RETURN false; -- the server may not show its locks
END
$$;

-- Whether the gate has a value that it must not have while a process listens: an installation has changed the channel, a restore has lost the value,
-- one process stopped while another one started, or the clock was set back.
CREATE OR REPLACE FUNCTION pgonce_private.gate_is_unfit(value bigint, wake_ups text) RETURNS boolean
LANGUAGE sql VOLATILE
AS $$
  SELECT value IS NULL OR value OPERATOR(pg_catalog.<) 9223372036854775807
         AND (value OPERATOR(pg_catalog.-) (1000000 OPERATOR(pg_catalog.*) pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()))::pg_catalog.int8)
             OPERATOR(pg_catalog.>) 1000000
      OR (value OPERATOR(pg_catalog.=) 9223372036854775807) OPERATOR(pg_catalog.<>) (wake_ups OPERATOR(pg_catalog.=) 'NEVER'::pg_catalog.text)
$$;

-- By a process that registers, and by the housekeeping: sets the gates that do not fit. The process's next poll finds what was stored before.
CREATE OR REPLACE FUNCTION pgonce_private.fit_gates(listened integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  unfit record;
BEGIN
  FOR unfit IN
    SELECT DISTINCT c.name, CASE c.wake_ups WHEN 'NEVER' THEN 9223372036854775807 ELSE 0 END AS value
      FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
     WHERE s.id = ANY (listened) AND c.mode <> 'BROADCAST' AND pgonce_private.gate_is_unfit(pg_sequence_last_value(pgonce.gate_of(c.name)), c.wake_ups)
  LOOP
    PERFORM setval(pgonce.gate_of(unfit.name), unfit.value);
  END LOOP;
END
$$;

-- In the transaction that removes a process from the registry: where no other process listens, writers need not notify.
CREATE OR REPLACE FUNCTION pgonce_private.leave_gates(listened integer[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT setval(pgonce.gate_of(c.name), 9223372036854775806)
    FROM pgonce.channel c
   WHERE c.wake_ups = 'GATED' AND c.mode <> 'BROADCAST' AND pgonce.gate_of(c.name) IS NOT NULL
     AND EXISTS (SELECT FROM pgonce.subscription s WHERE s.channel_id = c.id AND s.id = ANY (listened))
     AND NOT EXISTS (SELECT FROM pgonce.listener l JOIN pgonce.subscription s ON s.id = ANY (l.subscriptions) WHERE s.channel_id = c.id)
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
