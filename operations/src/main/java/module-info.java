/** For the person on call: what can be done to channels and to what waits in them. */
module org.pgonce.operations {
  requires transitive org.pgonce;

  exports org.pgonce.operations;
}
