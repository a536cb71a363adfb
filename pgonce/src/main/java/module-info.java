/**
 * The whole of pgonce: core, jackson, operations, sweeps, triggers, and pgjdbc-ng to listen with.
 */
module org.pgonce.all {
  requires transitive org.pgonce;
  requires transitive org.pgonce.jackson;
  requires transitive org.pgonce.operations;
  requires transitive org.pgonce.sweeps;
  requires transitive org.pgonce.triggers;
  requires transitive org.pgonce.pgjdbcng;
}
