-- pgonce, the database half. Plain SQL for PostgreSQL 14 and later: psql -1 -v ON_ERROR_STOP=1 -f, Flyway and Liquibase run it as it is, and so
-- does the library. Each file may run again without harm.
--
-- Roles belong to the whole server, not to one database. They cannot log in; grant them to the logins that need them:
--   pgonce_owner      owns schema and functions; for whoever installs channels
--   pgonce_publisher  may publish
--   pgonce_listener   may claim, settle and see the state of channels
--   pgonce_admin      may pause, resume, cancel, redrive, discard, drop and look into payloads
--   pgonce_sandbox    may do nothing, and is for nobody: as it runs what others may have had a hand in, see pgonce.as_json

-- Until the end of this file names lead to pg_catalog, and what is pgonce's is named in full: in a schema of the session's own search_path another role
-- could have put a function, operator or type that PostgreSQL takes for the better match. The session's path is remembered, and set again at the end.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['pgonce_owner', 'pgonce_publisher', 'pgonce_listener', 'pgonce_admin', 'pgonce_sandbox'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = name) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', name);
      EXCEPTION
        -- Another database of this server installs at the same moment; the roles are the same ones.
        WHEN duplicate_object OR unique_violation THEN NULL;
      END;
    END IF;
  END LOOP;
  -- Whoever may create schemas could have made this one before, with things in it that would be taken for pgonce's.
  IF EXISTS (SELECT FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner
              WHERE n.nspname = 'pgonce' AND o.rolname <> 'pgonce_owner' AND NOT o.rolsuper) THEN
    RAISE EXCEPTION 'pgonce: schema pgonce of database "%" belongs to role "%", and nothing is installed into the schema of another role: look at what is in it, then drop it or give it to pgonce_owner',
      current_database(), (SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace n WHERE n.nspname = 'pgonce') USING ERRCODE = 'insufficient_privilege';
  END IF;
  -- From PostgreSQL 16 on, who creates a role may grant it but is not yet allowed to act as it.
  IF NOT pg_has_role(current_user, 'pgonce_owner', 'USAGE') OR NOT pg_has_role(current_user, 'pgonce_owner', 'MEMBER') THEN
    EXECUTE format('GRANT pgonce_owner TO %I', current_user);
  END IF;
  -- To give it its function. A superuser's grant depends on nobody, so it may be for all who install later; others would stay tied to theirs.
  IF (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) THEN
    GRANT pgonce_sandbox TO pgonce_owner;
  ELSIF NOT pg_has_role(current_user, 'pgonce_sandbox', 'USAGE') OR NOT pg_has_role(current_user, 'pgonce_sandbox', 'MEMBER') THEN
    EXECUTE format('GRANT pgonce_sandbox TO %I', current_user);
  END IF;
END
$$;

-- After a restore without owners (pg_restore --no-owner, or a server without these roles), the schema and all in it belong to the role that restored
-- them, and functions run with its rights. They get their owner back here; the files that follow give the rights back. See docs/copies.md.
DO $$
DECLARE
  restorer constant oid := (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'pgonce' AND n.nspowner <> 'pgonce_owner'::regrole);
  change text;
BEGIN
  IF restorer IS NULL THEN
    RETURN;
  END IF;
  ALTER SCHEMA pgonce OWNER TO pgonce_owner;
  FOR change IN
    -- The sequence of an identity column goes with its table.
    SELECT format('ALTER %s pgonce.%I OWNER TO pgonce_owner', CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.relname)
      FROM pg_class c
     WHERE c.relnamespace = 'pgonce'::regnamespace AND c.relkind IN ('r', 'v', 'S') AND c.relowner = restorer
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE c.relkind = 'S' AND d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i'))
    UNION ALL
    SELECT format('ALTER FUNCTION %s OWNER TO pgonce_owner', p.oid::regprocedure)
      FROM pg_proc p WHERE p.pronamespace = 'pgonce'::regnamespace AND p.proowner = restorer
  LOOP
    EXECUTE change;
  END LOOP;
END
$$;

CREATE SCHEMA IF NOT EXISTS pgonce AUTHORIZATION pgonce_owner;

SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
