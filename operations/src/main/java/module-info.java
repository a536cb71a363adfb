/** For the person on call: what can be done to channels and to what waits in them. */
@SuppressWarnings("module") // the console is compiled after this one
module org.pgonce.operations {
  requires transitive org.pgonce;
  requires org.postgresql.jdbc;
  requires static org.checkerframework.checker.qual;

  exports org.pgonce.operations;
  // The console looks and examines as the command line does, by the same code.
  exports org.pgonce.operations.internal.doctor to
      org.pgonce.console;
  exports org.pgonce.operations.internal.sql to
      org.pgonce.console;
  exports org.pgonce.operations.internal.text to
      org.pgonce.console;
}
