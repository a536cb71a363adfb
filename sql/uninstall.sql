-- Removes pgonce from this database: its schema, everything that waits in it, and every trigger that feeds it (by CASCADE, because the
-- triggers' functions live in the schema). The watched tables stay as they are.

DROP SCHEMA IF EXISTS pgonce CASCADE;

-- The roles belong to the whole server: they go only when no other database needs them, and who runs this may drop them.
DO $$
DECLARE
  name text;
BEGIN
  IF EXISTS (SELECT FROM pg_roles r WHERE r.rolname = 'pgonce_owner') AND pg_has_role('pgonce_owner', 'MEMBER') THEN
    ALTER DEFAULT PRIVILEGES FOR ROLE pgonce_owner GRANT EXECUTE ON FUNCTIONS TO PUBLIC; -- as it was before: what the role keeps of this database is nothing
  END IF;
  FOREACH name IN ARRAY ARRAY['pgonce_publisher', 'pgonce_listener', 'pgonce_guard', 'pgonce_admin', 'pgonce_sandbox', 'pgonce_owner'] LOOP
    BEGIN
      IF EXISTS (SELECT FROM pg_roles r WHERE r.rolname = name) THEN
        EXECUTE format('DROP OWNED BY %I', name);
        EXECUTE format('DROP ROLE %I', name);
      END IF;
    EXCEPTION
      WHEN dependent_objects_still_exist OR insufficient_privilege THEN
        RAISE NOTICE 'pgonce: role % is kept: %', name, SQLERRM;
    END;
  END LOOP;
END
$$;
