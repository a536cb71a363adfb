-- How writers are spared their NOTIFY, which lets only one transaction of the whole server commit at a time, while a listener looks for their
-- rows by itself anyway. models/ has this as a model, and what breaks where a step is left out.
--
-- Each channel has a word, the last value of a sequence: everyone sees it as it is now, whatever his snapshot, and no rollback brings back an
-- earlier one. It is 0 where all are asleep; a time until which somebody looks for new rows all the while, in microseconds since 1970; or such a
-- time with a minus, while who was awake still owes looks for the rows of transactions that may have relied on it. Who stores a row reads the word
-- when his transaction has its id already, and notifies unless somebody is awake (pgonce.is_asleep).
--
-- It is the highest number but one while nobody listens to the channel, and the highest if nobody is ever to be woken: nobody is notified then either.
--
-- Who has the word is who has set it last. He calls the others before he is awake, so that they look after the word once a second until it is 0.
-- If he says nothing for too long, because he died or hangs, one of them takes it, and with it what he owes. What he calls is a
-- transaction of its own each time: the word is no part of it, a NOTIFY is.

-- See V001.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- With the id of a channel: the advisory lock of who changes its word. "pgop" in ASCII.
CREATE OR REPLACE FUNCTION pgonce.word_lock() RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT 1885826928 $$;

-- The word's time is over.
CREATE OR REPLACE FUNCTION pgonce.is_over(word bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$ SELECT abs(word) - 1000000 * date_part('epoch', clock_timestamp()) NOT BETWEEN 0 AND 60000000 $$;

-- A word that is over after so long, and differs from the one before: by it who has set it knows it.
CREATE OR REPLACE FUNCTION pgonce.next_word(word bigint, ms integer) RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT t.word + CASE WHEN abs(next_word.word) = t.word THEN 1 ELSE 0 END
    FROM (SELECT (1000000 * date_part('epoch', clock_timestamp()))::bigint + 1000 * ms AS word) AS t
$$;

-- Makes the word of a channel that has none.
CREATE OR REPLACE FUNCTION pgonce.make_word(channel_name text, word bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  -- No lower, so that what writers subtract from it is a bigint.
  EXECUTE format('CREATE SEQUENCE pgonce.%I MINVALUE -4000000000000000000 START 0', 'awake_' || channel_name);
  EXECUTE format('REVOKE ALL ON SEQUENCE pgonce.%I FROM PUBLIC', 'awake_' || channel_name);
  PERFORM setval(pgonce.word_of(channel_name), word);
END
$$;

-- Keeps the word as it is until the transaction ends, and returns it; null if there is none. What the word is to be must be asked in a later
-- statement: this one may have waited, and its snapshot is from before.
CREATE OR REPLACE FUNCTION pgonce.hold_word(channel_name text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  channel integer;
BEGIN
  SELECT c.id INTO channel FROM pgonce.channel c WHERE c.name = channel_name AND c.mode <> 'BROADCAST';
  IF channel IS NULL THEN
    RETURN NULL;
  END IF;
  PERFORM pgonce.bound_idle(2000);
  -- A word that a crash of the server makes an earlier one is one whose time is over.
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_advisory_xact_lock(pgonce.word_lock(), channel);
  RETURN CASE WHEN pgonce.word_of(channel_name) IS NOT NULL THEN coalesce(pg_sequence_last_value(pgonce.word_of(channel_name)), 0) END;
END
$$;

-- Whether the word is not what it must be while somebody listens: what an installation has changed, or a restore has lost. No transaction
-- that is undone may change the word, as that would not be undone: so installing does not, and those who listen do.
CREATE OR REPLACE FUNCTION pgonce.is_unfit(channel_name text) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT w.word IS NULL OR w.word = 9223372036854775806 AND c.wake_ups <> 'NEVER' OR (w.word = 9223372036854775807) <> (c.wake_ups = 'NEVER')
    FROM pgonce.channel c CROSS JOIN LATERAL (SELECT pg_sequence_last_value(pgonce.word_of(c.name)) AS word) w
   WHERE c.name = channel_name AND c.mode <> 'BROADCAST'
$$;

-- In the transaction that puts a listener on the list, after its LISTEN. Who stops at the same time sees the one or the other: both keep the word
-- until they commit. Transactions that are under way may rely on what it was: somebody is to take the word, and what is owed for them.
CREATE OR REPLACE FUNCTION pgonce.somebody_listens(listened integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  channel_name text;
BEGIN
  FOR channel_name IN SELECT DISTINCT s.of_channel FROM pgonce.subscription s WHERE s.id = ANY (listened) AND s.of_channel IS NOT NULL ORDER BY 1 LOOP
    PERFORM pgonce.hold_word(channel_name);
    CONTINUE WHEN pgonce.is_unfit(channel_name) IS NOT TRUE;
    IF pgonce.word_of(channel_name) IS NULL THEN
      PERFORM pgonce.make_word(channel_name, -1);
    END IF;
    PERFORM setval(pgonce.word_of(channel_name), CASE c.wake_ups WHEN 'NEVER' THEN 9223372036854775807 ELSE -1 END)
       FROM pgonce.channel c WHERE c.name = channel_name;
  END LOOP;
END
$$;

-- In the transaction that has taken one off the list. What is owed, whoever comes next finds with his first look, or takes the word.
CREATE OR REPLACE FUNCTION pgonce.nobody_listens(listened integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  channel_name text;
  held bigint;
BEGIN
  FOR channel_name IN SELECT DISTINCT s.of_channel FROM pgonce.subscription s WHERE s.id = ANY (listened) AND s.of_channel IS NOT NULL ORDER BY 1 LOOP
    held := pgonce.hold_word(channel_name);
    IF held IS NOT NULL AND EXISTS (SELECT FROM pgonce.channel c WHERE c.name = channel_name AND c.wake_ups = 'WHILE_ASLEEP')
       AND NOT EXISTS (SELECT FROM pgonce.listener l JOIN pgonce.subscription s ON s.id = ANY (l.subscriptions) WHERE s.of_channel = channel_name) THEN
      PERFORM setval(pgonce.word_of(channel_name), 9223372036854775806);
    END IF;
  END LOOP;
END
$$;

-- Whether somebody waits for the lock with which one transaction of the whole server at a time commits with a NOTIFY (async.c: that of the database
-- whose id is 0). On a slow disk that is all that bounds the writers, however few they can be then. Null if this one may not be awake anyway.
CREATE OR REPLACE FUNCTION pgonce.do_writers_wait(channel_name text, listened integer[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT pgonce.may_be_awake(channel_name, listened) THEN
    RETURN NULL;
  END IF;
  RETURN EXISTS (SELECT FROM pg_locks l
                  WHERE l.locktype = 'object' AND l.database = 0 AND l.classid = 'pg_database'::regclass AND l.objid = 0 AND NOT l.granted);
EXCEPTION WHEN insufficient_privilege THEN
  RETURN false; -- a server may keep its locks to itself
END
$$;

-- The first step of who is about to be awake: takes the word, and calls the others. Returns the word; 0 if somebody else is awake; null if nobody
-- may be: the channel is installed otherwise, or has a subscription for which the process does not listen.
CREATE OR REPLACE FUNCTION pgonce.announce_awake(channel_name text, listened integer[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  word constant bigint := pgonce.hold_word(channel_name);
BEGIN
  IF word IS NULL OR word >= 9223372036854775806 OR NOT pgonce.may_be_awake(channel_name, listened) THEN
    RETURN NULL;
  ELSIF word > 0 AND NOT pgonce.is_over(word) THEN
    RETURN 0;
  END IF;
  PERFORM pgonce.wake_up(channel_name, 'awake');
  RETURN setval(pgonce.word_of(channel_name), -pgonce.next_word(word, 5000));
END
$$;

-- Who has the word is awake, for half a second more; and asks the others for help, if he has more to do than he can. Returns the word; null
-- if it is not his any more, or he may not be awake.
CREATE OR REPLACE FUNCTION pgonce.stay_awake(channel_name text, listened integer[], mine bigint, asks boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF pgonce.hold_word(channel_name) IS DISTINCT FROM mine OR NOT pgonce.may_be_awake(channel_name, listened) THEN
    RETURN NULL;
  END IF;
  IF asks THEN
    PERFORM pgonce.wake_up(channel_name, 'help');
  END IF;
  RETURN setval(pgonce.word_of(channel_name), pgonce.next_word(mine, 500));
END
$$;

-- Whether writers may rely on one who listens for these subscriptions.
CREATE OR REPLACE FUNCTION pgonce.may_be_awake(channel_name text, listened integer[]) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT EXISTS (SELECT FROM pgonce.channel c WHERE c.name = channel_name AND c.wake_ups = 'WHILE_ASLEEP')
     AND ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.of_channel = channel_name ORDER BY s.id) = listened
$$;

-- Who has the word, or takes it from one whose time is over, is not awake any more. What he owes: looks for the rows of transactions that had an id
-- before below, and had not ended in the snapshot. The snapshot is taken after the word has changed, so whoever may have relied on it is among
-- them: they had read it, and so had their ids, before this transaction had its own, as nothing before setval gives it one. If the word is somebody
-- else's by now, it is left to him. calls: all are to look now, as the caller cannot, or not for all subscriptions.
CREATE OR REPLACE FUNCTION pgonce.fall_asleep(channel_name text, INOUT mine bigint, calls boolean, OUT below text, OUT running text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF pgonce.hold_word(channel_name) = mine THEN
    mine := setval(pgonce.word_of(channel_name), -pgonce.next_word(mine, 5000));
  END IF;
  IF calls THEN
    PERFORM pgonce.wake_up(channel_name, 'call');
  END IF;
  below := pg_current_xact_id();
  running := pg_current_snapshot();
END
$$;

-- How many of those have not ended yet. If none, all are called, who look for what the last ones have left; if fewer than before, where the caller
-- cannot look. The word is kept for as long.
CREATE OR REPLACE FUNCTION pgonce.linger(
  channel_name text, INOUT mine bigint, below text, running text, left_before integer, calls boolean, OUT left_over integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  word constant bigint := pgonce.hold_word(channel_name);
BEGIN
  left_over := (SELECT count(*) FROM pg_snapshot_xip(pg_current_snapshot()) AS x (id)
                 WHERE x.id < linger.below::xid8 AND NOT pg_visible_in_snapshot(x.id, linger.running::pg_snapshot));
  IF left_over = 0 OR calls AND left_over < left_before THEN
    PERFORM pgonce.wake_up(channel_name, 'call');
  END IF;
  IF word = mine THEN
    mine := setval(pgonce.word_of(channel_name), -pgonce.next_word(mine, 5000));
  END IF;
END
$$;

-- Nothing is owed any more. After the transaction that has called all: not in it, as that may not commit.
CREATE OR REPLACE FUNCTION pgonce.asleep(channel_name text, mine bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF pgonce.hold_word(channel_name) = mine THEN
    PERFORM setval(pgonce.word_of(channel_name), 0);
  END IF;
END
$$;

-- Who has the word leaves: the others look at once, and one of them takes the word.
CREATE OR REPLACE FUNCTION pgonce.leave_word(channel_name text, mine bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM pgonce.wake_up(channel_name, 'awake');
  PERFORM pgonce.wake_up(channel_name, 'call');
  IF pgonce.hold_word(channel_name) = mine THEN
    PERFORM setval(pgonce.word_of(channel_name), -1);
  END IF;
END
$$;

-- Others who listen look, as many as may be of use: who asks has more to do than he can.
CREATE OR REPLACE FUNCTION pgonce.ask_for_help(channel_name text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT pgonce.wake_up(channel_name, 'help') $$;

-- The word, if somebody is awake or owes looks; and whether it is to be taken from who has it.
CREATE OR REPLACE FUNCTION pgonce.word(channel_name text, OUT word bigint, OUT is_over boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  word := pg_sequence_last_value(pgonce.word_of(channel_name));
  word := CASE WHEN word NOT IN (0, 9223372036854775806, 9223372036854775807) THEN word END;
  is_over := pgonce.is_over(word);
END
$$;

REVOKE ALL ON FUNCTION
  pgonce.word_lock(), pgonce.is_over(bigint), pgonce.next_word(bigint, integer), pgonce.make_word(text, bigint), pgonce.is_unfit(text), pgonce.hold_word(text), pgonce.do_writers_wait(text, integer[]), pgonce.announce_awake(text, integer[]),
  pgonce.stay_awake(text, integer[], bigint, boolean), pgonce.may_be_awake(text, integer[]), pgonce.fall_asleep(text, bigint, boolean), pgonce.linger(text, bigint, text, text, integer, boolean),
  pgonce.asleep(text, bigint), pgonce.leave_word(text, bigint), pgonce.ask_for_help(text), pgonce.word(text),
  pgonce.somebody_listens(integer[]), pgonce.nobody_listens(integer[])
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
  pgonce.do_writers_wait(text, integer[]), pgonce.announce_awake(text, integer[]), pgonce.stay_awake(text, integer[], bigint, boolean), pgonce.fall_asleep(text, bigint, boolean),
  pgonce.linger(text, bigint, text, text, integer, boolean), pgonce.asleep(text, bigint), pgonce.leave_word(text, bigint), pgonce.ask_for_help(text),
  pgonce.word(text)
TO pgonce_listener;

INSERT INTO pgonce.schema_version (version) VALUES (13) ON CONFLICT DO NOTHING;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
