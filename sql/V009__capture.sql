-- What the functions behind triggers share. They call these with the rights of pgonce_owner, and nobody else may.

SET ROLE pgonce_owner;

-- The columns of a table's primary key, in their order. Empty: it has none.
CREATE OR REPLACE FUNCTION pgonce.primary_key(relation oid) RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT coalesce(array_agg(a.attname::text ORDER BY k.place), '{}')
    FROM pg_index i CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
   WHERE i.indrelid = relation AND i.indisprimary
$$;

-- A row without the columns that must not be stored. Where one of them is not there, it may have another name by now: nothing is stored then.
CREATE OR REPLACE FUNCTION pgonce.row_without(payload json, columns text[]) RETURNS json
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  gone text[];
  kept json;
BEGIN
  IF payload IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT json_object_agg(e.key, e.value) FILTER (WHERE e.key <> ALL (columns)),
         array(SELECT c.name FROM unnest(columns) AS c (name) EXCEPT ALL SELECT unnest(array_agg(e.key)))
    INTO kept, gone FROM json_each(payload) AS e;
  IF gone <> '{}' THEN
    RAISE EXCEPTION 'column % must not be stored and is not there: it was dropped, or has another name now', array_to_string(gone, ', ')
      USING ERRCODE = 'undefined_column';
  END IF;
  RETURN coalesce(kept, '{}');
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
  channel_name text, reason text, error text, payloads json[], keys text[], order_keys text[], writer_context jsonb, writer_depth smallint)
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
  addressed := ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.channel_id = channel.id AND (s.filter IS NULL OR writer_context @> s.filter));
  SELECT array_agg(nextval('pgonce.notification_id')) INTO ids FROM unnest(payloads);
  IF EXISTS (SELECT FROM unnest(keys) AS g (key) WHERE g.key IS NOT NULL) THEN
    SELECT array_agg(CASE WHEN g.key IS NULL OR t.id = g.id THEN g.id END ORDER BY g.n) INTO ids
      FROM unnest(keys, ids) WITH ORDINALITY AS g (key, id, n)
      LEFT JOIN pgonce.take_keys(channel, cardinality(addressed), keys, ids,
                                 (SELECT array_agg(pgonce.fingerprint(p.payload) ORDER BY p.n) FROM unnest(payloads) WITH ORDINALITY AS p (payload, n))) t
             ON t.key = g.key;
  END IF;
  INSERT INTO pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, delivery_key, order_key, context, depth)
  SELECT s.id, g.id, 0, clock_timestamp(), bury_captured.reason, coalesce(bury_captured.error, pgonce.too_deep(writer_depth, channel.max_depth)),
         g.payload, g.key, CASE WHEN channel.key_order <> 'NONE' THEN coalesce(g.order_key, chr(1) || g.id) END, writer_context, writer_depth
    FROM unnest(ids, payloads, keys, order_keys) AS g (id, payload, key, order_key) CROSS JOIN unnest(addressed) AS s (id)
   WHERE g.id IS NOT NULL;
END
$$;

INSERT INTO pgonce.schema_version (version) VALUES (9) ON CONFLICT DO NOTHING;

RESET ROLE;
