package org.pgonce.testkit;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * PostgreSQL from the binaries on the class path, in a directory of its own under the system's
 * temporary directory.
 */
final class EmbeddedServer implements TestServer {

  private static final int PORTS_TO_TRY = 5;
  private static final Duration START_BOUND = Duration.ofSeconds(60);

  private final Path directory;
  private final int port;
  private final Map<String, String> settings;
  private final boolean shared;
  private final ServerReaper reaper;
  private final AtomicBoolean closed = new AtomicBoolean();
  private volatile boolean running;

  private EmbeddedServer(Path directory, int port, Map<String, String> settings, boolean shared)
      throws IOException {
    this.directory = directory;
    this.port = port;
    this.settings = settings;
    this.shared = shared;
    this.reaper =
        ServerReaper.watch(directory); // before the server exists, so that no moment is unwatched
  }

  static EmbeddedServer start(Map<String, String> settings, boolean shared) {
    var all = new TreeMap<>(ServerSettings.DEFAULTS);
    // No socket file in /tmp that a killed server leaves behind.
    all.put("unix_socket_directories", "");
    all.putAll(settings);
    for (var attempt = 1; ; attempt++) {
      try {
        var server =
            new EmbeddedServer(
                Files.createTempDirectory("pgonce-pg-"), FreePort.find(), all, shared);
        try {
          server.startPostmaster();
        } catch (Exception e) {
          server.stop();
          throw e;
        }
        Runtime.getRuntime().addShutdownHook(new Thread(server::stop, "pgonce-test-server-stop"));
        return server;
      } catch (IOException | IllegalStateException e) {
        if (attempt == PORTS_TO_TRY) {
          throw new IllegalStateException(
              "No embedded PostgreSQL started in %d attempts. As root it needs a working `unshare -U`; else run as another user, or set pgonce.test.server."
                  .formatted(attempt),
              e);
        }
      }
    }
  }

  private void startPostmaster() throws IOException {
    var log = ProcessBuilder.Redirect.appendTo(directory.resolve("server.log").toFile());
    // A start after a crash meets the lock that the start before it took in this JVM; a new file is
    // a new lock.
    Files.deleteIfExists(data().resolve("epg-lock"));
    var builder =
        EmbeddedPostgres.builder()
            .setDataDirectory(data())
            .setCleanDataDirectory(false)
            .setRegisterShutdownHook(false) // the reaper stops it
            .setPort(port)
            .setDataDirectoryCustomizer(ClientAuthentication::writeTo)
            .setLocaleConfig("locale", "C") // messages in English, one sort order everywhere
            .setOutputRedirector(log)
            .setErrorRedirector(log)
            .setPGStartupWait(START_BOUND);
    settings.forEach(builder::setServerConfig);
    builder.start();
    checkItIsOurs();
    running = true;
  }

  /** Another server may have taken the port first, and would have answered in place of ours. */
  private void checkItIsOurs() throws IOException {
    try (var connection = DriverManager.getConnection(jdbcUrl(), user(), password());
        var statement = connection.createStatement();
        var row = statement.executeQuery("SHOW data_directory")) {
      row.next();
      if (!Path.of(row.getString(1)).equals(data())) {
        throw new IllegalStateException("Another PostgreSQL answers on port " + port);
      }
    } catch (SQLException e) {
      throw new IOException(
          "The embedded PostgreSQL on port %d started but does not answer".formatted(port), e);
    }
  }

  @Override
  public String host() {
    return "127.0.0.1";
  }

  @Override
  public int port() {
    return port;
  }

  @Override
  public String user() {
    return "postgres";
  }

  @Override
  public String password() {
    return "";
  }

  @Override
  public String database() {
    return "postgres";
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  private Path data() {
    return directory.resolve("data");
  }

  private Postmaster postmaster() {
    return Postmaster.of(data());
  }

  @Override
  public long postmasterPid() {
    return postmaster().pid();
  }

  @Override
  public void stopImmediately() {
    running = false;
    postmaster().stopImmediately();
  }

  @Override
  public void killPostmaster() {
    running = false;
    postmaster().killWithChildren();
  }

  @Override
  public void restart() {
    if (running) {
      throw new IllegalStateException(
          "The embedded PostgreSQL on port %d runs: stop or kill it first".formatted(port));
    }
    try {
      startPostmaster();
    } catch (IOException e) {
      throw new IllegalStateException(
          "The embedded PostgreSQL on port %d did not start again".formatted(port), e);
    }
  }

  @Override
  public void close() {
    if (!shared) {
      stop();
    }
  }

  private void stop() {
    if (!closed.getAndSet(true)) {
      running = false;
      reaper.close();
    }
  }

  @Override
  public String toString() {
    return "embedded PostgreSQL in " + directory + " on port " + port;
  }
}
