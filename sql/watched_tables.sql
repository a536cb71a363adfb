-- What installing and checking triggers asks of the catalog, and the partitions that a table is known to have.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Whether the table has a trigger of this name; where more is given, of this form and firing like this. A migration asks before it takes the table's
-- lock. form: what pg_get_triggerdef prints, without quotes, the trigger's name and the table's; fires: tgenabled of pg_trigger.
CREATE OR REPLACE FUNCTION pgonce.has_trigger(relation regclass, trigger_name text, form text DEFAULT NULL, fires text DEFAULT NULL) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT EXISTS (
    SELECT FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE t.tgrelid = relation AND t.tgname = trigger_name
       AND (form IS NULL
            OR form = replace(replace(replace(pg_get_triggerdef(t.oid), format('TRIGGER %I ', t.tgname), 'TRIGGER '), format(' ON %I.%I ', n.nspname, c.relname), ' '), '"', ''))
       AND (fires IS NULL OR t.tgenabled::text = fires))
$$;

-- Why a channel cannot have both a deferred trigger and a subscription with a filter; null if it does not have both. A deferred trigger runs at the
-- end of the writer's transaction, and reads the context of that moment. deferred: whether the channel is about to get such a trigger.
CREATE OR REPLACE FUNCTION pgonce.deferred_with_filter(channel_name text, deferred boolean) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT format('subscription "%s" of channel "%s" has a filter, and a deferred trigger reads the context that the writer''s transaction has at its end, not that of the write: leave the filter out, or first install the channel with another form of trigger (TriggerForm.ROW)',
                s.name, channel_name)
    FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
   WHERE c.name = channel_name AND s.filter IS NOT NULL
     AND (deferred OR EXISTS (
           SELECT FROM pg_trigger t WHERE t.tgfoid = (SELECT pgonce_private.trigger_function(channel_name)) AND t.tgdeferrable))
   ORDER BY s.id LIMIT 1
$$;

-- All partitions below a table. Not by pg_partition_tree, which waits for locks on them.
CREATE OR REPLACE FUNCTION pgonce_private.partitions_of(relation oid) RETURNS TABLE (name text)
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

-- Adds the partitions that the table has now, for whoever may change the channel. None is removed: those that were detached are to be found.
CREATE OR REPLACE FUNCTION pgonce.know_partitions(channel_name text, relation oid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT pgonce_private.require_owner(c) FROM pgonce.channel c WHERE c.name = channel_name;
  INSERT INTO pgonce.known_partition (channel_id, name)
  SELECT c.id, p.name FROM pgonce.channel c CROSS JOIN pgonce_private.partitions_of(relation) p WHERE c.name = channel_name
   ORDER BY p.name
  ON CONFLICT DO NOTHING
$$;

-- Tables that were partitions of the channel's table, still exist, and feed it no longer.
CREATE OR REPLACE FUNCTION pgonce.detached_partitions(channel_name text, relation oid) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off
AS $$
  SELECT k.name FROM pgonce.channel c JOIN pgonce.known_partition k ON k.channel_id = c.id
   WHERE c.name = channel_name AND k.name NOT IN (SELECT p.name FROM pgonce_private.partitions_of(relation) p)
     AND EXISTS (SELECT FROM pg_class d JOIN pg_namespace n ON n.oid = d.relnamespace
                  WHERE d.relkind IN ('r', 'p') AND format('%I.%I', n.nspname, d.relname) = k.name)
   ORDER BY k.name
$$;

-- Forgets partitions that were detached on purpose: check reports them no longer. Returns how many there were.
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

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
