package org.pgonce.testkit;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;

/**
 * Who may connect to an embedded server: its superuser as is, every other role with its password,
 * so that a wrong one is refused.
 */
final class ClientAuthentication {

  private static final String PG_HBA =
      """
      host  all          postgres  localhost  trust
      host  replication  postgres  localhost  trust
      host  all          all       localhost  scram-sha-256
      """;

  private ClientAuthentication() {}

  static void writeTo(File data) {
    var file = data.toPath().resolve("pg_hba.conf");
    try {
      Files.writeString(
          file,
          PG_HBA.replace("localhost", "127.0.0.1/32") + PG_HBA.replace("localhost", "::1/128"));
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write " + file, e);
    }
  }
}
