-- Tables and indexes.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

CREATE TABLE IF NOT EXISTS pgonce.schema_version (
  version      integer     PRIMARY KEY,
  installed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  installed_by text        NOT NULL DEFAULT session_user
);

-- What tells this installation from an earlier one of the same database, whose sequence began at 1 as well: a part of each delivery key.
CREATE TABLE IF NOT EXISTS pgonce.installation (
  one   boolean PRIMARY KEY DEFAULT true CHECK (one),
  epoch text    NOT NULL DEFAULT left(gen_random_uuid()::text, 8),
  -- Of the database that it was installed in, or adopted: see pgonce.copy_of_another.
  home  text
);

INSERT INTO pgonce.installation DEFAULT VALUES ON CONFLICT DO NOTHING;

-- COLLATE "C", here and below: what must be unique is compared to the byte. In the database's own collation, a new version of the operating
-- system's may sort otherwise, and an index from before would no longer find what it holds.
CREATE TABLE IF NOT EXISTS pgonce.channel (
  id           integer     GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name         text COLLATE "C" NOT NULL UNIQUE CHECK (name ~ '^[a-z][a-z0-9_.-]{0,47}$'),
  mode         text        NOT NULL CHECK (mode IN ('EXACTLY_ONCE', 'AT_LEAST_ONCE', 'AT_MOST_ONCE', 'BROADCAST')),
  feed         text        NOT NULL,
  -- How long a delivery key is remembered after its notification is done: up to 3,650 days, as in Java.
  key_memory   interval    NOT NULL DEFAULT '0' CHECK (key_memory BETWEEN interval '0' AND interval '87600 hours'),
  -- Whether notifications of one order key wait for one another, and what a dead letter does to those behind it.
  key_order    text        NOT NULL DEFAULT 'NONE' CHECK (key_order IN ('NONE', 'DEAD_LETTER_BLOCKS', 'DEAD_LETTER_PASSES')),
  -- Published from a handler of a notification that was published from a handler, and so on: so often and no more.
  max_depth    integer     NOT NULL DEFAULT 100 CHECK (max_depth BETWEEN 1 AND 10000),
  -- So many notifications a second all processes together begin to handle, for each subscription; null: no bound.
  max_rate     integer     CHECK (max_rate BETWEEN 1 AND 1000000),
  -- So many notifications of one order key all processes together have at work, for each subscription; null: no limit. An order means one.
  max_per_key  integer     CHECK (max_per_key BETWEEN 1 AND 100),
  -- Whether a writer notifies the listeners: unless the channel's gate is open, see gate.sql; always; or never.
  wake_ups     text        NOT NULL DEFAULT 'GATED' CHECK (wake_ups IN ('GATED', 'ALWAYS', 'NEVER')),
  -- Until when listeners of a former EXACTLY_ONCE may have held what was stored: what they began and gave back only its lock tells.
  held_until   timestamptz,
  installed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  installed_by text        NOT NULL DEFAULT session_user,
  UNIQUE (id, name),
  CHECK (max_per_key IS NULL OR key_order = 'NONE')
);

-- Each subscription of a channel has its own row of a notification, so that they do not wait for one another.
CREATE TABLE IF NOT EXISTS pgonce.subscription (
  id           integer NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel_id   integer NOT NULL REFERENCES pgonce.channel ON DELETE CASCADE,
  -- The channel's name while its notifications are stored, null while it is a BROADCAST: triggers look here only, once for each row that is written,
  -- and who has waited in a trigger's function for a change of the mode stores nothing that nobody would look at.
  of_channel   text COLLATE "C",
  name         text COLLATE "C" NOT NULL CHECK (name ~ '^[a-z][a-z0-9_.-]{0,47}$'),
  -- It gets what was written in a context that holds all of this; null: everything.
  filter       jsonb   CHECK (jsonb_typeof(filter) = 'object'),
  -- While it is paused, what is stored for it waits. Null: it is not.
  paused_at    timestamptz,
  paused_by    text,
  pause_reason text,
  UNIQUE (channel_id, name),
  UNIQUE (of_channel, name),
  FOREIGN KEY (channel_id, of_channel) REFERENCES pgonce.channel (id, name) ON DELETE CASCADE,
  CHECK (num_nulls(paused_at, paused_by, pause_reason) IN (0, 3))
);

-- From when on a subscription with a rate has turns to give; see take_permits. One row each, changed once for many turns.
CREATE TABLE IF NOT EXISTS pgonce.rate_limit (
  subscription_id integer     PRIMARY KEY REFERENCES pgonce.subscription ON DELETE CASCADE,
  free_from       timestamptz NOT NULL
) WITH (fillfactor = 20);

CREATE SEQUENCE IF NOT EXISTS pgonce.notification_id AS bigint;

-- What may be handled now. One index, the primary key, serves insert, claim and delete; nothing here is ever updated: a row is inserted,
-- locked and deleted. No foreign key: its check would be paid by every writer. payload is json and not jsonb because jsonb refuses what a
-- watched column may hold (backslash-u0000 in a json column), and the writer would pay for it with an error.
-- Rows of subscription 0 are nobody's: see keep_ballast. Eight columns and no more: their null bitmap costs a row nothing.
CREATE TABLE IF NOT EXISTS pgonce.notification (
  subscription_id integer     NOT NULL,
  id              bigint      NOT NULL DEFAULT nextval('pgonce.notification_id'),
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  payload         json        NOT NULL,
  -- The publisher's own key, a row of pgonce.delivery_key.
  delivery_key    text COLLATE "C",
  -- Where the channel keeps an order, or has a limit per key: the publisher's, or chr(1) and the id, a key of its own, where he gave none.
  order_key       text COLLATE "C",
  -- What the writer's session or transaction said of itself.
  context         jsonb,
  -- How many handlers led to it, and which version of its definition made it: depth + 65536 * (version - 1). Null: none, and version 1.
  -- One column for both, since a ninth one would make each row 8 bytes longer, of those too that have no version (PostgreSQL 14 to 18).
  stamp           integer,
  PRIMARY KEY (subscription_id, id)
) WITH (
  -- Rows live for milliseconds: vacuum by number of dead rows, not by a share of the live ones, and often.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000
);

-- What is to be handled later: notifications with a due time, retries that wait out their backoff, and those that are leased, which are due
-- again when their lease is over. In a table of its own, a far future costs the present nothing.
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
  -- Of the claim that has it on lease. Attempts counts that claim already.
  token           uuid,
  -- The place of its key that it has, where the channel has a limit per key, and until when: see take_place.
  place           smallint,
  place_until     timestamptz,
  -- In this order, so that it cannot be taken for a way to the rows of a subscription that are due: that is the other index alone.
  PRIMARY KEY (id, subscription_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- Here and below, no index IF NOT EXISTS and no view OR REPLACE: those take the table's lock, or the view's, before they look whether there is anything
-- to do, and where a transaction is open all that comes later would wait behind that.
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

-- The keys that publishers gave, unique within a channel: from the publishing until each subscription is done with the notification, and as
-- long after that as the channel remembers them.
CREATE TABLE IF NOT EXISTS pgonce.delivery_key (
  channel_id  integer NOT NULL,
  key         text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 500),
  id          bigint  NOT NULL,
  -- Of the payload: the same key with another one is an error where the publisher asks.
  fingerprint bytea   NOT NULL,
  -- Subscriptions that still have it, dead letters included.
  waiting     integer NOT NULL,
  -- When the last of them was done. 'infinity': they are, but since when is to be found out, see pgonce.done_later.
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

-- One row per running listener process, touched behind each of its scans and never by a notification.
CREATE TABLE IF NOT EXISTS pgonce.listener (
  id            uuid        PRIMARY KEY,
  instance      text COLLATE "C" NOT NULL,
  subscriptions integer[]   NOT NULL,
  hears_by      text        NOT NULL,
  -- The server's process of its LISTEN session; null if it has none, or nobody said.
  backend       integer,
  started_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- How long it may stay away before the others take it for gone.
  silence       interval    NOT NULL CHECK (silence BETWEEN interval '0' AND interval '24 hours'),
  role          text        NOT NULL DEFAULT session_user
);

-- What people did to channels, and handlers that paused theirs. By name, not by id: it outlives what it tells of.
CREATE TABLE IF NOT EXISTS pgonce.operation (
  id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  what         text        NOT NULL CHECK (what IN ('INSTALL', 'CHANGE_MODE', 'DROP', 'PAUSE', 'RESUME', 'CANCEL', 'REDRIVE', 'DISCARD', 'ADOPT')),
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

-- Subscriptions that are gone, and channels (null for the subscription), for which an older transaction may still store: see pgonce.clear_leftovers.
CREATE TABLE IF NOT EXISTS pgonce.dropped (
  -- For a publication FOR ALL TABLES: under one, PostgreSQL refuses to update or delete rows of a table without a primary key.
  id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel_id      integer     NOT NULL,
  subscription_id integer,
  at              timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When to look for that again.
  look_at         timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The partitions that a watched table was seen to have, by name. One that is detached loses its copies of the triggers without a trace in the catalog.
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

-- The keys that have rows which are due, and those rows: scheduled_order would lead over all that are due later. For statements that say order_key > ''
-- as well: others, which look for leases, would be led over what is due later by it.
DO $$
BEGIN
  IF to_regclass('pgonce.scheduled_key') IS NULL THEN
    CREATE INDEX scheduled_key ON pgonce.scheduled (subscription_id, order_key, due_at, id) WHERE order_key > '';
  END IF;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
