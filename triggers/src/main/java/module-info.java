/** Trigger channels for pgonce: from a channel definition to DDL. */
module org.pgonce.triggers {
  requires transitive org.pgonce;
  requires java.compiler;
  requires com.fasterxml.jackson.annotation;
  requires org.slf4j;
  requires tools.jackson.databind;

  exports org.pgonce.triggers;
}
