-- What the functions of triggers call. None of it reads or writes anything.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- A value as part of a key, for a writer that must not fail: what text cannot hold is written as in JSON.
CREATE OR REPLACE FUNCTION pgonce.key_part(value json) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF strpos(value::text, E'\\u') = 0 THEN
    RETURN value #>> '{}';
  END IF;
  BEGIN
    RETURN value #>> '{}';
  EXCEPTION WHEN OTHERS THEN
    RETURN value::text;
  END;
END
$$;

-- A payload that an expression has made.
CREATE OR REPLACE FUNCTION pgonce.given_payload(payload json) RETURNS json
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF payload IS NULL THEN
    RAISE EXCEPTION 'the computed payload is null, which is no payload: say by a condition which rows make a notification' USING ERRCODE = 'PO006';
  END IF;
  RETURN payload;
END
$$;

-- A due time that an expression has made.
CREATE OR REPLACE FUNCTION pgonce.given_due(due_at timestamptz) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF due_at = 'infinity' THEN
    RAISE EXCEPTION 'the notification would be due at infinity, which never comes' USING ERRCODE = 'PO006';
  END IF;
  RETURN due_at;
END
$$;

-- That an update shows as many rows before as after it. PostgreSQL shows a row that moves to another partition as it was, and then asks the triggers
-- of that one, which may swallow it. Nobody knows then which rows belong together.
CREATE OR REPLACE FUNCTION pgonce.require_pairs(before bigint, after bigint) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF before <> after THEN
    RAISE EXCEPTION 'PostgreSQL shows % rows before the update and % after it, and not which belong together: a trigger of another partition has swallowed what was to move there',
      before, after USING ERRCODE = 'PO006';
  END IF;
  RETURN true;
END
$$;

-- A key that an expression has made, for a writer that must not fail: an empty one is none, and one that is too long becomes its hash.
CREATE OR REPLACE FUNCTION pgonce.given_key(key text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN length(key) <= 500 THEN nullif(key, '') ELSE 'sha256:' || encode(sha256(convert_to(key, getdatabaseencoding())), 'hex') END
$$;

-- What others than the writer may see of an error: its message if that is about names, else only its SQLSTATE, as the message may quote what the row
-- holds.
CREATE OR REPLACE FUNCTION pgonce.shown_error(state text, message text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN state IN ('42703', '42883', '42P01', '42804', '54000', 'PO006') THEN message ELSE 'an error of SQLSTATE ' || state END $$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
