/** Guards for pgonce: what must not happen twice, with or without a channel. */
module org.pgonce.guards {
  requires transitive org.pgonce;
  requires org.slf4j;

  exports org.pgonce.guards;
}
