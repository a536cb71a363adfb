-- What runs with no rights.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- A value as JSON, for types that are not PostgreSQL's own: who owns one may give it a cast to json, whose function then runs here, now or from one
-- write to the next. So this runs as a role without rights, and not as pgonce_owner, in a sub-transaction that is always undone: whatever such a
-- function set (the search_path by which the caller looks for names, the writer's context) or wrote is as it was. Tried: a SET of its own costs
-- half as much, and that function could override it.
GRANT CREATE ON SCHEMA pgonce TO pgonce_sandbox; -- which PostgreSQL asks of whom a function is given to

RESET ROLE;

CREATE OR REPLACE FUNCTION pgonce.as_json(value anyelement) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
COST 1 -- so that a plan in which it turns out not to be called seems no better: each statement would be planned anew
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
