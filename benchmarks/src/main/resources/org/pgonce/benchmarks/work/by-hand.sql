create table queue_by_hand (
  id      bigint generated always as identity primary key,
  work_id bigint not null,
  name    text   not null
);

create function work_stored() returns trigger language plpgsql as $$
begin
  insert into queue_by_hand (work_id, name) select n.id, n.name from new_rows n;
  perform pg_notify('by_hand', '');
  return null;
end $$;

create trigger work_stored after insert on work referencing new table as new_rows
  for each statement execute function work_stored();
