/**
 * The whole of pgonce: core, jackson, operations, pools, sweeps and triggers. The wake-up source of
 * pgjdbc-ng, no module of its own, is found as a service where its jar is on the module path.
 */
module org.pgonce.all {
  requires transitive org.pgonce;
  requires transitive org.pgonce.jackson;
  requires transitive org.pgonce.operations;
  requires transitive org.pgonce.pools;
  requires transitive org.pgonce.sweeps;
  requires transitive org.pgonce.triggers;
}
