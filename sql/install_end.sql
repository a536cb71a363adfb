-- What must be there from the start: padding rows, the home of this database, and the number of what is installed. Raise the number, here and in
-- Schema.java, in each release that changes a file of this folder: then all files run again.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

SELECT pgonce_private.keep_padding();

DO $$
BEGIN
  IF EXISTS (SELECT FROM pgonce.installation i WHERE i.home IS NULL) THEN
    PERFORM pgonce_private.settle_here();
  END IF;
END
$$;

-- A restored dump without data has triggers and views, and no channels. What these store is handled by nobody: no new channel gets an id that stands
-- in one of those views.
SELECT setval(pg_get_serial_sequence('pgonce.channel', 'id'), max(substring(pg_get_viewdef(v.oid) FROM '/ 4096[)] = ([0-9]+)')::bigint))
  FROM pg_class v
 WHERE v.relnamespace = 'pgonce'::regnamespace AND v.relkind = 'v' AND v.relname ^@ 'into_' AND NOT EXISTS (SELECT FROM pgonce.schema_version);

INSERT INTO pgonce.schema_version (version) VALUES (1) ON CONFLICT DO NOTHING;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
