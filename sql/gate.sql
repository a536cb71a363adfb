-- The notify gate of a channel: how writers are spared their NOTIFY, which lets only one transaction of the whole server commit at a time, while a
-- listener polls for their rows every 2 ms anyway. models/ has this as a model.
--
-- The gate is the last value of a sequence: everyone sees it as it is now, whatever the snapshot, and no rollback brings back an earlier value.
--
--   0                     closed: writers notify
--   a time                open until then (microseconds since 1970, half a second ahead): writers do not notify
--   9223372036854775806   no process listens to the channel: writers do not notify
--   9223372036854775807   wake_ups is NEVER: writers do not notify
--
-- A writer reads the gate after it has stored its rows. A row whose writer read an open gate and commits after it was closed is found by the poll,
-- within a second. So nothing here needs a lock: the value that was set last counts, and a listener that finds another value than its own stops polling.
-- Values may change in transactions that roll back; each poll says where a value does not fit (poll.gate_unfit).

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- The sequence whose last value is a channel's notify gate, see gate.sql; null if there is none, as after a restore without it.
CREATE OR REPLACE FUNCTION pgonce.gate_of(channel_name text) RETURNS regclass
LANGUAGE sql
AS $$ SELECT pg_catalog.to_regclass('pgonce."gate_' OPERATOR(pg_catalog.||) channel_name OPERATOR(pg_catalog.||) '"') $$;

-- Whether a writer that has stored new rows notifies: it does unless the gate is a time within the next second (open), or says that no listener is to
-- be notified. A gate that cannot be read means that it does. One expression, which PostgreSQL puts in the place of its call.
CREATE OR REPLACE FUNCTION pgonce.needs_notify(channel_name text) RETURNS boolean
LANGUAGE sql
AS $$
  SELECT coalesce(NOT (
    (pg_catalog.pg_sequence_last_value(pgonce.gate_of(channel_name))
       OPERATOR(pg_catalog.-) (1000000 OPERATOR(pg_catalog.*) pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()))::bigint)
    OPERATOR(pg_catalog.<@) '{[0,1000000],[1000000000000000000,)}'::pg_catalog.int8multirange), true)
$$;

-- Whether the value lets writers pass without NOTIFY for now, because a listener polls.
CREATE OR REPLACE FUNCTION pgonce.is_open(value bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT value < 9223372036854775806 AND value - (1000000 * date_part('epoch', clock_timestamp()))::bigint BETWEEN 0 AND 1000000
$$;

-- The gate, for people.
CREATE OR REPLACE FUNCTION pgonce.gate_state(channel_name text) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN c.mode = 'BROADCAST' OR c.wake_ups = 'ALWAYS' THEN 'ALWAYS CLOSED'
              WHEN c.wake_ups = 'NEVER' THEN 'NEVER NOTIFIED'
              WHEN g.value = 9223372036854775806 THEN 'NOBODY LISTENS'
              WHEN pgonce.is_open(g.value) THEN 'OPEN'
              ELSE 'CLOSED' END
    FROM pgonce.channel c CROSS JOIN LATERAL (SELECT pg_sequence_last_value(pgonce.gate_of(c.name)) AS value) g WHERE c.name = channel_name
$$;

CREATE OR REPLACE FUNCTION pgonce.make_gate(channel_name text, value bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  EXECUTE format('CREATE SEQUENCE pgonce.%I MINVALUE 0 START 0', 'gate_' || channel_name);
  EXECUTE format('REVOKE ALL ON SEQUENCE pgonce.%I FROM PUBLIC', 'gate_' || channel_name);
  PERFORM setval(pgonce.gate_of(channel_name), value);
END
$$;

-- Sets an own value: half a second ahead, and not the one before, so that a listener knows its own.
CREATE OR REPLACE FUNCTION pgonce.set_gate(channel_name text, before bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  value constant bigint := (1000000 * date_part('epoch', clock_timestamp()))::bigint + 500000;
BEGIN
  -- A crash of the server may take the value back: to an earlier one, whose time is over.
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN setval(pgonce.gate_of(channel_name), CASE WHEN value = before THEN value + 1 ELSE value END);
END
$$;

-- Whether writers may rely on a process that listens for these subscriptions, in their order: only for all of the channel's.
CREATE OR REPLACE FUNCTION pgonce.may_open_gate(channel_name text, listened integer[]) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT EXISTS (SELECT FROM pgonce.channel c WHERE c.name = channel_name AND c.wake_ups = 'GATED')
     AND ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.of_channel = channel_name ORDER BY s.id) = listened
$$;

-- Opens the gate for half a second, for a process that polls every 2 ms from now on. Returns its value; 0 where another process has opened it; null
-- where this one may not.
CREATE OR REPLACE FUNCTION pgonce.open_gate(channel_name text, listened integer[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  value constant bigint := pg_sequence_last_value(pgonce.gate_of(channel_name));
BEGIN
  IF value IS NULL OR value >= 9223372036854775806 OR NOT pgonce.may_open_gate(channel_name, listened) THEN
    RETURN NULL;
  ELSIF pgonce.is_open(value) THEN
    RETURN 0;
  END IF;
  RETURN pgonce.set_gate(channel_name, value);
END
$$;

-- Keeps the gate open for half a second more. Returns its value; null if it is not this process's any more, or may not be open.
CREATE OR REPLACE FUNCTION pgonce.renew_gate(channel_name text, listened integer[], mine bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF pg_sequence_last_value(pgonce.gate_of(channel_name)) IS DISTINCT FROM mine OR NOT pgonce.may_open_gate(channel_name, listened) THEN
    RETURN NULL;
  END IF;
  RETURN pgonce.set_gate(channel_name, mine);
END
$$;

-- Closes the gate, if it is this process's still. The process claims afterwards.
CREATE OR REPLACE FUNCTION pgonce.close_gate(channel_name text, mine bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
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
-- whose id is 0). On a slow disk that is all that bounds the writers, however few wake-ups there are. Null if this process may not open the gate.
CREATE OR REPLACE FUNCTION pgonce.do_writers_wait(channel_name text, listened integer[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT pgonce.may_open_gate(channel_name, listened) THEN
    RETURN NULL;
  END IF;
  RETURN EXISTS (SELECT FROM pg_locks l
                  WHERE l.locktype = 'object' AND l.database = 0 AND l.classid = 'pg_database'::regclass AND l.objid = 0 AND NOT l.granted);
EXCEPTION WHEN insufficient_privilege THEN
  RETURN false; -- a server may keep its locks to itself
END
$$;

-- Whether the gate is not what it must be while a process listens: what an installation has changed, a restore has lost, or a process has set that
-- stopped while another one started.
CREATE OR REPLACE FUNCTION pgonce.gate_is_unfit(channel_name text, wake_ups text) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT g.value IS NULL OR g.value = 9223372036854775806 OR (g.value = 9223372036854775807) <> (wake_ups = 'NEVER')
    FROM (SELECT pg_sequence_last_value(pgonce.gate_of(channel_name)) AS value) g
$$;

-- A process listens: mends the gates that do not fit. What was stored before is found by its next poll.
CREATE OR REPLACE FUNCTION pgonce.fit_gates(listened integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  unfit record;
BEGIN
  FOR unfit IN
    SELECT DISTINCT c.name, CASE c.wake_ups WHEN 'NEVER' THEN 9223372036854775807 ELSE 0 END AS value
      FROM pgonce.channel c JOIN pgonce.subscription s ON s.channel_id = c.id
     WHERE s.id = ANY (listened) AND c.mode <> 'BROADCAST' AND pgonce.gate_is_unfit(c.name, c.wake_ups)
  LOOP
    IF pgonce.gate_of(unfit.name) IS NULL THEN
      BEGIN
        PERFORM pgonce.make_gate(unfit.name, unfit.value);
      EXCEPTION WHEN unique_violation OR duplicate_table THEN
        NULL; -- another process has made it at the same moment
      END;
    ELSE
      PERFORM setval(pgonce.gate_of(unfit.name), unfit.value);
    END IF;
  END LOOP;
END
$$;

-- In the transaction that has taken a process off the registry: where no other listens, writers need not notify.
CREATE OR REPLACE FUNCTION pgonce.leave_gates(listened integer[]) RETURNS void
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
