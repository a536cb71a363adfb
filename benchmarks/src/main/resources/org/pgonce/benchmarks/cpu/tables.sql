-- CPU time of this session's process so far, in nanoseconds, as the kernel counts it. For superusers, on Linux.
create function cpu_nanos() returns bigint language sql volatile as $$
  select split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint
$$;

-- The storing trigger by hand: as short as it can be.
create table queue_by_hand (
  id         bigint      generated always as identity primary key,
  created_at timestamptz not null default clock_timestamp(),
  payload    json        not null
);

create function store_by_hand() returns trigger language plpgsql as $$
begin
  insert into queue_by_hand (payload) select row_to_json(n) from new_rows n;
  return null;
end $$;
