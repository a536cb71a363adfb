/** What connection pools say of themselves, and a warning of handlers that take two connections. */
module org.pgonce.pools {
  requires transitive org.pgonce;
  requires org.postgresql.jdbc;
  requires org.slf4j;
  requires static org.checkerframework.checker.qual;

  exports org.pgonce.pools;

  provides org.pgonce.spi.DataSourceReader with
      org.pgonce.pools.PoolReader;
}
