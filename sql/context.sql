-- What a writer's session or transaction says of itself: context, depth and version.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- How many characters a context has as JSON, without the spaces that PostgreSQL prints: as Java counts.
CREATE OR REPLACE FUNCTION pgonce_private.context_size(context jsonb) RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT (length(context::text) - 2 * (SELECT count(*) FROM jsonb_object_keys(context)) + 1)::integer $$;

-- The context that the setting pgonce.context holds: a JSON object whose values are texts. It can be set by hand: numbers and booleans count as their
-- text, since filters compare texts. Anything else (null, nested values, no object, more than 10,000 characters) counts as no context: a writer never
-- fails by it. Strict, as read_depth is: the views of channels have both in their columns' defaults, and most writers have set neither.
CREATE OR REPLACE FUNCTION pgonce.read_context(given text) RETURNS jsonb
LANGUAGE plpgsql STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  context jsonb;
BEGIN
  IF given = '' OR length(given) > 20000 THEN
    RETURN NULL;
  END IF;
  context := given::jsonb;
  IF jsonb_typeof(context) <> 'object' OR context = '{}' THEN
    RETURN NULL;
  END IF;
  -- A path and no query: each row of a writer with a context pays for it.
  IF jsonb_path_exists(context, 'strict $.* ? (@.type() != "string")') THEN
    IF jsonb_path_exists(context, 'strict $.* ? (@.type() != "string" && @.type() != "number" && @.type() != "boolean")') THEN
      RETURN NULL;
    END IF;
    context := (SELECT jsonb_object_agg(e.key, e.value) FROM jsonb_each_text(context) AS e (key, value));
  ELSIF length(given) <= 10000 THEN
    RETURN context;
  END IF;
  -- A number can have many more digits than characters: 1e131000. Each claim would carry them all to the listener.
  RETURN CASE WHEN pgonce_private.context_size(context) <= 10000 THEN context END;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END
$$;

-- How many handlers led here, from the setting pgonce.depth. A claim sets it, and so does the publisher in a handler. Null for none, and for what is
-- no number.
CREATE OR REPLACE FUNCTION pgonce.read_depth(given text) RETURNS integer
LANGUAGE plpgsql STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN CASE WHEN given ~ '^[0-9]{1,5}$' THEN nullif(least(given::integer, 32767), 0) END;
END
$$;

-- Both as they are now. PostgreSQL inlines them, so they name all in full.
CREATE OR REPLACE FUNCTION pgonce.current_context() RETURNS jsonb
LANGUAGE sql
AS $$ SELECT pgonce.read_context(pg_catalog.current_setting('pgonce.context', true)) $$;

CREATE OR REPLACE FUNCTION pgonce.current_depth() RETURNS smallint
LANGUAGE sql
AS $$ SELECT pgonce.read_depth(pg_catalog.current_setting('pgonce.depth', true))::pg_catalog.int2 $$;

-- The context of one message: its writer's with its own added, which overrides it key by key. Null for none. What is given for one message is meant, so
-- it is refused where it cannot be a context.
CREATE OR REPLACE FUNCTION pgonce_private.add_context(writer_context jsonb, own jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  added jsonb;
  size integer;
BEGIN
  IF own IS NULL OR own = '{}' THEN
    RETURN writer_context;
  END IF;
  IF jsonb_typeof(own) <> 'object'
     OR EXISTS (SELECT FROM jsonb_each(own) AS e (key, value) WHERE e.key = '' OR jsonb_typeof(e.value) NOT IN ('string', 'number', 'boolean')) THEN
    RAISE EXCEPTION 'pgonce: the context of a message is no JSON object of texts, with keys of at least one character: give one such as {"tenant": "acme"}'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  added := coalesce(writer_context, '{}') || (SELECT jsonb_object_agg(e.key, e.value) FROM jsonb_each_text(own) AS e (key, value));
  size := pgonce_private.context_size(added);
  IF size > 10000 THEN
    RAISE EXCEPTION 'pgonce: with that of its transaction the context of a message has % characters as JSON, and 10000 is the most: it goes with the notification; put less into it',
      size USING ERRCODE = 'program_limit_exceeded';
  END IF;
  RETURN added;
END
$$;

-- Adds to the context of this transaction, or removes the entry if the value is null; or of the session, until it is changed or the session ends. A
-- pool hands sessions on to others. Roles that may not use schema pgonce set pgonce.context themselves.
CREATE OR REPLACE FUNCTION pgonce.set_context(key text, value text, for_session boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  changed text;
BEGIN
  IF key IS NULL OR key = '' THEN
    RAISE EXCEPTION 'pgonce: an entry of a context needs a key of at least one character' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  changed := (coalesce(pgonce.current_context(), '{}') - key || CASE WHEN value IS NULL THEN '{}' ELSE jsonb_build_object(key, value) END)::text;
  IF length(changed) > 10000 THEN
    RAISE EXCEPTION 'pgonce: the context would have % characters as JSON, and 10000 is the most: it goes with each notification; put less into it',
      length(changed) USING ERRCODE = 'program_limit_exceeded';
  END IF;
  PERFORM set_config('pgonce.context', CASE WHEN changed = '{}' THEN '' ELSE changed END, for_session IS NOT TRUE);
END
$$;

-- Depth and version as one number, see column stamp of pgonce.notification.
CREATE OR REPLACE FUNCTION pgonce.stamp(depth integer, version integer) RETURNS integer
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF version BETWEEN 1 AND 32767 THEN
    RETURN nullif(coalesce(depth, 0) + 65536 * (version - 1), 0);
  END IF;
  RAISE EXCEPTION 'pgonce: a payload cannot be of version %, versions are numbered from 1 to 32767: give the one that its channel had when this was written, or leave it out, which is 1',
    coalesce(version::text, 'null') USING ERRCODE = 'invalid_parameter_value';
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
