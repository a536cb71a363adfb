create table author (
  id         bigint      primary key,
  name       text        not null,
  created_at timestamptz not null default clock_timestamp()
);

-- No unique constraint on author_id: it would hide a doubled post, which the run is there to find.
create table post (
  id         bigint      generated always as identity primary key,
  author_id  bigint      not null references author,
  content    text        not null,
  created_at timestamptz not null default clock_timestamp(),
  written_by text        not null default current_setting('application_name')
);

-- Who heard of an author in BROADCAST.
create table heard (
  id         bigint      generated always as identity primary key,
  author_id  bigint      not null references author,
  created_at timestamptz not null default clock_timestamp(),
  written_by text        not null default current_setting('application_name')
);
