-- Removes pgonce from this database: its schema, everything that waits in it, and every trigger that runs a function of it (by CASCADE, because the
-- triggers' functions live in the schema). The watched tables stay as they are, and so does everything else outside the schema: if something there
-- depends on what is in it, nothing is removed, and the error says what that is.

-- Guards have a schema and a script of their own: guards/uninstall.sql.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

DO $$
DECLARE
  timeout_before constant text := current_setting('lock_timeout');
  quotes_before constant text := current_setting('quote_all_identifiers');
  dependents text;
  role_name text;
  held text;
BEGIN
  IF to_regnamespace('pgonce') IS NOT NULL THEN
    -- All that CASCADE would reach. What is a part of a table or view names that one first. Triggers are meant to go, and so is what a publication or
    -- the default privileges have for the schema.
    PERFORM set_config('quote_all_identifiers', 'off', true); -- pg_identify_object writes names as that says
    WITH RECURSIVE reached (classid, objid, objsubid) AS (
      SELECT 'pg_namespace'::regclass::oid, to_regnamespace('pgonce')::oid, 0
      UNION
      SELECT d.classid, d.objid, d.objsubid FROM reached r
        JOIN pg_depend d ON d.refclassid = r.classid AND d.refobjid = r.objid AND r.objsubid IN (0, d.refobjsubid)
    )
    SELECT string_agg(DISTINCT o.type || ' ' || o.identity, ', ') INTO dependents FROM reached r
     CROSS JOIN LATERAL pg_identify_object(r.classid, r.objid, r.objsubid) o
     CROSS JOIN LATERAL pg_identify_object_as_address(r.classid, r.objid, r.objsubid) a
     WHERE r.classid NOT IN ('pg_namespace'::regclass, 'pg_trigger'::regclass, 'pg_default_acl'::regclass, 'pg_publication_rel'::regclass)
       AND r.classid IS DISTINCT FROM to_regclass('pg_publication_namespace')
       AND coalesce(o.schema, '') NOT IN ('pgonce', 'pg_toast') AND a.object_names[1] IS DISTINCT FROM 'pgonce';
    PERFORM set_config('quote_all_identifiers', quotes_before, true);
    IF dependents IS NOT NULL THEN
      RAISE EXCEPTION 'pgonce: not uninstalled, nothing was changed: what is not pgonce''s depends on schema pgonce, and would be dropped with it: %. Drop that yourself, or have it do without, and try again',
        dependents USING ERRCODE = 'dependent_objects_still_exist';
    END IF;
    -- Who waits for a table's lock has its writers wait too.
    PERFORM set_config('lock_timeout', '800ms', true);
    DROP SCHEMA pgonce CASCADE;
    PERFORM set_config('lock_timeout', timeout_before, true);
    BEGIN
      -- As it was before: grants.sql has revoked it.
      ALTER DEFAULT PRIVILEGES FOR ROLE pgonce_owner GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
    EXCEPTION
      WHEN insufficient_privilege OR undefined_object THEN NULL;
    END;
  END IF;
  -- The roles belong to the whole server: each goes if nothing is owned by it or granted to it, in any database, and who runs this may drop it. What it
  -- owns elsewhere, and what others have granted it there, is theirs.
  FOREACH role_name IN ARRAY ARRAY['pgonce_publisher', 'pgonce_listener', 'pgonce_admin', 'pgonce_sandbox', 'pgonce_owner'] LOOP
    BEGIN
      IF EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role_name) THEN
        EXECUTE format('DROP ROLE %I', role_name);
      END IF;
    EXCEPTION
      WHEN dependent_objects_still_exist THEN
        GET STACKED DIAGNOSTICS held = PG_EXCEPTION_DETAIL;
        RAISE NOTICE 'pgonce: role % is kept, as it still owns something or was granted something: %. Where another database has pgonce too, it is needed. If it is to go: in the databases that are named ALTER … OWNER TO another role, or REVOKE, whatever that is; then DROP ROLE %',
          role_name, replace(held, E'\n', ', '), role_name;
      WHEN insufficient_privilege THEN
        RAISE NOTICE 'pgonce: role % is kept, as role % may not drop it: %. If it is to go: DROP ROLE %, by a role that may', role_name, current_user, SQLERRM, role_name;
      WHEN undefined_object THEN NULL; -- somebody else has dropped it at the same moment
    END;
  END LOOP;
END
$$;

SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
