create table author_by_hand (like author including all);

create table queue_by_hand (
  id        bigint generated always as identity primary key,
  author_id bigint not null,
  name      text   not null
);

create table post_by_hand (
  id         bigint      generated always as identity primary key,
  author_id  bigint      not null references author_by_hand,
  content    text        not null,
  created_at timestamptz not null default clock_timestamp()
);

create function author_by_hand_inserted() returns trigger language plpgsql as $$
begin
  insert into queue_by_hand (author_id, name) select n.id, n.name from new_rows n;
  perform pg_notify('by_hand', '');
  return null;
end $$;

create trigger author_by_hand_inserted after insert on author_by_hand referencing new table as new_rows
  for each statement execute function author_by_hand_inserted();
