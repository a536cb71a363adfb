-- Removes the guards of pgonce from this database: schema pgonce_guards with every guard, response and decision in it. Channels stay as they are.
-- Each thing is dropped by its name: if something outside depends on one of them, PostgreSQL refuses and names it, and nothing is changed.

SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

DO $$
DECLARE
  thing     text;
  role_name text;
  held      text;
BEGIN
  IF to_regnamespace('pgonce_guards') IS NOT NULL THEN
    -- Functions return rows of the table, so they go before it.
    FOR thing IN
      SELECT what FROM (
        SELECT 1, format('VIEW pgonce_guards.%I', c.relname) FROM pg_class c WHERE c.relnamespace = 'pgonce_guards'::regnamespace AND c.relkind = 'v'
        UNION ALL
        SELECT 2, format('FUNCTION %s', p.oid::regprocedure) FROM pg_proc p WHERE p.pronamespace = 'pgonce_guards'::regnamespace
        UNION ALL
        SELECT 3, format('TABLE pgonce_guards.%I', c.relname) FROM pg_class c WHERE c.relnamespace = 'pgonce_guards'::regnamespace AND c.relkind = 'r'
      ) AS of_guards (turn, what) ORDER BY turn, what
    LOOP
      EXECUTE 'DROP ' || thing;
    END LOOP;
    DROP SCHEMA pgonce_guards;
  END IF;
  -- The roles belong to the whole server: each goes if nothing is owned by it or granted to it, in any database, and the role that runs this may drop it.
  FOREACH role_name IN ARRAY ARRAY['pgonce_guard', 'pgonce_listener', 'pgonce_admin', 'pgonce_owner'] LOOP
    IF role_name <> 'pgonce_guard' AND to_regnamespace('pgonce') IS NOT NULL THEN
      RAISE NOTICE 'pgonce: role % is kept, as schema pgonce of this database needs it', role_name; -- what it has here would be a long list
      CONTINUE;
    END IF;
    BEGIN
      IF EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role_name) THEN
        EXECUTE format('DROP ROLE %I', role_name);
      END IF;
    EXCEPTION
      WHEN dependent_objects_still_exist THEN
        GET STACKED DIAGNOSTICS held = PG_EXCEPTION_DETAIL;
        RAISE NOTICE 'pgonce: role % is kept, as it still owns something or was granted something: %. Where pgonce is installed in another database, it is needed',
          role_name, replace(held, E'\n', ', ');
      WHEN insufficient_privilege THEN
        RAISE NOTICE 'pgonce: role % is kept, as role % may not drop it: %', role_name, current_user, SQLERRM;
      WHEN undefined_object THEN NULL; -- another session has dropped it at the same moment
    END;
  END LOOP;
END
$$;

SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
