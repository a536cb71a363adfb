package org.pgonce.test;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import org.pgonce.PgOnceException;

/** The only type that knows the embedded server: it need not be on the class path. */
final class EmbeddedServer {

  private EmbeddedServer() {}

  /** Starts it; it ends with the JVM. Returns its URL. */
  @SuppressWarnings("resource") // by its own shutdown hook
  static String start() {
    try {
      return EmbeddedPostgres.builder().start().getJdbcUrl("postgres", "postgres");
    } catch (IOException | RuntimeException e) {
      throw new PgOnceException(
          "the embedded PostgreSQL of pgonce-test did not start (as root it needs a working «unshare -U»): %s. Or give a server's URL in the system property %s"
              .formatted(e.getMessage(), TestServer.PROPERTY),
          e);
    }
  }
}
