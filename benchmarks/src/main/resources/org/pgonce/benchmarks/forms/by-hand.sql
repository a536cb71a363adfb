-- Storing triggers without pgonce, as short as they can be: the limit. A queue with one index, and definer functions, as a writer is to have
-- no right on the queue. No key, no context, no subscriptions, no wake-up, no care for a row that cannot be stored.

create table queue_by_hand (
  id         bigint      generated always as identity primary key,
  created_at timestamptz not null default clock_timestamp(),
  payload    json        not null
) with (autovacuum_enabled = false);

create function new_rows_by_hand() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into public.queue_by_hand (payload) select row_to_json(n) from new_rows n;
  return null;
end $$;

create function new_rows_by_hand_with_notify() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into public.queue_by_hand (payload) select row_to_json(n) from new_rows n;
  perform pg_notify('by_hand', '');
  return null;
end $$;

create function old_rows_by_hand() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into public.queue_by_hand (payload) select row_to_json(o) from old_rows o;
  return null;
end $$;

create function new_row_by_hand() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into public.queue_by_hand (payload) values (row_to_json(new));
  return null;
end $$;

create function old_row_by_hand() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into public.queue_by_hand (payload) values (row_to_json(old));
  return null;
end $$;

create trigger by_hand after insert on insert_by_hand_statement referencing new table as new_rows
  for each statement execute function new_rows_by_hand();
create trigger by_hand after insert on insert_by_hand_notify referencing new table as new_rows
  for each statement execute function new_rows_by_hand_with_notify();
create trigger by_hand after insert on insert_by_hand_row for each row execute function new_row_by_hand();
create trigger by_hand after insert on partitioned_by_hand_row for each row execute function new_row_by_hand();

create trigger by_hand after update on update_by_hand_statement referencing new table as new_rows
  for each statement execute function new_rows_by_hand();
create trigger by_hand after update on update_by_hand_row for each row execute function new_row_by_hand();

create trigger by_hand after delete on delete_by_hand_statement referencing old table as old_rows
  for each statement execute function old_rows_by_hand();
create trigger by_hand after delete on delete_by_hand_row for each row execute function old_row_by_hand();
