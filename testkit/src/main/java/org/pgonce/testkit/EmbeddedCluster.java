package org.pgonce.testkit;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * A data directory and the PostgreSQL on it, from the binaries on the class path.
 *
 * @param directory holds the data and the server's log
 * @param settings server settings by name
 */
record EmbeddedCluster(Path directory, int port, Map<String, String> settings) {

  static final String HOST = "127.0.0.1";
  static final String SUPERUSER = "postgres";
  static final String DATABASE = "postgres";
  static final String LOCALE = "C"; // messages in English, one sort order everywhere

  private static final Duration START_BOUND = Duration.ofSeconds(20);
  private static final Duration RESTART_BOUND = Duration.ofSeconds(60); // behind a recovery
  private static final int SHOWN_LINES = 20;

  Path data() {
    return directory.resolve("data");
  }

  private Path log() {
    return directory.resolve("server.log");
  }

  Login login() {
    return new Login(HOST, port, DATABASE, SUPERUSER, "");
  }

  Postmaster postmaster() {
    return Postmaster.of(data());
  }

  /** Starts the postmaster, for the first time or after a crash, and waits until it answers. */
  void start() {
    try {
      if (Files.notExists(data())) {
        InitialData.copyTo(data());
      }
      // The start before this one holds a lock on that file as long as this JVM lives; a new file
      // is a new lock.
      Files.deleteIfExists(data().resolve("epg-lock"));
      startPostmaster();
      checkItIsOurs();
    } catch (IOException | SQLException | RuntimeException e) {
      throw new IllegalStateException(
          "%s did not start. As root it needs a working `unshare -U`: else run as another user, or set %s. Its log: %s"
              .formatted(this, ServerKind.PROPERTY, lastLines()),
          e);
    }
  }

  /** Leaves the data directory as {@code initdb} makes it, and its server stopped in good order. */
  void initialise() throws IOException {
    startPostmaster().close();
  }

  private EmbeddedPostgres startPostmaster() throws IOException {
    // Not to this JVM's output: the postmaster would keep that open for whoever reads it.
    var output = ProcessBuilder.Redirect.appendTo(log().toFile());
    var isNew = Files.notExists(log());
    var builder =
        EmbeddedPostgres.builder()
            .setDataDirectory(data())
            .setCleanDataDirectory(false)
            .setRegisterShutdownHook(false) // the reaper stops it
            .setDataDirectoryCustomizer(ClientAuthentication::writeTo)
            .setLocaleConfig("locale", LOCALE)
            .setPort(port)
            .setOutputRedirector(output)
            .setErrorRedirector(output)
            .setPGStartupWait(isNew ? START_BOUND : RESTART_BOUND);
    settings.forEach((name, value) -> builder.setServerConfig(name, quoted(value)));
    return builder.start();
  }

  /** pg_ctl hands its options to a shell. */
  private static String quoted(String value) {
    return "'" + value.replace("'", "'\\''") + "'";
  }

  /** Another server may have taken the port first, and would have answered in place of ours. */
  private void checkItIsOurs() throws SQLException {
    try (var connection = login().dataSource().getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery("SHOW data_directory")) {
      row.next();
      if (!Path.of(row.getString(1)).equals(data())) {
        throw new IllegalStateException("Another PostgreSQL answers on port " + port);
      }
    }
  }

  private List<String> lastLines() {
    try {
      var lines = Files.readAllLines(log());
      return lines.subList(Math.max(0, lines.size() - SHOWN_LINES), lines.size());
    } catch (IOException e) {
      return List.of("(none: " + e + ")");
    }
  }

  @Override
  public String toString() {
    return "Embedded PostgreSQL on port %d in %s".formatted(port, directory);
  }
}
