-- What is to be there from the start, and the version.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

SELECT pgonce.keep_ballast();

DO $$
BEGIN
  IF EXISTS (SELECT FROM pgonce.installation i WHERE i.home IS NULL) THEN
    PERFORM pgonce.settle_here();
  END IF;
END
$$;

INSERT INTO pgonce.schema_version (version) VALUES (1) ON CONFLICT DO NOTHING;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
