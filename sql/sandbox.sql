-- What runs with no rights, because others may decide what it does.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- A value as JSON, for types that are not PostgreSQL's own. The owner of such a type may give it a cast to json, whose function then runs here. So
-- this runs as a role without rights, and in a sub-transaction that is always undone: what such a function sets (the search_path of the caller, the
-- writer's context) or writes does not last. A SET clause would cost half as much, but that function could override it.
GRANT CREATE ON SCHEMA pgonce TO pgonce_sandbox; -- PostgreSQL asks for this right of the role that a function is given to

RESET ROLE;

CREATE OR REPLACE FUNCTION pgonce.as_json(value anyelement) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
COST 1 -- else a plan in which it is not called would look better, and each statement would be planned anew
AS $$
DECLARE
  written pg_catalog.json; -- it pins no path
  is_written boolean := false;
BEGIN
  BEGIN
    written := pg_catalog.to_json(value);
    is_written := true;
    RAISE EXCEPTION USING ERRCODE = 'PO009';
  EXCEPTION WHEN SQLSTATE 'PO009' THEN
    IF NOT is_written THEN
      RAISE;
    END IF;
  END;
  RETURN written;
END
$$;

ALTER FUNCTION pgonce.as_json(anyelement) OWNER TO pgonce_sandbox;

REVOKE ALL ON FUNCTION pgonce.as_json(anyelement) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION pgonce.as_json(anyelement) TO pgonce_owner;

SET ROLE pgonce_owner;

REVOKE CREATE ON SCHEMA pgonce FROM pgonce_sandbox;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
