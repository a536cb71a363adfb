-- What the functions behind triggers share. They call these with the rights of pgonce_owner, and nobody else may.

-- See V001.
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

-- What a column is called now, as the rows have it. pg_attribute would tell a transaction at REPEATABLE READ what it was called when its snapshot was
-- taken; this function of PostgreSQL's asks the cache of the catalog, which knows of all that was committed before the table was locked.
CREATE OR REPLACE FUNCTION pgonce.name_now(relation oid, attnum integer) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN (pg_identify_object_as_address('pg_class'::regclass, relation, attnum)).object_names[3];
END
$$;

-- The columns of a table's primary key, in their order, without those that its index only includes. Empty: it has none, or not the one any more that
-- the transaction's snapshot shows, and another one cannot be seen. By the constraint, which stays when REINDEX CONCURRENTLY gives it another index; whether
-- it is there still is asked of the cache too, and in no condition, which would ask it of others. In PL/pgSQL, which keeps the plan: a function in SQL makes
-- one for each call before PostgreSQL 18.
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
-- Of types that are not PostgreSQL's own nobody knows.
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
CREATE OR REPLACE FUNCTION pgonce.has_own_types_now(capturing text) RETURNS boolean
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

-- The same, for a plan that is kept. It is said to be immutable, which it is not: so PostgreSQL asks when it makes a plan in which the argument is a
-- constant, and never when it runs it. It makes the plan of a query that reads new_rows or old_rows anew when the table was altered. As a plan outlives
-- its transaction, the answer must not come from a snapshot that is older than the table: the one of whose statement has led to this one may be, so
-- who is asked is volatile, and takes one of his own; where the transaction has one for all its statements, it is null, which is "not known".
-- "read uncommitted" is "read committed" by another name.
CREATE OR REPLACE FUNCTION pgonce.has_own_types(capturing text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN CASE WHEN current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN pgonce.has_own_types_now(capturing) END;
END
$$;

-- The columns of a row that are among those, or all but those. Null if one of them is not there. A json column may hold escapes that text cannot,
-- such as a lone surrogate, and PostgreSQL fails to look for a key in such a document. So none is one while it is looked through: \u is \\u
-- meanwhile, and \\ is \\b.
CREATE OR REPLACE FUNCTION pgonce.row_part(payload json, columns text[], named boolean) RETURNS json
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

-- A row without the columns that must not be stored. Where one of them is not there, it may have another name by now: nothing is stored then.
CREATE OR REPLACE FUNCTION pgonce.row_without(payload json, columns text[]) RETURNS json
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  kept constant json := pgonce.row_part(payload, columns, false);
BEGIN
  IF kept IS NULL THEN
    RAISE EXCEPTION 'column % must not be stored and is not there: it was dropped, or has another name now',
        (SELECT string_agg(c.name, ', ') FROM unnest(columns) AS c (name) WHERE pgonce.row_part(payload, ARRAY[c.name], true) IS NULL)
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
  key constant json := pgonce.row_part(payload, columns, true);
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

-- A value as a key has it, whose writer must not fail: what text cannot hold is taken as it is written in JSON.
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

-- When it is due, where a row tells. Null: now.
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

-- A key that an expression has made, whose writer must not fail: empty is none, and what is too long is known by its hash.
CREATE OR REPLACE FUNCTION pgonce.given_key(key text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN length(key) <= 500 THEN nullif(key, '') ELSE 'sha256:' || encode(sha256(convert_to(key, getdatabaseencoding())), 'hex') END
$$;

-- What may be told of an error to others than the writer: its message where that is about names, else only which kind it is, as the message
-- may quote what the row holds.
CREATE OR REPLACE FUNCTION pgonce.told(state text, message text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN state IN ('42703', '42883', '42P01', '42804', '54000', 'PO006') THEN message ELSE 'an error of SQLSTATE ' || state END $$;

-- Whether rows that a handler writes would lead too far from the first one.
CREATE OR REPLACE FUNCTION pgonce.is_too_deep(channel_name text, writer_depth smallint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT EXISTS (SELECT FROM pgonce.channel c WHERE c.name = channel_name AND c.max_depth < writer_depth) $$;

-- Stores captured rows as dead letters: the writer goes on, and somebody has a look.
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
  SELECT s.id, g.id, 0, clock_timestamp(), bury_captured.reason, coalesce(bury_captured.error, pgonce.too_deep(writer_depth, channel.max_depth)),
         g.payload, g.key, CASE WHEN channel.key_order <> 'NONE' OR channel.max_per_key IS NOT NULL THEN coalesce(g.order_key, chr(1) || g.id) END, writer_context,
         pgonce.stamp(writer_depth, version)
    FROM unnest(ids, payloads, keys, order_keys) AS g (id, payload, key, order_key) CROSS JOIN unnest(addressed) AS s (id)
   WHERE g.id IS NOT NULL;
END
$$;

-- Whether the table has this trigger: by its name; and where more is given, with this function of schema pgonce, in this form and firing like this.
-- A migration asks before it takes the table's lock. event: tgtype of pg_trigger; fires: tgenabled.
CREATE OR REPLACE FUNCTION pgonce.has_trigger(
  relation regclass, trigger_name text, capturing text DEFAULT NULL, event integer DEFAULT NULL, old_table boolean DEFAULT NULL,
  new_table boolean DEFAULT NULL, deferred boolean DEFAULT NULL, columns text[] DEFAULT NULL, fires text DEFAULT NULL)
RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT EXISTS (
    SELECT FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid
     WHERE t.tgrelid = relation AND t.tgname = trigger_name
       AND (capturing IS NULL
            OR f.pronamespace = 'pgonce'::regnamespace AND f.proname = capturing AND f.pronargs = 0 AND t.tgtype = event
               AND (t.tgoldtable IS NOT DISTINCT FROM CASE WHEN old_table THEN 'old_rows' END)
               AND (t.tgnewtable IS NOT DISTINCT FROM CASE WHEN new_table THEN 'new_rows' END)
               AND t.tgqual IS NULL AND t.tgdeferrable = deferred AND t.tginitdeferred = deferred
               AND ARRAY(SELECT c.name FROM unnest(columns) AS c (name) ORDER BY c.name)
                   = ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum = ANY (t.tgattr) ORDER BY a.attname::text))
       AND (fires IS NULL OR t.tgenabled::text = fires))
$$;
REVOKE ALL ON FUNCTION pgonce.has_trigger(regclass, text, text, integer, boolean, boolean, boolean, text[], text) FROM PUBLIC;
-- Why a channel cannot have both a deferred trigger and a subscription with a filter; null where it has not both. A deferred trigger runs at the end of
-- the writer's transaction, and reads the context of that moment. deferred: whether the channel is about to get such a trigger.
CREATE OR REPLACE FUNCTION pgonce.deferred_with_filter(channel_name text, deferred boolean) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT format('subscription "%s" of channel "%s" has a filter, and a deferred trigger reads the context that the writer''s transaction has at its end, not that of the write: leave the filter out, or first install the channel with another form of trigger (TriggerForm.ROW)',
                s.name, channel_name)
    FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
   WHERE c.name = channel_name AND s.filter IS NOT NULL
     AND (deferred OR EXISTS (
           SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
            WHERE p.pronamespace = 'pgonce'::regnamespace AND split_part(p.proname, ':', 1) = 'capture_' || channel_name AND t.tgdeferrable))
   ORDER BY s.id LIMIT 1
$$;

-- The partitions that a watched table was seen to have, by name. One that is detached loses its copies of the triggers without a trace in the catalog.
CREATE TABLE IF NOT EXISTS pgonce.known_partition (
  channel_id integer NOT NULL REFERENCES pgonce.channel ON DELETE CASCADE,
  name       text COLLATE "C" NOT NULL,
  PRIMARY KEY (channel_id, name)
);

-- Not pg_partition_tree, which waits for whoever keeps one of them locked.
CREATE OR REPLACE FUNCTION pgonce.partitions_of(relation oid) RETURNS TABLE (name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off
AS $$
  WITH RECURSIVE below AS (
    SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = relation
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits i JOIN below b ON b.inhrelid = i.inhparent
  )
  SELECT format('%I.%I', n.nspname, c.relname) FROM below b JOIN pg_class c ON c.oid = b.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relispartition
$$;

-- Adds those that the table has now. None is taken away: it is the memory of those that were detached.
CREATE OR REPLACE FUNCTION pgonce.know_partitions(channel_name text, relation oid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  INSERT INTO pgonce.known_partition (channel_id, name)
  SELECT c.id, p.name FROM pgonce.channel c CROSS JOIN pgonce.partitions_of(relation) p WHERE c.name = channel_name
   ORDER BY p.name
  ON CONFLICT DO NOTHING
$$;

-- Tables that were partitions of the channel's table, are there still, and feed it no longer.
CREATE OR REPLACE FUNCTION pgonce.detached_partitions(channel_name text, relation oid) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off
AS $$
  SELECT k.name FROM pgonce.channel c JOIN pgonce.known_partition k ON k.channel_id = c.id
   WHERE c.name = channel_name AND k.name NOT IN (SELECT p.name FROM pgonce.partitions_of(relation) p)
     AND EXISTS (SELECT FROM pg_class d JOIN pg_namespace n ON n.oid = d.relnamespace
                  WHERE d.relkind IN ('r', 'p') AND format('%I.%I', n.nspname, d.relname) = k.name)
   ORDER BY k.name
$$;

-- They were detached on purpose: nobody is told of them any more. Returns how many there were.
CREATE OR REPLACE FUNCTION pgonce.forget_partitions(channel_name text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off
AS $$
  WITH forgotten AS (
    DELETE FROM pgonce.known_partition k USING pgonce.channel c WHERE c.name = channel_name AND k.channel_id = c.id
       AND NOT EXISTS (SELECT FROM pg_class d JOIN pg_namespace n ON n.oid = d.relnamespace
                        WHERE d.relispartition AND format('%I.%I', n.nspname, d.relname) = k.name)
    RETURNING true
  )
  SELECT count(*) FROM forgotten
$$;

REVOKE ALL ON pgonce.known_partition FROM PUBLIC;
REVOKE ALL ON FUNCTION
  pgonce.deferred_with_filter(text, boolean), pgonce.partitions_of(oid), pgonce.know_partitions(text, oid), pgonce.detached_partitions(text, oid), pgonce.forget_partitions(text)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgonce.deferred_with_filter(text, boolean), pgonce.detached_partitions(text, oid) TO pgonce_listener, pgonce_admin;
GRANT EXECUTE ON FUNCTION pgonce.know_partitions(text, oid), pgonce.forget_partitions(text) TO pgonce_admin;

INSERT INTO pgonce.schema_version (version) VALUES (9) ON CONFLICT DO NOTHING;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
