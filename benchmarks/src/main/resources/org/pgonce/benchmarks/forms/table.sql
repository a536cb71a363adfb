-- What is written to. %1$s is its name. Vacuum and analyze run between the timed pieces, never in one.
create table %1$s (id int primary key, name text, price numeric) with (autovacuum_enabled = false);
