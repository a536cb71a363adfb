-- Stores the row as JSON, as a queue for any table does: whoever does the work decodes it.
alter table queue_by_hand drop column work_id, drop column name, add payload json not null;

create or replace function work_stored() returns trigger language plpgsql as $$
begin
  insert into queue_by_hand (payload) select row_to_json(n) from new_rows n;
  perform pg_notify('by_hand', '');
  return null;
end $$;
