-- Stores as by-hand.sql does, and tells nobody: those that do the work have to look for it.
create or replace function work_stored() returns trigger language plpgsql as $$
begin
  insert into queue_by_hand (work_id, name) select n.id, n.name from new_rows n;
  return null;
end $$;
