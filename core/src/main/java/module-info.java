/** Exactly-once notification channels on PostgreSQL LISTEN/NOTIFY. */
module org.pgonce {
  requires transitive java.sql;
  requires transitive org.jspecify;
  requires org.postgresql.jdbc;
  requires org.slf4j;
  requires pgjdbc.ng;
  requires tools.jackson.databind;
  requires static com.zaxxer.hikari;
  requires static org.checkerframework.checker.qual;

  exports org.pgonce;
  exports org.pgonce.spi;
}
