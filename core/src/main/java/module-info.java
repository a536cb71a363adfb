/** Exactly-once notification channels on PostgreSQL LISTEN/NOTIFY. */
@SuppressWarnings("module") // the sister module is compiled after this one
module org.pgonce {
  requires transitive java.sql;
  requires transitive org.jspecify;
  requires org.postgresql.jdbc;
  requires org.slf4j;
  requires transitive tools.jackson.databind;
  requires static org.checkerframework.checker.qual;

  uses org.pgonce.spi.WakeUpSource;

  exports org.pgonce;
  exports org.pgonce.spi;
  // Its sister module installs and checks channels as core does, by the same code.
  exports org.pgonce.internal.operate to
      org.pgonce.triggers;
  exports org.pgonce.internal.store to
      org.pgonce.triggers;
}
