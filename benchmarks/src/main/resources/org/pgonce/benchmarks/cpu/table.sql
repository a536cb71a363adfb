-- %1$s is its name. The function inserts rows one by one, and returns the CPU nanoseconds of a row. Those of the first loop are not measured.
create table %1$s (id bigint primary key, name text);

create function insert_into_%1$s(amount integer) returns double precision language plpgsql as $$
declare
  before bigint;
begin
  for i in 1 .. 2000 loop
    insert into %1$s values (-i, 'some name');
  end loop;
  before := cpu_nanos();
  for i in 1 .. amount loop
    insert into %1$s values (i, 'some name');
  end loop;
  return (cpu_nanos() - before)::double precision / amount;
end $$;
