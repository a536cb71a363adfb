-- Why a notification is not moving. It only reads, and locks no row, as at_work.sql says.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- In what an outdated listener's definition differs, without what to do.
CREATE OR REPLACE FUNCTION pgonce.difference_in(outdated text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT coalesce(
    (SELECT string_agg(split_part(l.line[1], ': change the definition, or', 1), '; ' ORDER BY l.place)
       FROM regexp_matches(outdated, '^- (.*)$', 'gn') WITH ORDINALITY AS l (line, place)),
    translate(outdated, chr(10) || chr(13), '  '))
$$;

-- The listeners of a subscription that are alive, how many workers they have, and what those do not handle that were left behind by a change. A process
-- whose LISTEN session is gone, and that missed a heartbeat, is not waited for until its silence is over.
CREATE OR REPLACE FUNCTION pgonce_private.listeners_of(
  subscription integer, OUT alive bigint, OUT workers bigint, OUT outdated bigint, OUT differences text, OUT mend text, OUT silent text, OUT frozen boolean)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT count(*) FILTER (WHERE r.alive), sum(r.workers) FILTER (WHERE r.alive AND r.outdated = ''),
         count(*) FILTER (WHERE r.alive AND r.outdated <> ''), string_agg(format('instance ''%s'', started at %s, %s that: %s', r.instance,
           date_trunc('second', r.started_at), r.before_or_after, pgonce.difference_in(r.outdated)), '; ' ORDER BY r.instance) FILTER (WHERE r.alive AND r.outdated <> ''),
         split_part(substring(max(r.outdated) FILTER (WHERE r.alive) FROM 'migrate with:\s+(.*)$'), chr(10) || '- ', 1),
         concat_ws('; ', string_agg(format('instance ''%s'' was heard from last at %s', r.instance, date_trunc('second', r.seen_at))
             || CASE WHEN r.connected THEN ', and its LISTEN session is there: it may be frozen or cut off, or its pool have no connection to give' ELSE '' END, '; ' ORDER BY r.seen_at DESC) FILTER (WHERE NOT r.alive),
           (SELECT string_agg(f.words, '; ' ORDER BY f.left_at DESC) FROM (
             SELECT f.left_at, format('instance ''%s''%s, role %s, %s', f.instance, ' from ' || host(f.address), f.role,
                      CASE WHEN f.stopped THEN 'stopped at ' ELSE 'was heard from last at ' END || date_trunc('second', f.left_at)) AS words
               FROM pgonce.former_listener f WHERE subscription = ANY (f.subscriptions) ORDER BY f.left_at DESC LIMIT 3) f)),
         bool_or(r.connected) FILTER (WHERE NOT r.alive)
    FROM (SELECT l.instance, l.seen_at, l.started_at, (
                   SELECT CASE WHEN l.started_at < c.changed_at THEN 'before' ELSE 'after' END
                     FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = listeners_of.subscription) AS before_or_after,
                 l.workers[p.place] AS workers, coalesce(l.outdated[p.place], '') AS outdated,
                 clock_timestamp() - l.seen_at <= CASE WHEN h.has_session THEN l.silence ELSE l.silence / 4 END AS alive, l.backend IS NOT NULL AND h.has_session AS connected
            FROM pgonce.listener l CROSS JOIN LATERAL array_position(l.subscriptions, subscription) AS p (place)
           CROSS JOIN LATERAL pgonce_private.has_session(l.backend, l.seen_at) AS h (has_session)
           WHERE p.place IS NOT NULL) r
$$;

-- Which listeners of a subscription log in as a role that has lost what it takes to listen, in words; null for none. One that is a member without
-- inheriting may take the role by SET ROLE.
CREATE OR REPLACE FUNCTION pgonce_private.rights_words(subscription integer) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT string_agg(DISTINCT format('role %s of instance ''%s'' has not the rights of a listener: GRANT pgonce_listener TO %1$I', l.role, l.instance), '; ')
    FROM pgonce.listener l JOIN pg_roles r ON r.rolname = l.role
   WHERE subscription = ANY (l.subscriptions) AND NOT pg_has_role(r.oid, 'pgonce_listener', 'MEMBER')
     AND NOT (has_schema_privilege(r.oid, 'pgonce', 'USAGE') AND has_function_privilege(r.oid, 'pgonce.poll(uuid, bigint[])', 'EXECUTE'))
$$;

-- A person or an instance by the name that it has given itself. That of a process which gave itself none is 'pid' and a number: not one of the server's.
CREATE OR REPLACE FUNCTION pgonce_private.person_words(name text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT regexp_replace(name, '^pid \d+$', 'instance ''\&''') $$;

-- When and by whom the settings of a channel were installed, in words.
CREATE OR REPLACE FUNCTION pgonce_private.installed_words(channel pgonce.channel) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT format('installed so at %s by %s', date_trunc('second', channel.changed_at), pgonce_private.person_words(channel.changed_by)) $$;

-- A call for the advice, about one subscription: beside others of its channel it is named, so that they are left alone. id: null for all.
CREATE OR REPLACE FUNCTION pgonce_private.call_for(verb text, target pgonce.subscription, id bigint DEFAULT NULL) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT format('SELECT pgonce.%s(%L, %sreason => ''why''%s)', verb, c.name, call_for.id || ', ',
           CASE WHEN EXISTS (SELECT FROM pgonce.subscription o WHERE o.channel_id = c.id AND o.id <> target.id) THEN format(', subscription_name => %L', target.name) END)
    FROM pgonce.channel c WHERE c.id = target.channel_id
$$;

-- What has failed in a subscription and waits for its next attempt, by error, but for one: of the first that are due. What is at work is not among it.
CREATE OR REPLACE FUNCTION pgonce_private.failing(subscription integer, but_for bigint DEFAULT NULL) RETURNS TABLE (last_error text, number bigint, attempts integer)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
  SELECT f.last_error, count(*), max(f.attempts)
    FROM (SELECT d.id, d.attempts, d.token, d.last_error, d.xmax AS holder FROM pgonce.scheduled d WHERE d.subscription_id = failing.subscription ORDER BY d.due_at, d.id LIMIT 10000) f
   WHERE f.attempts > 0 AND f.token IS NULL AND f.id IS DISTINCT FROM but_for
     AND (f.holder IN (SELECT l.transactionid FROM pg_locks l WHERE l.granted AND l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock')) IS NOT TRUE
   GROUP BY f.last_error
$$;

-- Before a number of failing: whether there may be more than it has looked at.
CREATE OR REPLACE FUNCTION pgonce_private.failing_at_least(subscription integer) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
  SELECT CASE WHEN count(*) >= 10000 THEN 'at least ' ELSE '' END
    FROM (SELECT FROM pgonce.scheduled d WHERE d.subscription_id = failing_at_least.subscription ORDER BY d.due_at, d.id LIMIT 10000) f
$$;

-- Beside the first in line, which is at work: the session that waits for a lock for longest, beyond a second, and whose it is; and whether all workers
-- are at work while others wait. Of the first in line, as held reads them.
CREATE OR REPLACE FUNCTION pgonce_private.beside_first(
  subscription integer, first bigint, OUT words text, OUT waiter integer, OUT holder integer, OUT is_full boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
  listening constant record := pgonce_private.listeners_of(beside_first.subscription);
  at_work bigint[];
  busy bigint;
  waiting bigint;
  stuck record;
BEGIN
  SELECT count(DISTINCT coalesce(h.pid, -h.id)), array_agg(h.id) INTO busy, at_work FROM pgonce.held(beside_first.subscription) h;
  waiting := (SELECT count(*) FROM (
    (SELECT n.id FROM pgonce.notification n WHERE n.subscription_id = beside_first.subscription ORDER BY n.id LIMIT 10000)
    UNION ALL
    (SELECT d.id FROM pgonce.scheduled d WHERE d.subscription_id = beside_first.subscription AND d.due_at <= clock_timestamp() ORDER BY d.due_at, d.id LIMIT 10000)) AS a
   WHERE a.id NOT IN (SELECT unnest(at_work)));
  is_full := busy >= listening.workers AND waiting > 0;
  SELECT h.id, h.pid, w.* INTO stuck
    FROM (SELECT DISTINCT ON (g.pid) g.id, g.pid FROM pgonce.held(beside_first.subscription) g WHERE g.id <> first AND g.pid IS NOT NULL ORDER BY g.pid, g.id) h
   CROSS JOIN LATERAL pgonce.lock_wait(h.pid) w WHERE w.since < clock_timestamp() - interval '1 second' ORDER BY w.since, h.id LIMIT 1;
  waiter := stuck.pid;
  holder := stuck.held_by;
  words := concat_ws('; ',
    CASE WHEN is_full THEN format('all %s workers of %s listeners are at work, and %s%s more wait', listening.workers, listening.alive - listening.outdated,
                             CASE WHEN waiting >= 10000 THEN 'at least ' ELSE '' END, waiting) END,
    format('notification %s is in the session of server process %s, which ', stuck.id, waiter)
      || pgonce_private.wait_words(stuck.waits_for, stuck.since, holder, stuck.held_as));
END
$$;

-- Why one row of one subscription is not moving. Each cause hides those that follow: what a person must end comes before what time ends, and that before
-- what a listener ends. since: when the cause began, where that is known. sessions: processes that the detail names.
-- needs_person: here only for causes that time ends in some cases, and a person in others.
CREATE OR REPLACE FUNCTION pgonce_private.cause_of_row(
  channel pgonce.channel, target pgonce.subscription, present pgonce.scheduled, holder xid, is_first boolean,
  OUT cause text, OUT since timestamptz, OUT until timestamptz, OUT blocked_by bigint, OUT instance text, OUT pid integer, OUT detail text, OUT advice text,
  OUT sessions integer[], OUT needs_person boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
  now constant timestamptz := clock_timestamp();
  channel_sql constant text := quote_literal(channel.name);
  copied constant text := pgonce.copy_of_another();
  key constant text := CASE WHEN present.order_key <> chr(1) || present.id THEN present.order_key END;
  leaser constant integer := CASE WHEN present.token IS NOT NULL AND present.due_at > now THEN
    (SELECT h.pid FROM pgonce.held(target.id) h WHERE h.id = present.id AND h.leased_until IS NOT NULL LIMIT 1) END;
  leased constant boolean := present.token IS NOT NULL AND present.due_at > now AND (leaser IS NOT NULL OR channel.mode <> 'EXACTLY_ONCE');
  ready_before bigint[];
  at_work bigint[];
  ready_since constant timestamptz := greatest(present.created_at, present.due_at);
  listening record;
  blocker record;
  wait record;
  others record;
  busy bigint;
  ahead bigint;
  waiting bigint;
  at_least text;
  is_left boolean;
  free_from timestamptz;
BEGIN
  -- By xmax: a row that nobody has locked has none, and one that was given back has that of a transaction that has ended.
  SELECT l.pid INTO pid FROM pg_locks l
   WHERE l.locktype = 'transactionid' AND l.transactionid = holder AND l.granted AND l.mode = 'ExclusiveLock';
  IF FOUND OR leased THEN
    IF leased THEN
      pid := leaser;
      until := present.due_at;
    END IF;
    wait := pgonce.lock_wait(pid);
    cause := CASE WHEN wait.since < now - interval '1 second' THEN 'LOCK_WAIT' ELSE 'AT_WORK' END;
    since := CASE cause WHEN 'LOCK_WAIT' THEN wait.since END;
    sessions := array_remove(ARRAY[pid, wait.held_by], NULL);
    instance := (SELECT l.instance FROM pgonce.listener l WHERE pid = ANY (l.sessions) ORDER BY l.seen_at DESC LIMIT 1);
    detail := concat_ws(', ', format('attempt %s', present.attempts + (present.token IS NULL)::integer), 'by instance ''' || instance || '''',
      CASE WHEN pid IS NOT NULL THEN format('in the session of server process %s', pid)
           WHEN leased THEN 'whose handler has no transaction open'
           ELSE 'held by a prepared transaction (pg_prepared_xacts)' END,
      'leased until ' || date_trunc('second', until), 'which ' || pgonce_private.wait_words(wait.waits_for, wait.since, wait.held_by, wait.held_as));
    needs_person := pid IS NULL AND NOT leased;
    advice := CASE WHEN wait.held_by IS NOT NULL THEN pgonce_private.wait_advice(pid, wait.held_by)
      WHEN leased THEN 'Wait for the handler or for the end of its lease: then '
        || CASE channel.mode WHEN 'AT_MOST_ONCE' THEN 'it is a dead letter, OUTCOME_UNKNOWN, and runs no more by itself.' ELSE 'another listener takes it over.' END
      WHEN pid IS NULL THEN 'COMMIT PREPARED or ROLLBACK PREPARED that transaction.'
      ELSE format('Wait for the handler: pgonce.at_work has its last SQL. If it hangs: SELECT pg_terminate_backend(%s), which undoes its work, for another worker to do. Its own worker is free when the handler returns, or at the end of its time (ListenOptions.withHandlerTimeout).', pid) END;
    RETURN;
  END IF;
  IF copied IS NOT NULL THEN
    cause := 'COPY_NOT_ADOPTED';
    detail := copied;
    advice := 'If it takes the place of the original, or is to work on its own: SELECT pgonce.adopt(''why'').';
    RETURN;
  END IF;
  IF target.paused_at IS NOT NULL THEN
    cause := 'PAUSED';
    since := target.paused_at;
    detail := format('paused by %s: %s', pgonce_private.person_words(target.paused_by), target.pause_reason);
    advice := format('When the reason is over: %s.', pgonce_private.call_for('resume', target));
    RETURN;
  END IF;
  IF present.due_at > now THEN
    cause := CASE WHEN present.attempts > 0 THEN 'RETRYING' ELSE 'SCHEDULED' END;
    until := present.due_at;
    detail := CASE WHEN present.attempts > 0 AND present.token IS NOT NULL
      THEN format('the process of attempt %s ended with it (%s), or has it on a lease from before the channel was EXACTLY_ONCE',
                  present.attempts, coalesce(present.last_error, 'nothing is known of why'))
      WHEN present.attempts > 0 THEN format('attempt %s failed: %s', present.attempts, present.last_error)
      WHEN present.last_error IS NOT NULL THEN 'put back, no attempt counted: ' || present.last_error
      ELSE 'its publisher gave it this time' END;
    IF present.attempts > 0 THEN
      SELECT coalesce(sum(f.number), 0) AS failed, coalesce(sum(f.number) FILTER (WHERE f.last_error = present.last_error), 0) AS alike INTO others
        FROM pgonce_private.failing(target.id, present.id) f;
      needs_person := present.attempts > 1 OR others.alike > 0;
      detail := concat(detail, format('; %s%s more of the subscription have failed and wait, %s of them with the same error', pgonce_private.failing_at_least(target.id), others.failed, others.alike));
    END IF;
    advice := CASE WHEN present.token IS NOT NULL THEN 'Wait: that attempt may be under way until then, so retry_now passes it over.'
        || CASE WHEN present.attempts > 1 THEN ' It was tried before: if it ends its process each time, look at what that leaves (its log, its exit status, the memory it had). The last attempt (the 10th, unless its listener has ListenOptions.withMaxAttempts) makes a dead letter.' ELSE '' END
      WHEN present.attempts > 0 THEN format('Mend what fails: until then each attempt fails, and the last one (the 10th, unless its listener has ListenOptions.withMaxAttempts) makes a dead letter. Then wait, or have it tried at once: %s.', pgonce_private.call_for('retry_now', target, present.id))
      -- As PayloadReader says it.
      WHEN present.last_error LIKE '%: deploy listeners that know more' THEN 'Deploy listeners of the later version. Those that are there put it back each time, without end.'
      ELSE format('Wait, or have it tried at once: %s.', pgonce_private.call_for('retry_now', target, present.id)) END;
    listening := pgonce_private.listeners_of(target.id);
    IF listening.alive = 0 THEN
      detail := detail || '; no process listens to the subscription';
      advice := 'Start the service that handles it. ' || advice;
    END IF;
    RETURN;
  END IF;
  IF channel.key_order <> 'NONE' AND key IS NOT NULL THEN
    SELECT b.* INTO blocker FROM (
      (SELECT l.id, format('a dead letter since %s (%s: %s)', date_trunc('second', l.died_at), l.reason, l.error) AS state, l.died_at, 0 AS failed FROM pgonce.dead_letter l
        WHERE channel.key_order = 'DEAD_LETTER_BLOCKS' AND l.subscription_id = target.id AND l.order_key >= key AND l.order_key <= key AND l.id < present.id
        ORDER BY l.order_key, l.id LIMIT 1)
      UNION ALL
      (SELECT d.id, CASE WHEN d.due_at > now AND d.token IS NULL THEN concat(format('due at %s after %s attempts', date_trunc('second', d.due_at), d.attempts), ': ' || d.last_error)
                       ELSE 'waiting, or at work' END, NULL, CASE WHEN d.token IS NULL THEN d.attempts ELSE 0 END
         FROM pgonce.scheduled d
        WHERE d.subscription_id = target.id AND d.order_key >= key AND d.order_key <= key AND d.id < present.id ORDER BY d.order_key, d.id LIMIT 1)
      UNION ALL
      (SELECT n.id, 'waiting, or at work', NULL, 0 FROM pgonce.notification n
        WHERE n.subscription_id = target.id AND n.order_key >= key AND n.order_key <= key AND n.id < present.id ORDER BY n.order_key, n.id LIMIT 1)
      UNION ALL
      -- A higher one that began before this one was committed.
      (SELECT h.id, 'at work', NULL, 0 FROM pgonce.held(target.id) h WHERE h.order_key = key AND h.id > present.id ORDER BY h.id LIMIT 1)) b
     ORDER BY b.id LIMIT 1;
    IF FOUND THEN
      cause := CASE WHEN blocker.died_at IS NOT NULL THEN 'BLOCKED_BY_DEAD' ELSE 'BLOCKED_BY' END;
      since := CASE WHEN blocker.died_at IS NOT NULL THEN greatest(blocker.died_at, present.created_at) END;
      needs_person := blocker.failed > 1;
      blocked_by := blocker.id;
      detail := format('notification %s has the same order key, "%s", and comes first; it is %s; %s wait behind it', blocker.id, key, blocker.state, (
        SELECT CASE WHEN count(*) >= 10000 THEN 'at least ' ELSE '' END || count(*) FROM (
          (SELECT FROM pgonce.notification n WHERE n.subscription_id = target.id AND n.order_key >= key AND n.order_key <= key AND n.id > blocker.id LIMIT 10000)
          UNION ALL
          (SELECT FROM pgonce.scheduled d WHERE d.subscription_id = target.id AND d.order_key >= key AND d.order_key <= key AND d.id > blocker.id LIMIT 10000)) b));
      advice := CASE WHEN blocker.died_at IS NOT NULL
        THEN CASE WHEN blocker.state LIKE '% (OUTCOME\_UNKNOWN: %' THEN pgonce_private.unknown_outcome_advice() ELSE '' END
          || format('When what failed is mended: %s. If it is not wanted: %s.', pgonce_private.call_for('redrive', target, blocker.id), pgonce_private.call_for('discard', target, blocker.id))
        ELSE format('Ask why that one is not moving: SELECT * FROM pgonce.explain(%s, %s).', channel_sql, blocker.id) END;
      RETURN;
    END IF;
  END IF;
  IF key IS NOT NULL AND pgonce_private.permits_in_use(target.id, key, channel.max_per_key) >= channel.max_per_key THEN
    cause := 'LIMITED';
    detail := format('%s of its key are at work, which is the limit per key: %s', channel.max_per_key, coalesce(
      (SELECT string_agg(h.id::text, ', ' ORDER BY h.id) FROM pgonce.held(target.id) h WHERE h.order_key = key), 'they are about to end'));
    advice := 'Wait for one of these to end. If it is always so, install the channel with a higher limit per key.';
    RETURN;
  END IF;
  listening := pgonce_private.listeners_of(target.id);
  IF listening.alive = 0 THEN
    cause := 'NO_LISTENER';
    detail := concat_ws('; ', 'no process listens to the subscription', nullif(listening.silent, ''), pgonce_private.rights_words(target.id),
      CASE WHEN present.attempts > 0 THEN 'its attempt ' || present.attempts || ' failed: ' || present.last_error END);
    advice := CASE WHEN listening.frozen THEN 'Look at that process: its log, its pool. Or start the service again.'
      ELSE 'Start the service that handles it, or look why it does not start. If nobody is to handle it any more: pgonce.drop_subscription, or pgonce.drop_channel where it is the only one.' END;
    RETURN;
  END IF;
  IF listening.outdated = listening.alive THEN
    cause := 'OUTDATED_LISTENERS';
    detail := concat_ws('; ', pgonce_private.installed_words(channel), listening.differences);
    advice := pgonce_private.outdated_advice(listening.mend);
    RETURN;
  END IF;
  -- Of the first in line: a count has a bound, whatever waits.
  SELECT count(*) FILTER (WHERE a.id < present.id), coalesce(array_agg(a.id) FILTER (WHERE a.since < ready_since), '{}'), CASE WHEN count(*) >= 10000 THEN 'at least ' ELSE '' END
    INTO ahead, ready_before, at_least FROM (
    (SELECT n.id, n.created_at AS since FROM pgonce.notification n WHERE n.subscription_id = target.id AND n.id < present.id ORDER BY n.id LIMIT 10000)
    UNION ALL
    (SELECT d.id, d.due_at FROM pgonce.scheduled d WHERE d.subscription_id = target.id AND d.due_at <= now ORDER BY d.due_at, d.id LIMIT 10000)) AS a;
  SELECT r.free_from INTO free_from FROM pgonce.rate_limit r WHERE r.subscription_id = target.id;
  -- Permits that nobody took expire after a tenth of a second: see rate.sql.
  IF channel.max_rate IS NOT NULL AND free_from > now - interval '100 ms' THEN
    cause := 'THROTTLED';
    -- As far as channel_gauges counts.
    waiting := (SELECT count(*) FROM (
      (SELECT FROM pgonce.notification n WHERE n.subscription_id = target.id ORDER BY n.id LIMIT 100000)
      UNION ALL
      (SELECT FROM pgonce.scheduled d WHERE d.subscription_id = target.id AND d.due_at <= now ORDER BY d.due_at, d.id LIMIT 100000)) AS a);
    until := greatest(free_from, now) + CASE WHEN is_first THEN waiting ELSE ahead END * interval '1 second' / channel.max_rate;
    needs_person := until > now + interval '10 minutes';
    detail := format('%s a second begin, and %s%s are before it; %s%s wait in all, which takes %s at that rate, %s', channel.max_rate, at_least, ahead,
      CASE WHEN waiting >= 100000 THEN 'at least ' ELSE '' END, waiting, justify_hours(date_trunc('second', waiting * interval '1 second' / channel.max_rate)),
      pgonce_private.installed_words(channel));
    advice := 'Wait. If the other system allows more: deploy the definition with a higher rate (ChannelOptions.withMaxRate), which installs it. Do not raise it by SQL alone: its listeners, which have another one, would handle nothing.';
    RETURN;
  END IF;
  -- A standby shows no session of its primary.
  IF pg_is_in_recovery() THEN
    cause := 'WAITING';
    detail := format('%s%s before it, %s listeners; this server is a standby, where it is not seen what they are at work on', at_least, ahead, listening.alive - listening.outdated);
    advice := 'Ask the primary: it may be at work there, or wait for a lock.';
    RETURN;
  END IF;
  SELECT count(DISTINCT coalesce(h.pid, -h.id)), coalesce(array_agg(h.id), '{}') INTO busy, at_work FROM pgonce.held(target.id) h;
  detail := format('%s%s before it, %s of %s workers of %s listeners at work', at_least, ahead, busy, listening.workers, listening.alive - listening.outdated);
  -- Its holder may have ended, or another have come, between the look at it and that at the locks: then it moves.
  is_left := EXISTS (SELECT FROM pgonce.notification n WHERE n.subscription_id = target.id AND n.id = present.id AND n.xmax = holder)
          OR EXISTS (SELECT FROM pgonce.scheduled d WHERE d.subscription_id = target.id AND d.id = present.id AND d.xmax = holder);
  IF is_left AND busy >= listening.workers THEN
    cause := 'STARVED';
    -- That which waits for a lock, or else the first of them, says why.
    SELECT h.id, h.pid, w.waits_for, w.since, w.held_by, w.held_as, count(w.since) OVER () AS stuck INTO wait
      FROM (SELECT DISTINCT ON (g.pid) g.id, g.pid FROM pgonce.held(target.id) g ORDER BY g.pid, g.id) h LEFT JOIN LATERAL pgonce.lock_wait(h.pid) w ON true
     ORDER BY w.since, h.id LIMIT 1;
    detail := concat_ws('; ', detail, format('notification %s is ', wait.id) || coalesce('in the session of server process ' || wait.pid, 'at work, with no transaction open')
        || coalesce(', which ' || pgonce_private.wait_words(wait.waits_for, wait.since, wait.held_by, wait.held_as), ''),
      nullif(wait.stuck, 0) || ' workers wait for a lock', 'its last attempt failed: ' || present.last_error);
    sessions := array_remove(ARRAY[wait.pid, wait.held_by], NULL);
    advice := coalesce('All workers are busy. ' || pgonce_private.wait_advice(wait.pid, wait.held_by),
      format('All workers are busy. Look at what they do: SELECT * FROM pgonce.at_work WHERE channel = %s. A handler may hang; else give the listeners more concurrency, or start more.', channel_sql));
  ELSIF is_left AND (busy = 0 OR ready_before <@ at_work) AND ready_since < now - interval '5 seconds' THEN
    cause := 'STARVED';
    detail := concat_ws('; ', detail, pgonce_private.rights_words(target.id));
    -- See listeners_of.
    advice := 'The listeners have workers and do not claim it. Ask again in 15 s: a process that was killed just now counts as one until it has missed a heartbeat. If it is still so: their pools have no connection to give, they cannot reach the database, or handlers whose sessions were ended still run, which their timeout ends. Look at their pools, logs and threads.';
  ELSE
    cause := 'WAITING';
    advice := 'Nothing is in its way: a listener takes it next, within a second if none is before it.';
  END IF;
END
$$;

-- What pgonce.explain says, without what only the caller's own rights show. needs_person is null where that depends on how long it has been so.
CREATE OR REPLACE FUNCTION pgonce.cause_of(channel_name text, notification_id bigint DEFAULT NULL, subscription_name text DEFAULT NULL)
RETURNS TABLE (subscription text, id bigint, created_at timestamptz, cause text, since timestamptz, until timestamptz, blocked_by bigint, instance text, pid integer, detail text,
               advice text, sessions integer[], needs_person boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
  concerned constant integer[] := pgonce_private.subscriptions_of(channel_name, subscription_name);
  channel constant pgonce.channel := (SELECT c FROM pgonce.channel c WHERE c.name = channel_name);
  target pgonce.subscription;
  present pgonce.scheduled;
  dead record;
  done record;
  holder xid;
  failing record;
  beside record;
  others text;
BEGIN
  FOR target IN SELECT s.* FROM pgonce.subscription s WHERE s.id = ANY (concerned) ORDER BY s.name LOOP
    subscription := target.name;
    id := notification_id;
    created_at := NULL; cause := NULL; since := NULL; until := NULL; blocked_by := NULL; instance := NULL; pid := NULL; sessions := NULL; needs_person := NULL;
    SELECT l.created_at, l.died_at, l.reason, l.error, l.attempts INTO dead FROM pgonce.dead_letter l WHERE l.subscription_id = target.id AND l.id = cause_of.id;
    IF FOUND THEN
      cause := 'DEAD';
      needs_person := true;
      created_at := dead.created_at;
      since := dead.died_at;
      detail := format('%s after %s attempts: %s', dead.reason, dead.attempts, dead.error);
      advice := CASE dead.reason WHEN 'UNREADABLE' THEN 'The payload stays as it is stored: mend the reader (@JsonAlias, an upcaster), or publish another one. '
          WHEN 'TOO_DEEP' THEN 'Look for a loop of handlers, and mend it. A redrive keeps the depth, so it dies again at once unless the channel''s maxDepth is raised before (ChannelOptions.withMaxDepth): raise it, or publish the payload anew and discard this one. '
          WHEN 'OUTCOME_UNKNOWN' THEN pgonce_private.unknown_outcome_advice() ELSE '' END
        || format('When what failed it is mended: %s. If it is not wanted: %s.', pgonce_private.call_for('redrive', target, id), pgonce_private.call_for('discard', target, id));
      RETURN NEXT;
      CONTINUE;
    END IF;
    -- Without an id the first in line; else the first that will be. Found and read in one statement, as a listener may take it meanwhile.
    WITH wanted AS MATERIALIZED (
      SELECT coalesce(
        notification_id,
        (SELECT least((SELECT n.id FROM pgonce.notification n WHERE n.subscription_id = target.id ORDER BY n.id LIMIT 1),
                      (SELECT d.id FROM pgonce.scheduled d WHERE d.subscription_id = target.id AND d.due_at <= clock_timestamp() ORDER BY d.due_at, d.id LIMIT 1))),
        (SELECT d.id FROM pgonce.scheduled d WHERE d.subscription_id = target.id ORDER BY d.due_at, d.id LIMIT 1)) AS id)
    SELECT r.* INTO present.subscription_id, present.id, present.due_at, present.attempts, present.created_at, present.last_error, present.delivery_key,
        present.order_key, present.stamp, present.token, present.key_permit, present.key_permit_until, holder
      FROM (SELECT n.subscription_id, n.id, n.created_at AS due_at, 0, n.created_at, NULL, n.delivery_key, n.order_key, n.stamp, NULL, NULL, NULL, n.xmax
              FROM pgonce.notification n WHERE n.subscription_id = target.id AND n.id = (SELECT w.id FROM wanted w)
            UNION ALL
            SELECT d.subscription_id, d.id, d.due_at, d.attempts, d.created_at, d.last_error, d.delivery_key, d.order_key, d.stamp, d.token, d.key_permit,
                   d.key_permit_until, d.xmax
              FROM pgonce.scheduled d WHERE d.subscription_id = target.id AND d.id = (SELECT w.id FROM wanted w)) r;
    IF FOUND THEN
      id := present.id;
      created_at := present.created_at;
      SELECT r.* INTO cause, since, until, blocked_by, instance, pid, detail, advice, sessions, needs_person
        FROM pgonce_private.cause_of_row(channel, target, present, holder, notification_id IS NULL) r;
    ELSE
      SELECT h.created_at, h.handled_at, h.took, h.attempts, h.instance, h.skipped INTO done FROM pgonce.handled h
       WHERE h.subscription_id = target.id AND h.id = cause_of.id AND h.handled_at > clock_timestamp() - channel.history
       ORDER BY h.handled_at DESC LIMIT 1;
      IF FOUND THEN
        cause := 'HANDLED';
        created_at := done.created_at;
        since := done.handled_at;
        instance := done.instance;
        detail := format(CASE WHEN done.skipped THEN 'skipped at attempt %s by instance ''%s'', as its handler''s condition did not hold' ELSE 'handled at attempt %s by instance ''%s'', in %s ms' END,
                         done.attempts, done.instance, round(1000 * extract(epoch FROM done.took), 1));
        advice := 'Nothing: it is done, and what its handler wrote was committed with it.';
      ELSE
        SELECT a.* INTO cause, since, detail, advice, sessions, needs_person FROM pgonce_private.cause_of_absence(channel, target, id) a;
      END IF;
    END IF;
    needs_person := coalesce(needs_person, false)
      OR cause IN ('DEAD', 'BLOCKED_BY_DEAD', 'COPY_NOT_ADOPTED', 'LOCK_WAIT', 'PAUSED', 'NO_LISTENER', 'OUTDATED_LISTENERS', 'STARVED');
    -- Asked of the subscription, and not of one notification: what else is wrong in it.
    IF notification_id IS NULL AND cause <> 'DEAD' THEN
      SELECT CASE WHEN cause <> 'RETRYING' THEN format('%s%s have failed and wait for their next attempt, %s of them with: %s', pgonce_private.failing_at_least(target.id), sum(f.number),
                    max(f.number), (array_agg(f.last_error ORDER BY f.number DESC))[1]) END AS words,
             max(f.number) > 1 OR max(f.attempts) > 1 AS again INTO failing
        FROM pgonce_private.failing(target.id) f HAVING count(*) > 0;
      IF cause = 'AT_WORK' THEN
        beside := pgonce_private.beside_first(target.id, id);
        needs_person := CASE WHEN needs_person OR beside.waiter IS NOT NULL THEN true WHEN beside.is_full THEN NULL ELSE false END;
        detail := concat_ws('; besides, ', detail, nullif(beside.words, ''));
        sessions := sessions || array_remove(ARRAY[beside.waiter, nullif(beside.holder, beside.waiter)], NULL);
        advice := concat_ws(' ', advice, CASE WHEN beside.is_full THEN 'All workers are busy: look at the others in pgonce.at_work as well.' END,
          'Of the one that waits for a lock: ' || pgonce_private.wait_advice(beside.waiter, beside.holder));
      END IF;
      others := concat_ws('; besides, ', CASE WHEN id IS NOT NULL THEN pgonce_private.feed_trouble(channel_name) END, pgonce_private.dead_words(target.id, blocked_by));
      needs_person := needs_person OR others <> '' OR coalesce(failing.again, false);
      detail := concat_ws('; besides, ', detail, failing.words, nullif(others, ''));
    END IF;
    RETURN NEXT;
  END LOOP;
END
$$;

-- Why a notification is not moving, and what to do: one row per subscription, or that of one. Without an id: why the first in line is not moving, or why
-- nothing comes. created_at: when the notification was stored. since: when the cause began, where that is known. The causes are in docs/operations.md.
-- With the caller's own rights: what pg_stat_activity shows of other roles' sessions.
CREATE OR REPLACE FUNCTION pgonce.explain(channel_name text, notification_id bigint DEFAULT NULL, subscription_name text DEFAULT NULL)
RETURNS TABLE (subscription text, id bigint, created_at timestamptz, cause text, since timestamptz, until timestamptz, blocked_by bigint, instance text, pid integer,
               last_sql text, detail text, advice text, needs_person boolean)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT c.subscription, c.id, c.created_at, c.cause, e.since, c.until, c.blocked_by, c.instance, c.pid, a.query,
         -- The SQL of who holds a lock; not of who publishes, which may hold the payload.
         concat_ws('; ', c.detail, (SELECT string_agg(pgonce.session_of(s.pid, s.pid IS DISTINCT FROM c.pid AND c.cause <> 'NOT_COMMITTED_YET'), '; ' ORDER BY s.place) FROM unnest(c.sessions) WITH ORDINALITY AS s (pid, place))), c.advice,
         -- That is long for a transaction that publishes, and for a handler when all are busy and others wait.
         c.needs_person IS TRUE OR ((c.cause = 'NOT_COMMITTED_YET' OR c.needs_person IS NULL) AND e.since < clock_timestamp() - interval '1 minute') IS TRUE
    FROM pgonce.cause_of(channel_name, notification_id, subscription_name) c LEFT JOIN pg_stat_activity a ON a.pid = c.pid
   CROSS JOIN LATERAL (
     SELECT CASE c.cause WHEN 'NOT_COMMITTED_YET' THEN pgonce.published_since() ELSE coalesce(c.since, a.xact_start) END AS since) e
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
