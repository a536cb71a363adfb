/** Trigger channels for pgonce: from a channel definition to DDL. */
module org.pgonce.triggers {
  requires transitive org.pgonce;
  requires transitive org.pgonce.records;
  requires org.slf4j;

  exports org.pgonce.triggers;
}
