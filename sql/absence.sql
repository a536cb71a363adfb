-- Why a notification is not there, or nothing comes: for explain.sql.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Triggers of a channel that a migration has left with an old table, as it made one anew under the name that the channel's definition has.
CREATE OR REPLACE FUNCTION pgonce_private.left_behind(channel_name text) RETURNS TABLE (made_anew regclass, old regclass, trigger_name name)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  WITH triggers AS MATERIALIZED (
    SELECT t.tgname, t.tgrelid, t.tgparentid FROM pg_trigger t WHERE t.tgfoid = pgonce_private.trigger_function(channel_name)
  )
  SELECT k.oid, o.oid, t.tgname
    FROM pgonce.channel c
   CROSS JOIN triggers t JOIN pg_class o ON o.oid = t.tgrelid
    JOIN pg_class k ON k.relnamespace = o.relnamespace AND k.relkind IN ('r', 'p')
                   AND c.feed IN (format('trigger on %I', k.relname), format('trigger on %I.%I', k.relnamespace::regnamespace::name, k.relname))
   WHERE c.name = channel_name AND t.tgparentid = 0 AND k.oid NOT IN (SELECT w.tgrelid FROM triggers w)
$$;

-- What keeps writes of watched tables from being stored in a channel, as far as the catalog says; null if nothing is seen.
CREATE OR REPLACE FUNCTION pgonce_private.feed_trouble(channel_name text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  WITH triggers AS MATERIALIZED (
    SELECT t.tgname, t.tgrelid, t.tgenabled, t.tgparentid FROM pg_trigger t WHERE t.tgfoid = pgonce_private.trigger_function(channel_name)
  )
  SELECT string_agg(p.what, '; ' ORDER BY p.what) FROM (
    SELECT format('trigger "%s" of table %s is disabled', t.tgname, t.tgrelid::regclass) FROM triggers t WHERE t.tgenabled = 'D'
    UNION ALL
    SELECT format('trigger "%s" of table %s fires only where session_replication_role is replica', t.tgname, t.tgrelid::regclass)
      FROM triggers t WHERE t.tgenabled = 'R'
    UNION ALL
    SELECT format('table %s was detached, and has no trigger of the channel any more', d.name)
      FROM (SELECT DISTINCT t.tgrelid FROM triggers t WHERE t.tgparentid = 0) r
     CROSS JOIN LATERAL pgonce.detached_partitions(channel_name, r.tgrelid) AS d (name)
    UNION ALL
    SELECT DISTINCT format('table %s has no trigger of the channel: it is on table %s', l.made_anew, l.old) FROM pgonce_private.left_behind(channel_name) l
    UNION ALL
    SELECT format('no table has a trigger of the channel, which is fed by "%s"', c.feed)
      FROM pgonce.channel c WHERE c.name = channel_name AND c.feed <> 'published' AND NOT EXISTS (SELECT FROM triggers)) p (what)
$$;

-- What enables the triggers of a channel that do not fire; null if all do. Those of partitions follow where the table's own is enabled.
CREATE OR REPLACE FUNCTION pgonce_private.enable_sql(channel_name text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT string_agg(format('ALTER TABLE %s ENABLE TRIGGER %I', t.tgrelid::regclass, t.tgname), '; ' ORDER BY t.tgrelid, t.tgname)
    FROM pg_trigger t WHERE t.tgfoid = pgonce_private.trigger_function(channel_name) AND t.tgenabled IN ('D', 'R')
$$;

-- What makes rows be stored again. To install again does nothing for a partition that was detached.
CREATE OR REPLACE FUNCTION pgonce_private.feed_advice(channel_name text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT coalesce(
    pgonce_private.enable_sql(channel_name),
    -- A partitioned table is locked before its partitions: see pgonce.drop_function_sql.
    (SELECT string_agg(format(CASE c.relkind WHEN 'p' THEN 'BEGIN; SET LOCAL lock_timeout = ''800ms''; LOCK TABLE ONLY %2$s IN ACCESS EXCLUSIVE MODE; DROP TRIGGER %1$I ON %2$s; COMMIT' ELSE 'BEGIN; SET LOCAL lock_timeout = ''800ms''; DROP TRIGGER %1$I ON %2$s; COMMIT' END,
              l.trigger_name, l.old), '; ' ORDER BY l.trigger_name) || '; then install the channel again, which makes what is missing'
       FROM pgonce_private.left_behind(channel_name) l JOIN pg_class c ON c.oid = l.old HAVING count(*) > 0),
    (SELECT format('If the detached table is still written to: attach it again, or give it a channel of its own. If it was detached for good: SELECT pgonce.forget_partitions(%L)', channel_name)
      WHERE EXISTS (SELECT FROM pg_trigger t WHERE t.tgfoid = pgonce_private.trigger_function(channel_name))),
    'Install the channel again, which makes what is missing')
$$;

-- What publishes rows by hand that were missed while a trigger of inserts did not fire: the channel's own function stores them, as rows of a temporary
-- table with such a trigger. Of the first such table; null if there is none: what updates and deletes were missed cannot be told. Which rows it is to be
-- has to be filled in, and fails until it is; a time where the table has one of its rows' insertion, by its default.
CREATE OR REPLACE FUNCTION pgonce_private.publish_missed_sql(channel_name text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off
AS $$
  SELECT format('BEGIN; CREATE TEMP TABLE missed (LIKE %1$s) ON COMMIT DROP; %2$s; INSERT INTO missed SELECT * FROM %3$s%1$s WHERE %4$s; COMMIT',
           f.name, replace(pg_get_triggerdef(f.oid), format(' ON %s ', f.name), ' ON missed '), CASE WHEN f.relkind = 'r' AND f.relhassubclass THEN 'ONLY ' END,
           coalesce(
             (SELECT format('%I >= ''...''', a.attname)
                FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
               WHERE a.attrelid = f.tgrelid AND a.atttypid IN ('timestamptz'::regtype, 'timestamp'::regtype)
                 AND pg_get_expr(d.adbin, d.adrelid) ~* '^[(]?(now[(]|(clock|statement|transaction)_timestamp[(]|current_timestamp|localtimestamp)' ORDER BY a.attnum LIMIT 1),
             '...'))
    FROM (SELECT t.oid, t.tgrelid, c.relkind, c.relhassubclass, format('%I.%I', n.nspname, c.relname) AS name
            FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
           -- 4: TRIGGER_TYPE_INSERT
           WHERE t.tgfoid = pgonce_private.trigger_function(channel_name) AND t.tgenabled IN ('D', 'R') AND t.tgtype & 4 <> 0 ORDER BY t.tgrelid, t.tgname LIMIT 1) f
$$;

-- The dead letters of a subscription in words, but for one that was named already; null if there are none. A count has a bound, whatever is there.
CREATE OR REPLACE FUNCTION pgonce_private.dead_words(subscription integer, but_for bigint DEFAULT NULL) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
  SELECT format('dead letters: %s%s (%s), the newest of %s: %s', CASE WHEN sum(r.number) >= 10000 THEN 'at least ' ELSE '' END, sum(r.number),
           string_agg(r.number || ' ' || r.reason, ', ' ORDER BY r.number DESC), date_trunc('second', max(r.newest)), left((array_agg(r.error ORDER BY r.newest DESC))[1], 300))
    FROM (SELECT l.reason, count(*) AS number, max(l.died_at) AS newest, (array_agg(l.error ORDER BY l.died_at DESC))[1] AS error
            FROM (SELECT d.id, d.reason, d.died_at, d.error FROM pgonce.dead_letter d WHERE d.subscription_id = dead_words.subscription ORDER BY d.id DESC LIMIT 10000) l
           WHERE l.id IS DISTINCT FROM but_for GROUP BY l.reason) r
  HAVING count(*) > 0
$$;

-- Before a redrive of a dead letter whose handler had begun and must not run twice.
CREATE OR REPLACE FUNCTION pgonce_private.unknown_outcome_advice() RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT 'What is OUTCOME_UNKNOWN may have been done: look there first, as a redrive runs it again. ' $$;

CREATE OR REPLACE FUNCTION pgonce_private.outdated_advice(mend text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT 'If the installed one is the newer: deploy it to these listeners. If theirs is: have their service install it' || coalesce(', or run this:' || chr(10) || mend, '.')
$$;

-- Why something is not there, or why nothing comes where id is null.
CREATE OR REPLACE FUNCTION pgonce_private.cause_of_absence(
  channel pgonce.channel, target pgonce.subscription, notification_id bigint, OUT cause text, OUT since timestamptz, OUT detail text, OUT advice text, OUT sessions integer[],
  OUT needs_person boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
  trouble constant text := pgonce_private.feed_trouble(channel.name);
  dead constant text := pgonce_private.dead_words(target.id);
  writers constant integer[] := pgonce_private.open_writers();
  never_given constant boolean := notification_id > coalesce(pg_sequence_last_value('pgonce.notification_id'), 0);
  listening record;
  last record;
  other record;
BEGIN
  -- What another subscription still has was stored, and says what its writer's context was.
  SELECT o.name, o.context INTO other FROM (
    SELECT s.name, n.context FROM pgonce.subscription s JOIN pgonce.notification n ON n.subscription_id = s.id AND n.id = notification_id WHERE s.channel_id = channel.id
    UNION ALL
    SELECT s.name, d.context FROM pgonce.subscription s JOIN pgonce.scheduled d ON d.subscription_id = s.id AND d.id = notification_id WHERE s.channel_id = channel.id
    UNION ALL
    SELECT s.name, l.context FROM pgonce.subscription s JOIN pgonce.dead_letter l ON l.subscription_id = s.id AND l.id = notification_id WHERE s.channel_id = channel.id) o
   LIMIT 1;
  IF FOUND AND target.filter IS NOT NULL AND (other.context @> target.filter) IS NOT TRUE THEN
    cause := 'NOT_STORED';
    detail := format('the subscription takes what was written in a context that holds %s, and subscription "%s" shows that this was not', target.filter, other.name);
    advice := 'If it should have been taken: have the writer set the context, or change the filter and publish it again.';
  ELSIF channel.mode = 'BROADCAST' THEN
    cause := 'NOT_STORED';
    detail := 'the channel is a BROADCAST, which stores nothing: who listened at that moment got it';
    advice := 'If it must not be missed, change the channel''s mode.';
  ELSIF trouble IS NOT NULL AND (notification_id IS NULL OR never_given) THEN
    cause := 'NOT_STORED';
    needs_person := true;
    detail := trouble;
    advice := concat(pgonce_private.feed_advice(channel.name), '. What is written meanwhile is missed: it is not stored, now or later, and pgonce does not know which rows these are. ',
      coalesce('To publish rows by hand, as the table''s owner, with what tells them in place of ''...'': ' || pgonce_private.publish_missed_sql(channel.name)
                 || '. One that was stored is published again.',
               format('Publish what is to be handled yourself: SELECT pgonce.publish(%s, payload), with a payload as the trigger makes it (docs/operations.md, rows that were missed).', quote_literal(channel.name))));
  ELSIF writers IS NOT NULL AND other IS NULL AND never_given IS NOT TRUE THEN
    cause := 'NOT_COMMITTED_YET';
    detail := format('transactions that have published something are open, and may hold it: server processes %s', array_to_string(writers, ', '));
    advice := concat('Wait for their commit.',
      CASE WHEN writers <> '{0}' THEN format(' For one that hangs: SELECT pg_terminate_backend(%s), which undoes all that it has written.',
             CASE WHEN cardinality(writers) = 1 THEN writers[1]::text ELSE 'pid' END) END,
      CASE WHEN 0 = ANY (writers) THEN ' For what is prepared: COMMIT PREPARED or ROLLBACK PREPARED, with its name.' END);
    sessions := writers;
  ELSIF notification_id IS NULL AND dead IS NOT NULL THEN
    cause := 'DEAD';
    since := (SELECT max(l.died_at) FROM pgonce.dead_letter l WHERE l.subscription_id = target.id);
    detail := format('nothing waits; %s', dead);
    advice := CASE WHEN dead LIKE '% OUTCOME\_UNKNOWN%' THEN pgonce_private.unknown_outcome_advice() ELSE '' END || format('Look at what they died of: SELECT reason, error, count(*) FROM pgonce.dead_letter_status WHERE channel = %s GROUP BY 1, 2. When that is mended: %s. What is UNREADABLE stays as it is stored: mend the reader first (@JsonAlias, an upcaster).', quote_literal(channel.name), pgonce_private.call_for('redrive', target));
  ELSE
    cause := 'DONE_OR_NEVER';
    advice := format('What operators removed is in SELECT * FROM pgonce.operation_log WHERE channel IN (%s, ''*'').', quote_literal(channel.name));
    IF notification_id IS NULL THEN
      listening := pgonce_private.listeners_of(target.id);
      SELECT h.created_at, h.handled_at, h.instance INTO last FROM pgonce.handled h
       WHERE h.subscription_id = target.id AND h.handled_at > clock_timestamp() - channel.history ORDER BY h.handled_at DESC LIMIT 1;
      detail := concat_ws('; ', 'nothing waits',
        CASE WHEN listening.alive = 0 THEN concat_ws('; ', 'no process listens to the subscription', nullif(listening.silent, ''))
             ELSE format('%s listeners are alive, with %s workers', listening.alive, coalesce(listening.workers, 0)) END,
        CASE WHEN channel.history IS NULL THEN 'when one was last stored or handled is not known, as the channel keeps no history'
             WHEN last.handled_at IS NULL THEN format('the channel''s history of %s has none', justify_hours(channel.history))
             ELSE format('the one handled last was stored at %s, and handled at %s by instance ''%s''',
                         date_trunc('second', last.created_at), date_trunc('second', last.handled_at), last.instance) END,
        format('the last id that any channel was given is %s', coalesce(pg_sequence_last_value('pgonce.notification_id'), 0)),
        'besides, ' || trouble,
        CASE WHEN pg_notification_queue_usage() > 0.5 THEN format('the queue of NOTIFY is %s %% full, and commits that notify fail when it is: pgonce doctor says what keeps it', round((pg_notification_queue_usage() * 100)::numeric)) END);
      advice := concat('To see whether anything is published, ask again: the last id grows with each notification of any channel. ',
        CASE WHEN channel.history IS NULL THEN 'The listeners'' meter pgonce.process counts what they handle; a history (ChannelOptions.withHistory) keeps when. ' END, advice);
      IF listening.outdated > 0 AND listening.outdated = listening.alive THEN
        cause := 'OUTDATED_LISTENERS'; -- what comes will not be handled
        detail := concat_ws('; ', 'nothing waits', pgonce_private.installed_words(channel), listening.differences);
        advice := pgonce_private.outdated_advice(listening.mend);
      END IF;
    ELSE
      detail := concat_ws('; ', CASE WHEN never_given THEN 'no notification has this id yet'
          ELSE 'it was handled, discarded or cancelled, or its writer rolled back, or it is of another channel' END,
        'besides, ' || trouble);
    END IF;
  END IF;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
