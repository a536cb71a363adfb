-- pgonce, guards: what must not happen twice, with or without a channel. Plain SQL for PostgreSQL 14 and later; it needs nothing else of pgonce.
-- psql -1 -v ON_ERROR_STOP=1 -f, Flyway and Liquibase run it as it is, and so does the library. It may run again without harm.
--
-- A guard's row is committed before an outside call, its outcome beside it afterwards; a later call with the same key gets what is there. Sequences
-- of steps (recovery points) are kept in the same way.
--
-- Roles belong to the whole server and cannot log in; grant them to the logins that need them:
--   pgonce_owner     owns schema and functions; for logins that install
--   pgonce_guard     may use guards; it can read the stored response of any key that it knows
--   pgonce_listener  may do the same: handlers use guards
--   pgonce_admin     may settle, release and look into all of it

-- Until the end of this file names lead to pg_catalog, and what is pgonce's is named in full: in a schema of the session's own search_path another role
-- could have put a function, operator or type that PostgreSQL takes for the better match. Path and role of the session are set again at the end.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false),
       pg_catalog.set_config('pgonce.role', pg_catalog.current_setting('role'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);
-- Else each run says of each schema and table that it is there already, and Flyway logs that as a warning.
SELECT pg_catalog.set_config('pgonce.client_min_messages', pg_catalog.current_setting('client_min_messages'), false);
SELECT pg_catalog.set_config('client_min_messages', 'warning', false);

-- One at a time, with the library: else the second fails with "tuple concurrently updated". See GuardSchema.java.
SELECT pg_catalog.pg_advisory_xact_lock(123589553447783);

DO $$
DECLARE
  wanted   text;
  restorer oid;
  change   text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['pgonce_owner', 'pgonce_guard', 'pgonce_listener', 'pgonce_admin'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = wanted) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
      EXCEPTION
        WHEN duplicate_object OR unique_violation THEN NULL; -- another database of this server installs at the same moment
      END;
    END IF;
  END LOOP;
  -- Any role that may create schemas could have made this one before, with things in it that would be taken for pgonce's.
  IF EXISTS (SELECT FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner
              WHERE n.nspname = 'pgonce_guards' AND o.rolname <> 'pgonce_owner' AND NOT o.rolsuper) THEN
    RAISE EXCEPTION 'pgonce: schema pgonce_guards of database "%" belongs to role "%", and nothing is installed into the schema of another role: look at what is in it, then drop it or give it to pgonce_owner',
      current_database(), (SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace n WHERE n.nspname = 'pgonce_guards') USING ERRCODE = 'insufficient_privilege';
  END IF;
  -- From PostgreSQL 16 on, a role that creates another may grant it but is not yet allowed to act as it.
  IF NOT pg_has_role(current_user, 'pgonce_owner', 'USAGE') OR NOT pg_has_role(current_user, 'pgonce_owner', CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END) THEN
    EXECUTE format('GRANT pgonce_owner TO %I', current_user);
  END IF;
  -- After a restore without owners (pg_restore --no-owner, or a server without these roles) functions run with the rights of the role that restored
  -- them. They get their owner back here, and their rights at the end of this file. See docs/copies.md.
  SELECT n.nspowner INTO restorer FROM pg_namespace n WHERE n.nspname = 'pgonce_guards' AND n.nspowner <> 'pgonce_owner'::regrole;
  IF FOUND THEN
    ALTER SCHEMA pgonce_guards OWNER TO pgonce_owner;
    FOR change IN
      -- The sequence of an identity column goes with its table.
      SELECT format('ALTER %s pgonce_guards.%I OWNER TO pgonce_owner', CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, c.relname)
        FROM pg_class c WHERE c.relnamespace = 'pgonce_guards'::regnamespace AND c.relkind IN ('r', 'v') AND c.relowner = restorer
      UNION ALL
      SELECT format('ALTER FUNCTION %s OWNER TO pgonce_owner', p.oid::regprocedure)
        FROM pg_proc p WHERE p.pronamespace = 'pgonce_guards'::regnamespace AND p.proowner = restorer
    LOOP
      EXECUTE change;
    END LOOP;
  END IF;
  -- IF NOT EXISTS would take the right to create schemas where it is there, too.
  IF to_regnamespace('pgonce_guards') IS NULL THEN
    CREATE SCHEMA pgonce_guards AUTHORIZATION pgonce_owner;
  END IF;
END
$$;

SET ROLE pgonce_owner;

-- Tables. A later version adds its changes behind this part, each so that it may run again; the number at the end of this file goes up.

-- COLLATE "C": keys are compared to the byte, and a new version of the system's collations cannot break the one index that keeps a call from
-- being made twice.
CREATE TABLE IF NOT EXISTS pgonce_guards.guard (
  scope       text COLLATE "C" NOT NULL CHECK (scope ~ '^[a-z][a-z0-9_.-]{0,47}$'),
  key         text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 500),
  -- Of a sequence; empty for the sequence itself, and for a guard on its own.
  step        text COLLATE "C" NOT NULL DEFAULT '' CHECK (step = '' OR step ~ '^[a-z][a-z0-9_.-]{0,47}$'),
  kind        text        NOT NULL CHECK (kind IN ('CALL', 'SEQUENCE', 'REPEATABLE')),
  outcome     text        NOT NULL CHECK (outcome IN ('STARTED', 'SUCCEEDED', 'FAILED', 'UNKNOWN')),
  -- Of what has failed: it may be begun again.
  repeatable  boolean     NOT NULL DEFAULT false,
  attempt     integer     NOT NULL DEFAULT 1,
  -- Of the attempt: only its process may report the outcome.
  token       uuid        NOT NULL,
  -- Of the request: the same key with another one is an error.
  fingerprint bytea       NOT NULL,
  instance    text        NOT NULL,
  role        text        NOT NULL DEFAULT session_user,
  started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- A process that is silent until then counts as dead: its call is UNKNOWN, its sequence may be resumed.
  unknown_at  timestamptz NOT NULL,
  settled_at  timestamptz,
  settled_by  text        CHECK (settled_by IN ('CALL', 'PROBE', 'PERSON')),
  -- How long it is kept after it was settled, as its definition promised. keep_until is null for what is open, and for steps: they go with
  -- their sequence.
  horizon     interval    NOT NULL CHECK (horizon BETWEEN interval '0' AND interval '87600 hours'),
  keep_until  timestamptz,
  -- Not json: a codec whose text PostgreSQL would refuse must not lose the fact that the call was made.
  response    text,
  error       text,
  PRIMARY KEY (scope, key, step)
);

-- Decisions of people, and outcomes that came too late. A row stays when its guard is gone.
CREATE TABLE IF NOT EXISTS pgonce_guards.guard_history (
  id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope   text COLLATE "C" NOT NULL,
  key     text COLLATE "C" NOT NULL,
  step    text COLLATE "C" NOT NULL,
  attempt integer     NOT NULL,
  at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- LATE: a call's own outcome, reported after a probe or a person had settled or released it.
  action  text        NOT NULL CHECK (action IN ('RELEASED', 'SETTLED', 'LATE')),
  was     text,
  became  text        NOT NULL,
  who     text        NOT NULL,
  role    text        NOT NULL DEFAULT session_user,
  why     text        NOT NULL
);

-- Without IF NOT EXISTS, which would take the tables' locks where they are there.
DO $$
BEGIN
  IF to_regclass('pgonce_guards.guard_open') IS NULL THEN
    CREATE INDEX guard_open ON pgonce_guards.guard (started_at)
     WHERE keep_until IS NULL AND (step = '' OR outcome IN ('STARTED', 'UNKNOWN'));
  END IF;
  IF to_regclass('pgonce_guards.guard_done') IS NULL THEN
    CREATE INDEX guard_done ON pgonce_guards.guard (keep_until) WHERE keep_until IS NOT NULL;
  END IF;
  IF to_regclass('pgonce_guards.guard_failed') IS NULL THEN
    CREATE INDEX guard_failed ON pgonce_guards.guard (started_at) WHERE kind = 'CALL' AND outcome = 'FAILED' AND NOT repeatable AND settled_by = 'CALL';
  END IF;
  IF to_regclass('pgonce_guards.guard_history_of') IS NULL THEN
    CREATE INDEX guard_history_of ON pgonce_guards.guard_history (scope, key, step, id);
  END IF;
END
$$;

-- The row as it counts now. Only the attempt that owns the token sees it: with it an outcome could be forged.
CREATE OR REPLACE FUNCTION pgonce_guards.guard_as_seen(guard pgonce_guards.guard, own_token uuid DEFAULT NULL) RETURNS pgonce_guards.guard
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF guard.outcome = 'STARTED' AND guard.unknown_at <= clock_timestamp() THEN
    guard.outcome := CASE guard.kind WHEN 'SEQUENCE' THEN 'FAILED' ELSE 'UNKNOWN' END;
    guard.repeatable := guard.kind = 'SEQUENCE';
    guard.error := coalesce(guard.error, 'nothing was heard of it for the longest time that it may take');
  END IF;
  guard.token := CASE WHEN guard.token = own_token THEN own_token END;
  RETURN guard;
END
$$;

-- Begins an attempt, or returns what is there. The attempt was begun if the row is STARTED with the token given: so the same statement can be sent
-- again when the answer to its commit was lost. Waits for a transaction that holds the same key, and ends with lock_not_available after wait_ms.
CREATE OR REPLACE FUNCTION pgonce_guards.guard_begin(
  guard_scope text, guard_key text, guard_step text, guard_kind text, request_hash text, attempt_token uuid, instance_name text,
  longest_ms bigint, horizon_ms bigint, wait_ms bigint)
RETURNS SETOF pgonce_guards.guard
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
DECLARE
  guard       pgonce_guards.guard;
  given       constant bytea := decode(request_hash, 'hex');
  longest     constant interval := longest_ms * interval '1 millisecond';
  new_horizon constant interval := horizon_ms * interval '1 millisecond';
BEGIN
  PERFORM set_config('lock_timeout', wait_ms::text, true);
  -- A second round only if retention deletes the row between the statements.
  LOOP
    INSERT INTO pgonce_guards.guard AS g (scope, key, step, kind, outcome, token, fingerprint, instance, unknown_at, horizon)
    VALUES (guard_scope, guard_key, guard_step, guard_kind, 'STARTED', attempt_token, given, instance_name, clock_timestamp() + longest, new_horizon)
    ON CONFLICT DO NOTHING RETURNING g.* INTO guard;
    EXIT WHEN FOUND;
    -- Of many that come at once one gets the row; the others wait for its lock, look again, and find it STARTED.
    UPDATE pgonce_guards.guard g
       SET outcome = 'STARTED', repeatable = false, attempt = g.attempt + 1, token = attempt_token, instance = instance_name, role = session_user,
           started_at = CASE g.kind WHEN 'SEQUENCE' THEN g.started_at ELSE clock_timestamp() END,
           unknown_at = clock_timestamp() + longest, horizon = greatest(g.horizon, new_horizon),
           settled_at = NULL, settled_by = NULL, keep_until = NULL, response = NULL, error = NULL
     WHERE g.scope = guard_scope AND g.key = guard_key AND g.step = guard_step AND g.kind = guard_kind AND g.fingerprint = given
       AND (g.outcome = 'FAILED' AND g.repeatable
            OR g.kind = 'SEQUENCE' AND g.outcome = 'STARTED' AND g.unknown_at <= clock_timestamp())
    RETURNING g.* INTO guard;
    EXIT WHEN FOUND;
    SELECT g.* INTO guard FROM pgonce_guards.guard g WHERE g.scope = guard_scope AND g.key = guard_key AND g.step = guard_step;
    EXIT WHEN FOUND;
  END LOOP;
  IF guard.kind <> guard_kind THEN
    RAISE EXCEPTION 'pgonce: % of "%" is stored as a %, not as a %: give one of the two another name',
      CASE guard_step WHEN '' THEN 'key "' || guard_key || '"' ELSE 'step "' || guard_step || '"' END, guard_scope, guard.kind, guard_kind
      USING ERRCODE = 'PO004';
  END IF;
  RETURN NEXT pgonce_guards.guard_as_seen(guard, attempt_token);
END
$$;

-- The same in a transaction that goes on whatever the answer: no row if another transaction holds the key for longer than wait_ms.
CREATE OR REPLACE FUNCTION pgonce_guards.guard_enter(
  guard_scope text, guard_key text, guard_step text, guard_kind text, request_hash text, attempt_token uuid, instance_name text,
  longest_ms bigint, horizon_ms bigint, wait_ms bigint)
RETURNS SETOF pgonce_guards.guard
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN QUERY SELECT * FROM pgonce_guards.guard_begin(
    guard_scope, guard_key, guard_step, guard_kind, request_hash, attempt_token, instance_name, longest_ms, horizon_ms, wait_ms);
EXCEPTION
  WHEN lock_not_available THEN RETURN;
END
$$;

-- Records what the attempt with this token came to, and returns what is there then; a repetition changes nothing. A call may report at any time, even
-- late: its success overrules a failure that a probe or a person has recorded, as long as no other attempt was begun. A probe and a person count only
-- where the outcome is unknown. A report that comes too late is kept in the history.
CREATE OR REPLACE FUNCTION pgonce_guards.guard_record(
  guard_scope text, guard_key text, guard_step text, attempt_token uuid, by_whom text,
  new_outcome text, may_repeat boolean, new_response text, new_error text)
RETURNS SETOF pgonce_guards.guard
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
DECLARE
  -- One time for both columns: it is kept for exactly its horizon.
  now   constant timestamptz := clock_timestamp();
  guard pgonce_guards.guard;
  found_there boolean;
  same  boolean;
  wins  boolean;
BEGIN
  UPDATE pgonce_guards.guard g
     SET outcome = new_outcome, repeatable = may_repeat, response = new_response, error = new_error,
         settled_at = CASE WHEN new_outcome <> 'UNKNOWN' THEN now END,
         settled_by = CASE WHEN new_outcome <> 'UNKNOWN' THEN by_whom END,
         keep_until = CASE WHEN g.step <> '' OR new_outcome = 'UNKNOWN' OR g.kind = 'SEQUENCE' AND may_repeat THEN NULL
                           ELSE now + g.horizon END
   WHERE g.scope = guard_scope AND g.key = guard_key AND g.step = guard_step AND g.token = attempt_token
     AND g.outcome IN ('STARTED', 'UNKNOWN')
     AND (by_whom = 'CALL' OR g.outcome = 'UNKNOWN' OR g.unknown_at <= clock_timestamp())
     AND (by_whom <> 'PROBE' OR g.kind = 'CALL')
  RETURNING g.* INTO guard;
  IF FOUND THEN
    RETURN NEXT guard;
    RETURN;
  END IF;

  SELECT g.* INTO guard FROM pgonce_guards.guard g WHERE g.scope = guard_scope AND g.key = guard_key AND g.step = guard_step FOR UPDATE;
  found_there := FOUND;
  IF by_whom = 'CALL' THEN
    same := found_there AND guard.token = attempt_token;
    wins := same AND new_outcome = 'SUCCEEDED' AND guard.outcome = 'FAILED' AND guard.settled_by <> 'CALL';
    IF wins OR NOT same OR guard.outcome <> new_outcome THEN
      INSERT INTO pgonce_guards.guard_history (scope, key, step, attempt, action, was, became, who, why)
      VALUES (guard_scope, guard_key, guard_step, coalesce(guard.attempt, 0), 'LATE', guard.outcome, new_outcome, 'the call itself',
              CASE WHEN wins THEN 'it had been taken for failed, and was not: the outcome was corrected'
                   WHEN same THEN 'it had been settled otherwise: what is stored was kept'
                   WHEN found_there THEN 'another attempt had been begun: what is stored is that attempt''s'
                   ELSE 'the guard was no longer there' END);
    END IF;
    IF wins THEN
      UPDATE pgonce_guards.guard g SET outcome = 'UNKNOWN' WHERE g.scope = guard_scope AND g.key = guard_key AND g.step = guard_step;
      RETURN QUERY SELECT * FROM pgonce_guards.guard_record(
        guard_scope, guard_key, guard_step, attempt_token, by_whom, new_outcome, may_repeat, new_response, new_error);
      RETURN;
    END IF;
  END IF;
  IF found_there THEN
    RETURN NEXT pgonce_guards.guard_as_seen(guard, attempt_token);
  END IF;
END
$$;

-- Records what a call came to, as its process reports it.
CREATE OR REPLACE FUNCTION pgonce_guards.guard_finish(
  guard_scope text, guard_key text, guard_step text, attempt_token uuid, new_outcome text, may_repeat boolean, new_response text, new_error text)
RETURNS SETOF pgonce_guards.guard
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT * FROM pgonce_guards.guard_record(guard_scope, guard_key, guard_step, attempt_token, 'CALL', new_outcome, may_repeat, new_response, new_error)
$$;

-- Records what a probe found out about an attempt whose outcome is unknown. Of several at once the first counts.
CREATE OR REPLACE FUNCTION pgonce_guards.guard_probed(
  guard_scope text, guard_key text, guard_step text, probed_attempt integer, new_outcome text, may_repeat boolean, new_response text, new_error text)
RETURNS SETOF pgonce_guards.guard
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  guard pgonce_guards.guard;
BEGIN
  SELECT g.* INTO guard FROM pgonce_guards.guard g WHERE g.scope = guard_scope AND g.key = guard_key AND g.step = guard_step;
  IF FOUND AND guard.attempt = probed_attempt AND new_outcome IN ('SUCCEEDED', 'FAILED') THEN
    RETURN QUERY SELECT s.* FROM pgonce_guards.guard_record(
        guard_scope, guard_key, guard_step, guard.token, 'PROBE', new_outcome, may_repeat, new_response, new_error) AS r
      CROSS JOIN LATERAL pgonce_guards.guard_as_seen(r) AS s;
  ELSIF FOUND THEN
    RETURN NEXT pgonce_guards.guard_as_seen(guard);
  END IF;
END
$$;

-- What is there of one guard.
CREATE OR REPLACE FUNCTION pgonce_guards.guard_standing(guard_scope text, guard_key text, guard_step text) RETURNS SETOF pgonce_guards.guard
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT s.* FROM pgonce_guards.guard g CROSS JOIN LATERAL pgonce_guards.guard_as_seen(g) AS s WHERE g.scope = guard_scope AND g.key = guard_key AND g.step = guard_step
$$;

-- The steps of a sequence that were begun or done. For its holder: a step without an outcome was begun by a run that died or
-- lost the sequence, so it is UNKNOWN.
CREATE OR REPLACE FUNCTION pgonce_guards.sequence_steps(guard_scope text, guard_key text) RETURNS SETOF pgonce_guards.guard
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  step pgonce_guards.guard;
BEGIN
  FOR step IN SELECT g.* FROM pgonce_guards.guard g WHERE g.scope = guard_scope AND g.key = guard_key AND g.step <> '' LOOP
    step.outcome := CASE step.outcome WHEN 'STARTED' THEN 'UNKNOWN' ELSE step.outcome END;
    step.token := NULL;
    RETURN NEXT step;
  END LOOP;
END
$$;

-- Whether this run still holds the sequence; if so it holds it for longest_ms from now, and no other takes it before this transaction ends.
CREATE OR REPLACE FUNCTION pgonce_guards.hold_sequence(guard_scope text, guard_key text, run_token uuid, longest_ms bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
BEGIN
  UPDATE pgonce_guards.guard g SET unknown_at = clock_timestamp() + longest_ms * interval '1 millisecond'
   WHERE g.scope = guard_scope AND g.key = guard_key AND g.step = '' AND g.kind = 'SEQUENCE' AND g.token = run_token AND g.outcome = 'STARTED';
  RETURN FOUND;
END
$$;

-- Begins a step that must happen at most once. No row if another run holds the sequence.
CREATE OR REPLACE FUNCTION pgonce_guards.step_begin(
  run_token uuid, guard_scope text, guard_key text, guard_step text, guard_kind text, request_hash text, attempt_token uuid, instance_name text,
  longest_ms bigint, horizon_ms bigint, wait_ms bigint)
RETURNS SETOF pgonce_guards.guard
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF pgonce_guards.hold_sequence(guard_scope, guard_key, run_token, longest_ms) THEN
    RETURN QUERY SELECT * FROM pgonce_guards.guard_begin(
      guard_scope, guard_key, guard_step, guard_kind, request_hash, attempt_token, instance_name, longest_ms, horizon_ms, wait_ms);
  END IF;
END
$$;

-- Keeps the result of a step that may be repeated. No row if another run holds the sequence. What the step was before, made at most once and failed
-- without effect, gives way: else the result would not be kept, and each run would repeat it.
CREATE OR REPLACE FUNCTION pgonce_guards.step_done(
  guard_scope text, guard_key text, guard_step text, request_hash text, run_token uuid, instance_name text,
  longest_ms bigint, horizon_ms bigint, new_response text, new_error text)
RETURNS SETOF pgonce_guards.guard
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF pgonce_guards.hold_sequence(guard_scope, guard_key, run_token, longest_ms) THEN
    DELETE FROM pgonce_guards.guard g
     WHERE g.scope = guard_scope AND g.key = guard_key AND g.step = guard_step AND g.outcome = 'FAILED' AND g.repeatable;
    INSERT INTO pgonce_guards.guard (scope, key, step, kind, outcome, token, fingerprint, instance, unknown_at, settled_at, settled_by, horizon, response, error)
    VALUES (guard_scope, guard_key, guard_step, 'REPEATABLE', 'SUCCEEDED', run_token, decode(request_hash, 'hex'), instance_name, clock_timestamp(),
            clock_timestamp(), 'CALL', horizon_ms * interval '1 millisecond', new_response, new_error)
    ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT * FROM pgonce_guards.guard_standing(guard_scope, guard_key, guard_step);
  END IF;
END
$$;

-- Deletes guards and sequences, at most that many, that are done and older than they were promised to be kept; returns how many. What is open
-- is not among them. Several may do it at once.
CREATE OR REPLACE FUNCTION pgonce_guards.guard_purge(batch integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  now     constant timestamptz := clock_timestamp(); -- in the query itself it would keep the index from being used
  deleted bigint;
BEGIN
  WITH doomed AS MATERIALIZED (
    SELECT g.scope, g.key, g.kind FROM pgonce_guards.guard g
     WHERE g.keep_until <= now AND g.step = '' AND g.outcome IN ('SUCCEEDED', 'FAILED')
       AND NOT EXISTS (SELECT FROM pgonce_guards.guard s WHERE g.kind = 'SEQUENCE' AND s.scope = g.scope AND s.key = g.key
                          AND s.step <> '' AND s.outcome IN ('STARTED', 'UNKNOWN'))
     ORDER BY g.keep_until LIMIT least(batch, 10000) FOR UPDATE SKIP LOCKED
  ), steps AS (
    DELETE FROM pgonce_guards.guard s USING doomed d WHERE d.kind = 'SEQUENCE' AND s.scope = d.scope AND s.key = d.key AND s.step <> ''
  )
  DELETE FROM pgonce_guards.guard g USING doomed d WHERE g.scope = d.scope AND g.key = d.key AND g.step = '';
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END
$$;

-- Records what a person decides: what became of it, or that it may be begun again. Not while the call may still run, and never against a success:
-- that may get the response that it lacks, without which a sequence would stay where it is.
CREATE OR REPLACE FUNCTION pgonce_guards.settle_guard(
  guard_scope text, guard_key text, guard_step text, new_outcome text, may_repeat boolean, new_response text, who text, why text)
RETURNS SETOF pgonce_guards.guard
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
DECLARE
  guard pgonce_guards.guard;
  name  constant text := format('guard "%s" key "%s"', guard_scope, guard_key) || CASE WHEN guard_step <> '' THEN ' step "' || guard_step || '"' ELSE '' END;
BEGIN
  IF coalesce(length(btrim(who)), 0) NOT BETWEEN 1 AND 200 OR coalesce(length(btrim(why)), 0) NOT BETWEEN 1 AND 2000 THEN
    RAISE EXCEPTION 'pgonce: % is not settled: say who does it (1 to 200 characters) and why (1 to 2,000)', name USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF new_outcome IS NULL OR may_repeat IS NULL OR new_outcome NOT IN ('SUCCEEDED', 'FAILED') OR may_repeat AND new_outcome <> 'FAILED' THEN
    RAISE EXCEPTION 'pgonce: % is not settled: as SUCCEEDED, or as FAILED, which may be repeatable', name USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT g.* INTO guard FROM pgonce_guards.guard g WHERE g.scope = guard_scope AND g.key = guard_key AND g.step = guard_step FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'pgonce: % is not there: look for it in pgonce_guards.guard_status', name USING ERRCODE = 'undefined_object';
  END IF;
  IF guard.outcome = 'STARTED' AND guard.unknown_at > clock_timestamp() THEN
    RAISE EXCEPTION 'pgonce: % may still be running on "%": its outcome counts as unknown from % on, wait until then',
      name, guard.instance, guard.unknown_at USING ERRCODE = 'PO005';
  END IF;
  IF guard.outcome = 'SUCCEEDED' AND (guard.response IS NOT NULL OR new_outcome <> 'SUCCEEDED') THEN
    RAISE EXCEPTION 'pgonce: % has succeeded, which nobody can undo: for another call take another key', name USING ERRCODE = 'PO005';
  END IF;
  IF guard.kind = 'SEQUENCE' AND new_outcome = 'SUCCEEDED' AND guard.outcome <> 'SUCCEEDED' THEN
    RAISE EXCEPTION 'pgonce: % is a sequence, which succeeds by its steps: settle the step that is open, or give the sequence up as FAILED', name
      USING ERRCODE = 'PO005';
  END IF;
  INSERT INTO pgonce_guards.guard_history (scope, key, step, attempt, action, was, became, who, why)
  VALUES (guard_scope, guard_key, guard_step, guard.attempt, CASE WHEN may_repeat THEN 'RELEASED' ELSE 'SETTLED' END,
          (pgonce_guards.guard_as_seen(guard)).outcome, new_outcome, btrim(who), btrim(why));
  UPDATE pgonce_guards.guard g SET outcome = 'UNKNOWN' WHERE g.scope = guard_scope AND g.key = guard_key AND g.step = guard_step;
  RETURN QUERY SELECT * FROM pgonce_guards.guard_record(
    guard_scope, guard_key, guard_step, guard.token, 'PERSON', new_outcome, may_repeat, new_response,
    CASE WHEN new_outcome = 'FAILED' THEN format('said by %s: %s', btrim(who), btrim(why)) END);
END
$$;

-- Records that it may be begun again. Whoever calls this has made sure that the first call has had no effect, and will have none.
CREATE OR REPLACE FUNCTION pgonce_guards.release_guard(guard_scope text, guard_key text, who text, why text, guard_step text DEFAULT '') RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT FROM pgonce_guards.settle_guard(guard_scope, guard_key, guard_step, 'FAILED', true, NULL, who, why) $$;

-- For the person on call: what is open (calls that run, calls whose outcome nobody knows, sequences that are not at their end), and calls that have
-- failed for good by what they threw, until they are released, settled or purged. A step that has failed is among them while its sequence is open.
-- keep_until is null for what is open, and for steps.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = to_regclass('pgonce_guards.guard_status') AND a.attname = 'keep_until') THEN
    CREATE OR REPLACE VIEW pgonce_guards.guard_status AS
    SELECT g.scope, g.key, g.step, g.kind,
           CASE WHEN g.outcome <> 'STARTED' OR g.unknown_at > clock_timestamp() THEN g.outcome
                WHEN g.kind = 'SEQUENCE' THEN 'FAILED' ELSE 'UNKNOWN' END AS outcome,
           clock_timestamp() - g.started_at AS age, g.attempt, g.instance, g.role, g.started_at, g.unknown_at, g.error,
           g.repeatable OR g.kind = 'SEQUENCE' AND g.outcome = 'STARTED' AND g.unknown_at <= clock_timestamp() AS repeatable, g.settled_at, g.keep_until
      FROM pgonce_guards.guard g
     WHERE g.keep_until IS NULL AND (g.step = '' OR g.outcome IN ('STARTED', 'UNKNOWN'))
    UNION ALL
    SELECT g.scope, g.key, g.step, g.kind, g.outcome, clock_timestamp() - g.started_at, g.attempt, g.instance, g.role, g.started_at, g.unknown_at, g.error,
           g.repeatable, g.settled_at, g.keep_until
      FROM pgonce_guards.guard g
     WHERE g.kind = 'CALL' AND g.outcome = 'FAILED' AND NOT g.repeatable AND g.settled_by = 'CALL'
       AND (g.step = '' OR EXISTS (SELECT FROM pgonce_guards.guard s WHERE s.scope = g.scope AND s.key = g.key AND s.step = '' AND s.keep_until IS NULL));
  END IF;
END
$$;

-- Rights. PUBLIC may do nothing: PostgreSQL gives it EXECUTE on every new function. What is not named below is for these functions only.

REVOKE ALL ON SCHEMA pgonce_guards FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA pgonce_guards FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA pgonce_guards FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pgonce_guards FROM PUBLIC;

GRANT USAGE ON SCHEMA pgonce_guards TO pgonce_guard, pgonce_listener, pgonce_admin;
GRANT SELECT ON pgonce_guards.guard_status TO pgonce_guard, pgonce_listener, pgonce_admin;
GRANT EXECUTE ON FUNCTION
  pgonce_guards.guard_begin(text, text, text, text, text, uuid, text, bigint, bigint, bigint),
  pgonce_guards.guard_enter(text, text, text, text, text, uuid, text, bigint, bigint, bigint),
  pgonce_guards.guard_finish(text, text, text, uuid, text, boolean, text, text),
  pgonce_guards.guard_probed(text, text, text, integer, text, boolean, text, text),
  pgonce_guards.sequence_steps(text, text),
  pgonce_guards.step_begin(uuid, text, text, text, text, text, uuid, text, bigint, bigint, bigint),
  pgonce_guards.step_done(text, text, text, text, uuid, text, bigint, bigint, text, text)
TO pgonce_guard, pgonce_listener;
GRANT EXECUTE ON FUNCTION pgonce_guards.guard_standing(text, text, text), pgonce_guards.guard_purge(integer) TO pgonce_guard, pgonce_listener, pgonce_admin;
GRANT EXECUTE ON FUNCTION pgonce_guards.settle_guard(text, text, text, text, boolean, text, text, text), pgonce_guards.release_guard(text, text, text, text, text)
TO pgonce_admin;
GRANT SELECT ON pgonce_guards.guard, pgonce_guards.guard_history TO pgonce_admin;

COMMENT ON SCHEMA pgonce_guards IS 'pgonce guards, version 4: see docs/guards.md of pgonce';

SELECT pg_catalog.set_config('role', pg_catalog.current_setting('pgonce.role'), false);
SELECT pg_catalog.set_config('client_min_messages', pg_catalog.current_setting('pgonce.client_min_messages'), false);
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
