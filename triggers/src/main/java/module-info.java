/** Trigger channels for pgonce: from a channel definition to DDL. */
module org.pgonce.triggers {
  requires transitive org.pgonce;
  requires transitive org.pgonce.records;
  requires io.github.javadiffutils;
  requires org.slf4j;

  exports org.pgonce.triggers;
}
