-- In the run's own database only.
alter table pgonce.notification set (autovacuum_enabled = false);
alter table pgonce.scheduled set (autovacuum_enabled = false);
alter table pgonce.delivery_key set (autovacuum_enabled = false);
