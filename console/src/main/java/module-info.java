/** Pages for the person on call. */
@SuppressWarnings("opens") // the templates' package is filled behind the compiler
module org.pgonce.console {
  requires transitive java.sql;
  requires transitive org.jspecify;
  requires gg.jte.runtime;
  requires jdk.httpserver;
  requires org.pgonce.operations;
  requires org.slf4j;

  exports org.pgonce.console;

  opens org.pgonce.console.internal.template to
      gg.jte.runtime;
}
