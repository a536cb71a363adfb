-- What writers write, and what handlers write of it. Each contender has a database of its own with these.
create table work (
  id   bigint primary key,
  name text   not null
);

-- No unique constraint on work_id: it would hide what is done twice, which is counted in the end.
create table effect (
  work_id bigint not null,
  content text   not null
);
