/** Publishes what a query finds, again and again, each row once. */
module org.pgonce.sweeps {
  requires transitive org.pgonce;
  requires org.slf4j;

  exports org.pgonce.sweeps;
}
