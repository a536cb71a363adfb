-- Removes pgonce from this database: its schemas, everything that waits in them, and every trigger that runs a function of them (by CASCADE). The
-- watched tables stay as they are, and so does everything else outside the schemas: if something there depends on what is in them, nothing is
-- removed, and the error names it. After SET pgonce.refuses_loss = 'on' nothing is removed while something waits.

-- Guards have a schema and a script of their own: guards/uninstall.sql.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

DO $$
DECLARE
  timeout_before constant text := current_setting('lock_timeout');
  quotes_before constant text := current_setting('quote_all_identifiers');
  refuses_loss constant boolean := coalesce(current_setting('pgonce.refuses_loss', true), '') = 'on';
  dependents text;
  watched regclass;
  role_name text;
  held text;
BEGIN
  IF to_regnamespace('pgonce') IS NOT NULL OR to_regnamespace('pgonce_private') IS NOT NULL OR to_regnamespace('pgonce_triggers') IS NOT NULL THEN
    -- All that CASCADE would reach. A part of a table or view is identified by the name of that first. Triggers are meant to go, and so are the
    -- entries of publications and default privileges for the schemas.
    PERFORM set_config('quote_all_identifiers', 'off', true); -- pg_identify_object writes names by this setting
    WITH RECURSIVE reached (classid, objid, objsubid) AS (
      SELECT 'pg_namespace'::regclass::oid, n.oid, 0 FROM pg_namespace n WHERE n.nspname IN ('pgonce', 'pgonce_private', 'pgonce_triggers')
      UNION
      SELECT d.classid, d.objid, d.objsubid FROM reached r
        JOIN pg_depend d ON d.refclassid = r.classid AND d.refobjid = r.objid AND r.objsubid IN (0, d.refobjsubid)
    )
    SELECT string_agg(DISTINCT o.type || ' ' || o.identity, ', ') INTO dependents FROM reached r
     CROSS JOIN LATERAL pg_identify_object(r.classid, r.objid, r.objsubid) o
     CROSS JOIN LATERAL pg_identify_object_as_address(r.classid, r.objid, r.objsubid) a
     WHERE r.classid NOT IN ('pg_namespace'::regclass, 'pg_trigger'::regclass, 'pg_default_acl'::regclass, 'pg_publication_rel'::regclass)
       AND r.classid IS DISTINCT FROM to_regclass('pg_publication_namespace')
       AND coalesce(o.schema, '') NOT IN ('pgonce', 'pgonce_private', 'pgonce_triggers', 'pg_toast') AND a.object_names[1] IS DISTINCT FROM 'pgonce';
    PERFORM set_config('quote_all_identifiers', quotes_before, true);
    IF dependents IS NOT NULL THEN
      RAISE EXCEPTION 'pgonce: not uninstalled, nothing was changed: what is not pgonce''s depends on schema pgonce, and would be dropped with it: %. Drop that yourself, or have it do without, and try again',
        dependents USING ERRCODE = 'dependent_objects_still_exist';
    END IF;
    IF refuses_loss AND to_regprocedure('pgonce_private.refuse_waiting(text, text, bigint)') IS NOT NULL THEN
      PERFORM pgonce_private.refuse_waiting(NULL, NULL, 0); -- before anybody has to wait
    END IF;
    BEGIN
      -- Writers of a table wait behind a wait for its lock.
      PERFORM set_config('lock_timeout', '800ms', true);
      -- In the order of writers, so that none waits in a circle: the watched tables before pgonce's, and a partitioned one before its partitions. DROP
      -- locks these last.
      FOR watched IN
        SELECT DISTINCT t.tgrelid FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_class c ON c.oid = t.tgrelid
         WHERE p.pronamespace = to_regnamespace('pgonce_triggers') AND t.tgparentid = 0 AND c.relkind IN ('r', 'p') AND has_table_privilege(t.tgrelid, 'UPDATE, DELETE, TRUNCATE')
         ORDER BY t.tgrelid
      LOOP
        EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', watched);
      END LOOP;
      IF refuses_loss AND to_regprocedure('pgonce.refuse_loss(text, text, bigint)') IS NOT NULL THEN
        PERFORM pgonce.refuse_loss(NULL);
      END IF;
      DROP SCHEMA IF EXISTS pgonce, pgonce_private, pgonce_triggers CASCADE;
      PERFORM set_config('lock_timeout', timeout_before, true);
    EXCEPTION
      WHEN lock_not_available OR deadlock_detected THEN
        RAISE EXCEPTION 'pgonce: not uninstalled, nothing was changed: for 800 ms other transactions held what is to be dropped, or a table with its triggers (the oldest in pg_stat_activity by xact_start). Stop the listeners, wait for these to end, and try again'
          USING ERRCODE = 'lock_not_available';
    END;
    BEGIN
      -- As before grants.sql.
      ALTER DEFAULT PRIVILEGES FOR ROLE pgonce_owner GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
    EXCEPTION
      WHEN insufficient_privilege OR undefined_object THEN NULL;
    END;
  END IF;
  -- The roles belong to the whole server. Each is dropped if it owns nothing and was granted nothing, in any database, and the current role may drop
  -- it. What it owns elsewhere, and what others have granted it there, stays.
  FOREACH role_name IN ARRAY ARRAY['pgonce_publisher', 'pgonce_listener', 'pgonce_admin', 'pgonce_monitor', 'pgonce_installer', 'pgonce_owner'] LOOP
    BEGIN
      IF EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role_name) THEN
        EXECUTE format('DROP ROLE %I', role_name);
      END IF;
    EXCEPTION
      WHEN dependent_objects_still_exist THEN
        GET STACKED DIAGNOSTICS held = PG_EXCEPTION_DETAIL;
        RAISE NOTICE 'pgonce: role % is kept, as it still owns something or was granted something: %. Where another database has pgonce too, it is needed. If it is to go: in the databases that are named ALTER ... OWNER TO another role, or REVOKE, whatever that is; then DROP ROLE %',
          role_name, replace(held, E'\n', ', '), role_name;
      WHEN insufficient_privilege THEN
        RAISE NOTICE 'pgonce: role % is kept, as role % may not drop it: %. If it is to go: DROP ROLE %, by a role that may', role_name, current_user, SQLERRM, role_name;
      WHEN undefined_object THEN NULL; -- another session has dropped it at the same moment
    END;
  END LOOP;
END
$$;

SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
