-- Copies of a database: a dump that is restored elsewhere, or a database made from another as its template. What waits in the copy waits in the
-- original too, and would be handled twice: the mails of a production database sent again from a developer's machine. So no listener starts in
-- a copy until an operator adopts it.
--
-- Three facts tell a copy, without any right but on pgonce's own tables. Each is true only where pgonce was installed or adopted:
--   installation.home begins with the oid of its database. CREATE DATABASE with TEMPLATE gives the copy another oid.
--   The comment on the table is the same as installation.home. pg_dump --data-only takes the row and not the comment.
--   The table has had one more column. The catalog remembers a dropped column, and a dump does not create it.
-- All three stay through pg_upgrade, on a promoted standby, and in each byte-by-byte copy of a server: a base backup, a restore to a point in time, a
-- snapshot of its disk. Such a copy is not recognized.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Makes this database the one where pgonce was installed.
CREATE OR REPLACE FUNCTION pgonce_private.settle_here() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  new_home constant text := (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) || ' ' || gen_random_uuid();
BEGIN
  UPDATE pgonce.installation i SET home = new_home;
  EXECUTE format('COMMENT ON TABLE pgonce.installation IS %L', new_home);
  IF NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = 'pgonce.installation'::regclass AND a.attisdropped) THEN
    ALTER TABLE pgonce.installation ADD COLUMN here boolean;
    ALTER TABLE pgonce.installation DROP COLUMN here;
  END IF;
END
$$;

-- Why nothing is delivered in this database, and what to do; null where notifications are delivered. Each listener asks before it starts.
CREATE OR REPLACE FUNCTION pgonce.copy_of_another() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  own_oid constant oid := (SELECT d.oid FROM pg_database d WHERE d.datname = current_database());
  home constant text := (SELECT i.home FROM pgonce.installation i);
  origin text;
BEGIN
  origin := CASE
    WHEN NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = 'pgonce.installation'::regclass AND a.attisdropped)
      THEN 'its schema pgonce was restored from a dump'
    WHEN home IS NULL OR obj_description('pgonce.installation'::regclass, 'pg_class') IS DISTINCT FROM home
      THEN 'what its tables of schema pgonce hold was restored from a dump'
    WHEN split_part(home, ' ', 1) <> own_oid::text
      THEN 'it was made from another database as its template'
  END;
  RETURN CASE WHEN origin IS NOT NULL THEN format('database "%s" is a copy: %s. What waits in it may have been handled in the original, or will be there, and is not handled here as well, until somebody decides so. If it takes the place of the original, or is to work on its own: SELECT pgonce.adopt(''why''); to have it begin with nothing, before that: TRUNCATE pgonce.notification, pgonce.scheduled, pgonce.dead_letter, pgonce.delivery_key, pgonce.handled',
                current_database(), origin) END;
END
$$;

-- From its commit on listeners may start in this database, whatever it was copied from. What waits keeps its ids and delivery keys, so receivers that
-- have seen a key drop the repeat. New notifications get ids far ahead of those that the original may have given since, so their keys are new
-- everywhere. Also for a restore to a point in time, and for a failover that lost commits. Listeners must be stopped.
CREATE OR REPLACE FUNCTION pgonce.adopt(reason text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF coalesce(btrim(reason), '') = '' THEN
    RAISE EXCEPTION 'pgonce: database "%" is not adopted without a reason, which whoever finds its mails sent will look for: say why', current_database()
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  INSERT INTO pgonce.installation DEFAULT VALUES ON CONFLICT DO NOTHING; -- a dump may lack it
  PERFORM pgonce_private.settle_here();
  PERFORM setval('pgonce.notification_id', nextval('pgonce.notification_id') + 1000000000000);
  DELETE FROM pgonce.listener; -- those of the original
  DELETE FROM pgonce.former_listener;
  -- A restore of data alone has no gates, and its channels have other ids.
  PERFORM pgonce_private.make_gate(c.name, CASE c.wake_ups WHEN 'NEVER' THEN 9223372036854775807 ELSE 0 END) FROM pgonce.channel c WHERE pgonce.gate_of(c.name) IS NULL;
  PERFORM pgonce_private.make_entries(c) FROM pgonce.channel c;
  PERFORM pgonce_private.keep_padding();
  PERFORM pgonce_private.record_operation('ADOPT', '*', NULL, reason, 0);
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
