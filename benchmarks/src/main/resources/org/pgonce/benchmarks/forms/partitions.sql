-- Those of a table. %1$s is its name.
create table %1$s (id int primary key, name text, price numeric) partition by hash (id);
create table %1$s_0 partition of %1$s for values with (modulus 4, remainder 0) with (autovacuum_enabled = false);
create table %1$s_1 partition of %1$s for values with (modulus 4, remainder 1) with (autovacuum_enabled = false);
create table %1$s_2 partition of %1$s for values with (modulus 4, remainder 2) with (autovacuum_enabled = false);
create table %1$s_3 partition of %1$s for values with (modulus 4, remainder 3) with (autovacuum_enabled = false);
