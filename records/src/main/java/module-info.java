/** Tables and the Java records that read their rows. */
@SuppressWarnings("module") // the sister module is compiled after this one
module org.pgonce.records {
  requires transitive org.pgonce;
  requires java.compiler;
  requires com.fasterxml.jackson.annotation;

  exports org.pgonce.records;
  // It installs and checks by the same rules.
  exports org.pgonce.records.internal.catalog to
      org.pgonce.triggers;
  exports org.pgonce.records.internal.fit to
      org.pgonce.triggers;
}
