/** Exactly-once notification channels on PostgreSQL LISTEN/NOTIFY. */
@SuppressWarnings("module") // the sister modules are compiled after this one
module org.pgonce {
  requires transitive java.sql;
  requires transitive org.jspecify;
  requires org.postgresql.jdbc;
  requires org.slf4j;
  requires static org.checkerframework.checker.qual;

  uses org.pgonce.spi.CodecProvider;
  uses org.pgonce.spi.DataSourceReader;
  uses org.pgonce.spi.WakeUpSource;

  exports org.pgonce;
  exports org.pgonce.spi;
  // Its sister modules install, check and commit as core does, by the same code.
  exports org.pgonce.internal.jdbc to
      org.pgonce.guards,
      org.pgonce.micrometer,
      org.pgonce.operations,
      org.pgonce.records,
      org.pgonce.sweeps,
      org.pgonce.test,
      org.pgonce.triggers;
  exports org.pgonce.internal.store to
      org.pgonce.guards,
      org.pgonce.operations,
      org.pgonce.pools,
      org.pgonce.records,
      org.pgonce.test,
      org.pgonce.triggers;
  exports org.pgonce.internal.text to
      org.pgonce.guards,
      org.pgonce.triggers;
  // The users' test kit handles as a listener does.
  exports org.pgonce.internal.concurrent to
      org.pgonce.pools,
      org.pgonce.test;
  exports org.pgonce.internal.claim to
      org.pgonce.test;
  exports org.pgonce.internal.consume to
      org.pgonce.test;
  exports org.pgonce.internal.context to
      org.pgonce.test;
  exports org.pgonce.internal.handle to
      org.pgonce.test;
  exports org.pgonce.internal.listen to
      org.pgonce.test;
  exports org.pgonce.internal.settle to
      org.pgonce.test;
}
