-- What generated trigger functions call, with the rights of pgonce_owner.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- The present name of a column, as the written rows have it. For a transaction at REPEATABLE READ, pg_attribute shows the name as of its snapshot.
-- This function of PostgreSQL reads the catalog cache, which knows all that was committed before the table was locked.
CREATE OR REPLACE FUNCTION pgonce.name_now(relation oid, attnum integer) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN (pg_identify_object_as_address('pg_class'::regclass, relation, attnum)).object_names[3];
END
$$;

-- The columns of a table's primary key, in their order, without those that its index only includes. Empty: there is none, or the one in the
-- transaction's snapshot is gone and the new one cannot be seen. It is found by its constraint, which stays when REINDEX CONCURRENTLY makes another
-- index. Whether the constraint is still there is read from the cache, and not in a condition, which would be evaluated for other constraints too.
-- PL/pgSQL keeps the plan; before PostgreSQL 18 a function in SQL plans at each call.
CREATE OR REPLACE FUNCTION pgonce.primary_key(relation oid) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN coalesce((
    SELECT CASE WHEN (pg_identify_object_as_address('pg_constraint'::regclass, c.oid, 0)).object_names IS NOT NULL
                THEN ARRAY(SELECT pgonce.name_now(relation, k.attnum) FROM unnest(c.conkey) AS k (attnum)) END
      FROM pg_constraint c WHERE c.conrelid = relation AND c.contype = 'p'), '{}');
END
$$;

-- Whether a row of the table can be many times longer as JSON than it is stored: where a numeric, a name or a whole row is part of a larger value.
-- Types that are not PostgreSQL's own count as such.
CREATE OR REPLACE FUNCTION pgonce.may_expand(relation oid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  WITH RECURSIVE typed AS (
    SELECT a.atttypid AS id FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped
    UNION
    SELECT t.typbasetype FROM typed d JOIN pg_type t ON t.oid = d.id WHERE t.typtype = 'd'
  )
  SELECT EXISTS (
    SELECT FROM typed d JOIN pg_type t ON t.oid = d.id LEFT JOIN pg_type e ON e.typarray = t.oid
     WHERE t.typtype IN ('c', 'm') OR t.oid IN ('jsonb'::regtype, 'jsonpath'::regtype)
        OR CASE WHEN e.oid IS NULL THEN t.typtype = 'b' AND t.typnamespace <> 'pg_catalog'::regnamespace
                ELSE e.typtype <> 'b' OR e.typnamespace <> 'pg_catalog'::regnamespace OR e.oid IN ('numeric'::regtype, 'jsonb'::regtype, 'jsonpath'::regtype) END)
$$;

-- Whether a table whose trigger runs this function has columns of types that are not PostgreSQL's own, which have object ids below 16384
-- (FirstNormalObjectId); null if there is no such table.
CREATE OR REPLACE FUNCTION pgonce_private.has_own_types_now(capturing text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN (
    SELECT bool_or(a.atttypid >= 16384)
      FROM pg_depend d JOIN pg_trigger t ON t.oid = d.objid JOIN pg_attribute a ON a.attrelid = t.tgrelid
     WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = to_regproc(capturing) AND d.classid = 'pg_trigger'::regclass
       AND a.attnum > 0 AND NOT a.attisdropped);
END
$$;

-- The same, for a plan that is kept. It is declared immutable, which it is not: so PostgreSQL calls it when it makes a plan in which the argument is
-- a constant, and never when it runs the plan. A query that reads new_rows or old_rows is planned anew after the table was altered. The plan outlives
-- its transaction, so the answer must not come from a snapshot that is older than the table. The caller's snapshot may be older, so the function that
-- is called is volatile and takes its own. Where the transaction has one snapshot for all its statements, the answer is null: not known. "read
-- uncommitted" is "read committed" by another name.
CREATE OR REPLACE FUNCTION pgonce.has_own_types(capturing text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN CASE WHEN current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN pgonce_private.has_own_types_now(capturing) END;
END
$$;

-- The columns of a row that are among the given ones, or all others. Null if a given one is not there. A json column may hold escapes that text
-- cannot, such as a lone surrogate, and PostgreSQL fails to look for a key in such a document. So escapes are masked during the look: \u becomes \\u,
-- and \\ becomes \\b.
CREATE OR REPLACE FUNCTION pgonce_private.row_part(payload json, columns text[], named boolean) RETURNS json
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  masked constant boolean := strpos(payload::text, E'\\u') > 0;
  kept json;
  found_columns integer;
BEGIN
  IF masked THEN
    payload := replace(replace(payload::text, E'\\\\', E'\\\\b'), E'\\u', E'\\\\u');
    columns := ARRAY(
      SELECT json_object_keys(replace(replace(json_build_object(c.name, 0)::text, E'\\\\', E'\\\\b'), E'\\u', E'\\\\u')::json)
        FROM unnest(columns) AS c (name));
  END IF;
  SELECT json_object_agg(e.key, e.value) FILTER (WHERE (e.key = ANY (columns)) = named), count(*) FILTER (WHERE e.key = ANY (columns))
    INTO kept, found_columns FROM json_each(payload) AS e;
  IF found_columns < cardinality(columns) THEN
    RETURN NULL;
  ELSIF masked THEN
    kept := replace(replace(kept::text, E'\\\\u', E'\\u'), E'\\\\b', E'\\\\');
  END IF;
  RETURN coalesce(kept, '{}');
END
$$;

-- A row without the columns that must not be stored. If one of them is not there, it may have another name by now: then nothing is stored.
CREATE OR REPLACE FUNCTION pgonce.row_without(payload json, columns text[]) RETURNS json
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  kept constant json := pgonce_private.row_part(payload, columns, false);
BEGIN
  IF kept IS NULL THEN
    RAISE EXCEPTION 'column % must not be stored and is not there: it was dropped, or has another name now',
        (SELECT string_agg(c.name, ', ') FROM unnest(columns) AS c (name) WHERE pgonce_private.row_part(payload, ARRAY[c.name], true) IS NULL)
      USING ERRCODE = 'undefined_column';
  END IF;
  RETURN kept;
END
$$;

-- The primary key of a row.
CREATE OR REPLACE FUNCTION pgonce.row_only(payload json, columns text[]) RETURNS json
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  key constant json := pgonce_private.row_part(payload, columns, true);
BEGIN
  IF columns = '{}' THEN
    RAISE EXCEPTION 'the table has no primary key any more, or another one than the transaction can see, and nothing else is to be stored' USING ERRCODE = 'PO006';
  ELSIF key IS NULL THEN
    RAISE EXCEPTION 'the row has not all columns of its primary key (%), and nothing else is to be stored', array_to_string(columns, ', ')
      USING ERRCODE = 'undefined_column';
  END IF;
  RETURN key;
END
$$;

-- A payload that an expression has made.
CREATE OR REPLACE FUNCTION pgonce.given_payload(payload json) RETURNS json
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF payload IS NULL THEN
    RAISE EXCEPTION 'it is null, which is no payload: which rows make a notification is said by a condition' USING ERRCODE = 'PO006';
  END IF;
  RETURN payload;
END
$$;

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

-- The due time that a row gives; null is now.
CREATE OR REPLACE FUNCTION pgonce.row_due(due_at timestamptz) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF due_at = 'infinity' THEN
    RAISE EXCEPTION 'it would be due at infinity, which never comes' USING ERRCODE = 'PO006';
  END IF;
  RETURN nullif(due_at, '-infinity');
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
CREATE OR REPLACE FUNCTION pgonce.told(state text, message text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN state IN ('42703', '42883', '42P01', '42804', '54000', 'PO006') THEN message ELSE 'an error of SQLSTATE ' || state END $$;

-- Whether rows that a handler writes are deeper than the channel allows.
CREATE OR REPLACE FUNCTION pgonce.is_too_deep(channel_name text, writer_depth smallint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT EXISTS (SELECT FROM pgonce.channel c WHERE c.name = channel_name AND c.max_depth < writer_depth) $$;

-- Stores captured rows as dead letters: the writer goes on, and an operator decides.
CREATE OR REPLACE FUNCTION pgonce.bury_captured(
  channel_name text, reason text, error text, payloads json[], keys text[], order_keys text[], writer_context jsonb, writer_depth smallint,
  version integer DEFAULT 1)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  channel pgonce.channel;
  addressed integer[];
  ids bigint[];
BEGIN
  LOCK TABLE pgonce.notification IN ROW EXCLUSIVE MODE;
  SELECT c.* INTO channel FROM pgonce.channel c WHERE c.name = channel_name;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  addressed := ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.of_channel = channel_name AND (s.filter IS NULL OR writer_context @> s.filter));
  SELECT array_agg(nextval('pgonce.notification_id')) INTO ids FROM unnest(payloads);
  IF EXISTS (SELECT FROM unnest(keys) AS g (key) WHERE g.key IS NOT NULL) THEN
    SELECT array_agg(CASE WHEN g.key IS NULL OR t.id = g.id THEN g.id END ORDER BY g.n) INTO ids
      FROM unnest(keys, ids) WITH ORDINALITY AS g (key, id, n)
      LEFT JOIN pgonce.take_keys(channel, cardinality(addressed), keys, ids,
                                 (SELECT array_agg(pgonce.fingerprint(p.payload) ORDER BY p.n) FROM unnest(payloads) WITH ORDINALITY AS p (payload, n))) t
             ON t.key = g.key;
  END IF;
  INSERT INTO pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, delivery_key, order_key, context, stamp)
  SELECT s.id, g.id, 0, clock_timestamp(), bury_captured.reason, coalesce(bury_captured.error, pgonce_private.too_deep(writer_depth, channel.max_depth)),
         g.payload, g.key, CASE WHEN channel.key_order <> 'NONE' OR channel.max_per_key IS NOT NULL THEN coalesce(g.order_key, chr(1) || g.id) END, writer_context,
         pgonce.stamp(writer_depth, version)
    FROM unnest(ids, payloads, keys, order_keys) AS g (id, payload, key, order_key) CROSS JOIN unnest(addressed) AS s (id)
   WHERE g.id IS NOT NULL;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
