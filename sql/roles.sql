-- pgonce, the database half. Plain SQL for PostgreSQL 14 and later, one subject a file. Schema.FILES and changelog.xml have the files in their order;
-- PgOnce.migration() prints them as one script for psql -1 -v ON_ERROR_STOP=1 -f, or for Flyway. All of it may run again without harm.
--
-- Roles belong to the whole server and cannot log in; grant them to the logins that need them:
--   pgonce_owner      owns schemas and functions; for logins that install and upgrade the schema
--   pgonce_installer  may install channels, and change those that it has installed
--   pgonce_publisher  may publish
--   pgonce_listener   may claim, settle and see the state of channels
--   pgonce_admin      may pause, resume, cancel, redrive, discard, drop and look into payloads
--   pgonce_monitor    may look at everything but payloads, and change nothing

-- Until the end of this file names lead to pg_catalog, and what is pgonce's is named in full: in a schema of the session's own search_path another role
-- could have put a function, operator or type that PostgreSQL takes for the better match. The session's path is set again at the end.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);
-- Else each run says of each schema and table that it is there already, and Flyway logs that as a warning.
SELECT pg_catalog.set_config('pgonce.client_min_messages', pg_catalog.current_setting('client_min_messages'), false);
SELECT pg_catalog.set_config('client_min_messages', 'warning', false);

-- One at a time, with the library: else the second fails with "tuple concurrently updated". See Schema.java.
SELECT pg_catalog.pg_advisory_xact_lock(123589553447781);

DO $$
DECLARE
  missing constant text[] := ARRAY(
    SELECT r.name FROM unnest(ARRAY['pgonce_owner', 'pgonce_installer', 'pgonce_publisher', 'pgonce_listener', 'pgonce_admin', 'pgonce_monitor']) AS r (name)
     WHERE NOT EXISTS (SELECT FROM pg_roles o WHERE o.rolname = r.name));
  name text;
  other record;
BEGIN
  IF current_setting('server_version_num')::integer < 140000 THEN
    RAISE EXCEPTION 'pgonce needs PostgreSQL 14 or later, and this server is of version %', current_setting('server_version');
  END IF;
  FOREACH name IN ARRAY missing LOOP
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', name);
    EXCEPTION
      -- Another database of this server installs at the same moment; the roles are the same ones.
      WHEN duplicate_object OR unique_violation THEN NULL;
      WHEN insufficient_privilege THEN
        RAISE EXCEPTION 'pgonce: role "%" may not create roles, and these are missing: let a superuser, or a role with CREATEROLE, run "CREATE ROLE % NOLOGIN; GRANT pgonce_owner TO %", then install again',
          current_user, array_to_string(missing, ' NOLOGIN; CREATE ROLE '), quote_ident(current_user) USING ERRCODE = 'insufficient_privilege';
    END;
  END LOOP;
  -- Any role that may create schemas could have made these before, with things in them that would be taken for pgonce's.
  SELECT n.nspname, pg_get_userbyid(n.nspowner) AS owner INTO other FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner
   WHERE n.nspname IN ('pgonce', 'pgonce_private', 'pgonce_triggers') AND o.rolname <> 'pgonce_owner' AND NOT o.rolsuper;
  IF FOUND THEN
    RAISE EXCEPTION 'pgonce: schema % of database "%" belongs to role "%", and nothing is installed into the schema of another role: look at what is in it, then drop it or give it to pgonce_owner',
      other.nspname, current_database(), other.owner USING ERRCODE = 'insufficient_privilege';
  END IF;
  -- From PostgreSQL 16 on, a role that creates another may grant it but is not yet allowed to act as it.
  IF NOT pg_has_role(current_user, 'pgonce_owner', 'USAGE') OR NOT pg_has_role(current_user, 'pgonce_owner', CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END) THEN
    BEGIN
      EXECUTE format('GRANT pgonce_owner TO %I', current_user);
    EXCEPTION WHEN insufficient_privilege THEN
      RAISE EXCEPTION 'pgonce: role "%" may not act as role pgonce_owner, which was there before, as it is where another database of this server has pgonce: let an administrator run "%", then install again',
        current_user, format(CASE WHEN NOT pg_has_role(current_user, 'pgonce_owner', 'MEMBER') THEN 'GRANT pgonce_owner TO %I'
                                  WHEN current_setting('server_version_num')::integer >= 160000 THEN 'GRANT pgonce_owner TO %I WITH INHERIT TRUE, SET TRUE'
                                  ELSE 'ALTER ROLE %I INHERIT' END, current_user) USING ERRCODE = 'insufficient_privilege';
    END;
  END IF;
  IF (to_regnamespace('pgonce') IS NULL OR to_regnamespace('pgonce_private') IS NULL OR to_regnamespace('pgonce_triggers') IS NULL)
     AND NOT has_database_privilege(current_database(), 'CREATE') THEN
    RAISE EXCEPTION 'pgonce: role "%" may not create schemas in database "%": let the database''s owner run "GRANT CREATE ON DATABASE % TO %", then install again',
      current_user, current_database(), quote_ident(current_database()), quote_ident(current_user) USING ERRCODE = 'insufficient_privilege';
  END IF;
END
$$;

-- After a restore without owners (pg_restore --no-owner, or a server without these roles), the schemas and all in them belong to the role that
-- restored them, and functions run with its rights. They get their owner back here, and their rights in grants.sql. See docs/copies.md.
DO $$
DECLARE
  restored record;
  change text;
BEGIN
  FOR restored IN
    SELECT n.oid, n.nspname, n.nspowner FROM pg_namespace n
     WHERE n.nspname IN ('pgonce', 'pgonce_private', 'pgonce_triggers') AND n.nspowner <> 'pgonce_owner'::regrole
  LOOP
    EXECUTE format('ALTER SCHEMA %I OWNER TO pgonce_owner', restored.nspname);
    FOR change IN
      -- The sequence of an identity column goes with its table.
      SELECT format('ALTER %s %s OWNER TO pgonce_owner', CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass)
        FROM pg_class c
       WHERE c.relnamespace = restored.oid AND c.relkind IN ('r', 'p', 'v', 'S') AND c.relowner = restored.nspowner
         AND NOT EXISTS (SELECT FROM pg_depend d WHERE c.relkind = 'S' AND d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i'))
      UNION ALL
      SELECT format('ALTER FUNCTION %s OWNER TO pgonce_owner', p.oid::regprocedure)
        FROM pg_proc p WHERE p.pronamespace = restored.oid AND p.proowner = restored.nspowner AND restored.nspname <> 'pgonce_triggers'
    LOOP
      EXECUTE change;
    END LOOP;
  END LOOP;
END
$$;

-- What may be called, what only these functions call, and the functions of triggers, which belong to the tables' owners or to those who installed them.
-- IF NOT EXISTS would take the right to create schemas where they are there, too.
DO $$
DECLARE
  missing text;
BEGIN
  FOREACH missing IN ARRAY ARRAY['pgonce', 'pgonce_private', 'pgonce_triggers'] LOOP
    IF to_regnamespace(missing) IS NULL THEN
      EXECUTE format('CREATE SCHEMA %I AUTHORIZATION pgonce_owner', missing);
    END IF;
  END LOOP;
END
$$;

SELECT pg_catalog.set_config('client_min_messages', pg_catalog.current_setting('pgonce.client_min_messages'), false);
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
