-- Tables and indexes, version 1. A later version adds a file tables_2.sql behind this one, with changes that look at schema_version first, so that it
-- may run again without a lock.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);
SELECT pg_catalog.set_config('pgonce.client_min_messages', pg_catalog.current_setting('client_min_messages'), false);
SELECT pg_catalog.set_config('client_min_messages', 'warning', false);

SET ROLE pgonce_owner;

CREATE TABLE IF NOT EXISTS pgonce.schema_version (
  version      integer     PRIMARY KEY,
  installed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  installed_by text        NOT NULL DEFAULT session_user
);

-- Tells this installation from an earlier one of the same database, whose sequence began at 1 as well: the epoch is a part of each delivery key.
CREATE TABLE IF NOT EXISTS pgonce.installation (
  one   boolean PRIMARY KEY DEFAULT true CHECK (one),
  epoch text    NOT NULL DEFAULT left(gen_random_uuid()::text, 8),
  -- Of the database that pgonce was installed in, or that was adopted: see copies.sql.
  home  text
);

INSERT INTO pgonce.installation DEFAULT VALUES ON CONFLICT DO NOTHING;

-- COLLATE "C", here and below: what must be unique is compared to the byte. A new version of the operating system's collations may sort otherwise,
-- and an index in the database's own collation would then miss rows.
CREATE TABLE IF NOT EXISTS pgonce.channel (
  id           integer     GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name         text COLLATE "C" NOT NULL UNIQUE CHECK (name ~ '^[a-z][a-z0-9_.-]{0,47}$'),
  mode         text        NOT NULL CHECK (mode IN ('EXACTLY_ONCE', 'AT_LEAST_ONCE', 'AT_MOST_ONCE', 'BROADCAST')),
  feed         text        NOT NULL,
  -- How long a delivery key is remembered after its notification is done: up to 3,650 days, as in Java.
  key_memory   interval    NOT NULL DEFAULT '0' CHECK (key_memory BETWEEN interval '0' AND interval '87600 hours'),
  -- Whether notifications of one order key wait for one another, and what a dead letter does to those behind it.
  key_order    text        NOT NULL DEFAULT 'NONE' CHECK (key_order IN ('NONE', 'DEAD_LETTER_BLOCKS', 'DEAD_LETTER_PASSES')),
  -- The longest chain of handlers that publish what another handler handles.
  max_depth    integer     NOT NULL DEFAULT 100 CHECK (max_depth BETWEEN 1 AND 10000),
  -- How many notifications a second all processes together begin to handle, for each subscription; null: no bound.
  max_rate     integer     CHECK (max_rate BETWEEN 1 AND 1000000),
  -- How many notifications of one order key all processes together handle at once, for each subscription; null: no limit. An order means one.
  max_per_key  integer     CHECK (max_per_key BETWEEN 1 AND 100),
  -- When a writer notifies the listeners: unless the channel's gate is open (gate.sql); always; or never.
  wake_ups     text        NOT NULL DEFAULT 'GATED' CHECK (wake_ups IN ('GATED', 'ALWAYS', 'NEVER')),
  -- Until then, listeners of a former EXACTLY_ONCE may have begun what was stored. Only the lock of such a row tells so.
  held_until   timestamptz,
  installed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  installed_by text        NOT NULL DEFAULT session_user,
  -- When its settings or subscriptions were changed last, and by whom.
  changed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_by   text        NOT NULL DEFAULT session_user,
  -- The role that has installed it: who may act as this role may change it, and so may administrators.
  owner        text        NOT NULL,
  -- How many subscriptions it has had: see subscription.id.
  numbered     integer     NOT NULL DEFAULT 0 CHECK (numbered BETWEEN 0 AND 4095),
  -- How long pgonce.history shows what was handled, and whether with its payload; null: nothing is kept. See history.sql.
  history      interval    CHECK (history BETWEEN interval '1 minute' AND interval '9600 hours'),
  history_payload boolean  NOT NULL DEFAULT false CHECK (history IS NOT NULL OR NOT history_payload),
  UNIQUE (id, name),
  CHECK (max_per_key IS NULL OR key_order = 'NONE')
);

-- Each subscription of a channel has its own row of a notification, so that they do not wait for one another.
CREATE TABLE IF NOT EXISTS pgonce.subscription (
  -- 4096 times the channel's id, and a number from 1 to 4095 that is never used again. By the channel's id in it the channel's view bounds
  -- what its triggers may store (store.sql).
  id           integer NOT NULL PRIMARY KEY CHECK (id / 4096 = channel_id AND id % 4096 > 0),
  channel_id   integer NOT NULL REFERENCES pgonce.channel ON DELETE CASCADE,
  -- The channel's name while its notifications are stored, null while it is a BROADCAST: what asks for the subscriptions whose rows are stored
  -- reads only this.
  of_channel   text COLLATE "C",
  name         text COLLATE "C" NOT NULL CHECK (name ~ '^[a-z][a-z0-9_.-]{0,47}$'),
  -- The subscription gets what was written in a context that holds all of this; null: everything.
  filter       jsonb   CHECK (jsonb_typeof(filter) = 'object'),
  -- While it is paused, what is stored for it waits. Null: it is not paused.
  paused_at    timestamptz,
  paused_by    text,
  pause_reason text,
  UNIQUE (channel_id, name),
  UNIQUE (of_channel, name),
  FOREIGN KEY (channel_id, of_channel) REFERENCES pgonce.channel (id, name) ON DELETE CASCADE,
  CHECK (num_nulls(paused_at, paused_by, pause_reason) IN (0, 3))
);

-- When the next permit of a subscription with a rate is free, see rate.sql. One row each, changed once for many permits.
CREATE TABLE IF NOT EXISTS pgonce.rate_limit (
  subscription_id integer     PRIMARY KEY REFERENCES pgonce.subscription ON DELETE CASCADE,
  free_from       timestamptz NOT NULL
) WITH (fillfactor = 20);

-- What may be handled now. The primary key serves insert, claim and delete. A row is inserted, locked and deleted, and never updated. There is no
-- foreign key: each writer would pay for its check. payload is json and not jsonb: jsonb refuses what a watched column may hold (backslash-u0000 in a
-- json column), and the writer would fail. Rows of subscription 0 are planner padding, see maintenance.sql. Eight columns and no more: their null
-- bitmap costs a row nothing.
CREATE TABLE IF NOT EXISTS pgonce.notification (
  subscription_id integer     NOT NULL,
  -- An identity and no default: PostgreSQL asks a writer for rights on the sequence of a default.
  id              bigint      NOT NULL GENERATED BY DEFAULT AS IDENTITY (SEQUENCE NAME pgonce.notification_id),
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  payload         json        NOT NULL,
  -- The publisher's own key, a row of pgonce.delivery_key.
  delivery_key    text COLLATE "C",
  -- Where the channel keeps an order or has a limit per key: the publisher's key, or chr(1) and the id where none was given.
  order_key       text COLLATE "C",
  -- What the writer's session or transaction said of itself.
  context         jsonb,
  -- Depth (how many handlers led to it) and version of its definition: depth + 65536 * (version - 1). Null: depth 0 and version 1. They share a
  -- column, since a ninth one would make each row 8 bytes longer (PostgreSQL 14 to 18), even where there are no versions.
  stamp           integer,
  PRIMARY KEY (subscription_id, id)
) WITH (
  -- Rows live for milliseconds: vacuum by number of dead rows, not by a share of the live ones, and often.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000
);

-- What is to be handled later: notifications with a due time, retries that wait out their backoff, and leased rows, which are due again when their
-- lease expires. A table of its own, so that rows of a far future cost the present nothing. Nothing moves a row that becomes due: the poll's due_in_ms
-- says when the next poll comes, and its due has a claim begin.
CREATE TABLE IF NOT EXISTS pgonce.scheduled (
  subscription_id integer     NOT NULL,
  id              bigint      NOT NULL,
  due_at          timestamptz NOT NULL,
  attempts        integer     NOT NULL,
  created_at      timestamptz NOT NULL,
  last_error      text,
  payload         json        NOT NULL,
  delivery_key    text COLLATE "C",
  order_key       text COLLATE "C",
  context         jsonb,
  stamp           integer,
  -- Of the claim that leased it. attempts counts that claim already.
  token           uuid,
  -- The permit of its key that the row has, where the channel has a limit per key, and until when: see key_permits.sql.
  key_permit      smallint,
  key_permit_until timestamptz,
  -- In this order, so that no plan takes it to find the rows of a subscription that are due: scheduled_due is for that.
  PRIMARY KEY (id, subscription_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- No CREATE INDEX IF NOT EXISTS, here and below: it takes the table's lock before it looks for the name. Beside an open transaction, all writers
-- would wait behind it.
DO $$
BEGIN
  IF to_regclass('pgonce.scheduled_due') IS NULL THEN
    CREATE INDEX scheduled_due ON pgonce.scheduled (subscription_id, due_at, id);
  END IF;
END
$$;

CREATE TABLE IF NOT EXISTS pgonce.dead_letter (
  subscription_id integer     NOT NULL,
  id              bigint      NOT NULL,
  died_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts        integer     NOT NULL,
  created_at      timestamptz NOT NULL,
  reason          text        NOT NULL CHECK (reason IN ('ATTEMPTS_USED_UP', 'UNREADABLE', 'REJECTED', 'OUTCOME_UNKNOWN', 'TOO_DEEP', 'NOT_STORABLE')),
  error           text        NOT NULL,
  payload         json        NOT NULL,
  delivery_key    text COLLATE "C",
  order_key       text COLLATE "C",
  context         jsonb,
  stamp           integer,
  PRIMARY KEY (subscription_id, id)
);

-- What was handled, of channels that ask for it: see history.sql. A row is inserted by the statement that deletes the notification, and never changed.
-- Its partitions are dropped whole. No CHECK here: PostgreSQL would plan it anew for each statement.
CREATE TABLE IF NOT EXISTS pgonce.handled (
  handled_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_at      timestamptz NOT NULL,
  due_at          timestamptz NOT NULL,
  claimed_at      timestamptz NOT NULL,
  -- The handler's time; of a batch, that of the batch.
  took            interval    NOT NULL,
  id              bigint      NOT NULL,
  subscription_id integer     NOT NULL,
  attempts        integer     NOT NULL,
  -- Its handler's condition did not hold, so the handler did not run.
  skipped         boolean     NOT NULL,
  instance        text COLLATE "C" NOT NULL,
  delivery_key    text COLLATE "C",
  payload         json
) PARTITION BY RANGE (handled_at);

-- The default partition is the net: an insert must not fail because no partition was made in time. Each partition has indexes of its own, as this one;
-- those of the whole table would be in the way of pg_restore --clean, which drops a partition's first.
DO $$
BEGIN
  IF to_regclass('pgonce.handled_default') IS NULL THEN
    CREATE TABLE pgonce.handled_default PARTITION OF pgonce.handled DEFAULT;
    ALTER TABLE pgonce.handled_default ADD PRIMARY KEY (subscription_id, id, handled_at);
    CREATE INDEX ON pgonce.handled_default (subscription_id, handled_at, id);
    CREATE INDEX ON pgonce.handled_default (subscription_id, delivery_key) WHERE delivery_key IS NOT NULL;
  END IF;
END
$$;

-- The keys that publishers gave, unique within a channel: from publishing until each subscription is done with the notification, and then for as long
-- as the channel remembers them.
CREATE TABLE IF NOT EXISTS pgonce.delivery_key (
  channel_id  integer NOT NULL,
  -- Of 1 to 500 characters. The functions that store look at that: PostgreSQL would plan a CHECK anew for each statement.
  key         text COLLATE "C" NOT NULL,
  id          bigint  NOT NULL,
  -- Of the payload: the same key with another payload is an error where the publisher asks for that. Empty where a trigger has stored it.
  fingerprint bytea   NOT NULL,
  -- Subscriptions that still have it, dead letters included.
  waiting     integer NOT NULL,
  -- When the last of them was done. 'infinity': all are done, at a time that is not known yet, see pgonce_private.done_later.
  done_at     timestamptz,
  PRIMARY KEY (channel_id, key)
);

DO $$
BEGIN
  IF to_regclass('pgonce.delivery_key_done') IS NULL THEN
    CREATE INDEX delivery_key_done ON pgonce.delivery_key (channel_id, done_at) WHERE done_at IS NOT NULL;
  END IF;
END
$$;

-- One row per running listener process: the registry. Its heartbeat updates the row; a notification never does.
CREATE TABLE IF NOT EXISTS pgonce.listener (
  id            uuid        PRIMARY KEY,
  instance      text COLLATE "C" NOT NULL,
  subscriptions integer[]   NOT NULL,
  -- In the order of the subscriptions: how many workers it has for each.
  workers       integer[]   NOT NULL DEFAULT '{}',
  -- In the same order: why it handles nothing of it, where it was installed otherwise since; else empty. Changed with the heartbeat, as the next one is.
  outdated      text[]      NOT NULL DEFAULT '{}',
  -- The server's processes of the sessions that its handlers work in.
  sessions      integer[]   NOT NULL DEFAULT '{}',
  listens_by      text        NOT NULL,
  -- The server's process of its LISTEN session; null if it has none, or its driver does not say.
  backend       integer,
  started_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- How long its heartbeat may be missing before other processes take it for dead.
  silence       interval    NOT NULL CHECK (silence BETWEEN interval '0' AND interval '24 hours'),
  role          text        NOT NULL DEFAULT session_user,
  -- Of the process, as the server sees it; null for a Unix socket.
  address       inet        DEFAULT inet_client_addr()
);

-- Listeners that left within a day: for people who look who was there. Nothing counts them.
CREATE TABLE IF NOT EXISTS pgonce.former_listener (
  id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  instance      text COLLATE "C" NOT NULL,
  address       inet,
  role          text        NOT NULL,
  subscriptions integer[]   NOT NULL,
  started_at    timestamptz NOT NULL,
  -- When it stopped, or was heard from last.
  left_at       timestamptz NOT NULL,
  stopped       boolean     NOT NULL
);

-- What operators did to channels, and handlers that paused theirs. By name, not by id: the entry outlives the channel.
CREATE TABLE IF NOT EXISTS pgonce.operation (
  id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  what         text        NOT NULL CHECK (what IN ('INSTALL', 'CHANGE_MODE', 'DROP', 'PAUSE', 'RESUME', 'CANCEL', 'REDRIVE', 'DISCARD', 'RETRY_NOW', 'ADOPT')),
  -- '*' for all that the database has.
  channel      text        NOT NULL,
  -- Null: the channel as a whole.
  subscription text,
  role         text        NOT NULL DEFAULT session_user,
  -- The person or instance, as it calls itself.
  operator     text,
  reason       text,
  -- Of the notifications, or subscriptions (PAUSE, RESUME, INSTALL), that it changed.
  concerned    bigint      NOT NULL,
  detail       text
);

DO $$
BEGIN
  IF to_regclass('pgonce.operation_at') IS NULL THEN
    CREATE INDEX operation_at ON pgonce.operation (at);
  END IF;
END
$$;

-- Subscriptions that were dropped, and channels (then subscription_id is null): what waits in them, and what an older transaction or a trigger may
-- still store, goes by pgonce_private.clear_leftovers.
CREATE TABLE IF NOT EXISTS pgonce.dropped (
  -- For a publication FOR ALL TABLES: under one, PostgreSQL refuses to update or delete rows of a table without a primary key.
  id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel_id      integer     NOT NULL,
  subscription_id integer,
  at              timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When to look for leftovers again.
  look_at         timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The partitions that a watched table was seen to have, by name. A detached partition loses its copies of the triggers without a trace in the
-- catalog.
CREATE TABLE IF NOT EXISTS pgonce.known_partition (
  channel_id integer NOT NULL REFERENCES pgonce.channel ON DELETE CASCADE,
  name       text COLLATE "C" NOT NULL,
  PRIMARY KEY (channel_id, name)
);

DO $$
BEGIN
  IF to_regclass('pgonce.notification_order') IS NULL THEN
    CREATE INDEX notification_order ON pgonce.notification (subscription_id, order_key, id) WHERE order_key IS NOT NULL;
  END IF;
  IF to_regclass('pgonce.scheduled_order') IS NULL THEN
    CREATE INDEX scheduled_order ON pgonce.scheduled (subscription_id, order_key, id) WHERE order_key IS NOT NULL;
  END IF;
  IF to_regclass('pgonce.dead_letter_order') IS NULL THEN
    CREATE INDEX dead_letter_order ON pgonce.dead_letter (subscription_id, order_key, id) WHERE order_key IS NOT NULL;
  END IF;
  IF to_regclass('pgonce.scheduled_leased') IS NULL THEN
    CREATE INDEX scheduled_leased ON pgonce.scheduled (subscription_id, order_key, due_at) WHERE order_key IS NOT NULL AND token IS NOT NULL;
  END IF;
END
$$;

-- For claim_by_key.sql. scheduled_key leads to the due rows of a key: scheduled_order would lead over all that are due later. Only statements with
-- order_key > '' use it: those that look for leases would be led over what is due later.
DO $$
BEGIN
  IF to_regclass('pgonce.scheduled_key') IS NULL THEN
    CREATE INDEX scheduled_key ON pgonce.scheduled (subscription_id, order_key, due_at, id) WHERE order_key > '';
  END IF;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('client_min_messages', pg_catalog.current_setting('pgonce.client_min_messages'), false);
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
