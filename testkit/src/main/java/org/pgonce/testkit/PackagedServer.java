package org.pgonce.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.opentest4j.TestAbortedException;

/**
 * A server from the PostgreSQL package of this machine's distribution, for tests that need its
 * client programs too: pg_dump refuses a server that is newer than itself, as the embedded one may
 * be. On a free port of loopback; as user nobody where this JVM is root. It ends with this JVM.
 */
public final class PackagedServer implements AutoCloseable {

  private static final Path PACKAGES = Path.of("/usr/lib/postgresql");
  private static final int OLDEST = 14;
  private static final String SUPERUSER = "postgres";
  private static final int BOUND_S = 120;

  private final Path bin;
  private final Path directory;
  private final int port;
  private final ServerReaper reaper;

  private PackagedServer(Path bin, Path directory, int port, ServerReaper reaper) {
    this.bin = bin;
    this.directory = directory;
    this.port = port;
    this.reaper = reaper;
  }

  /**
   * What a program has said, and its exit status.
   *
   * @param output standard output and standard error as they came
   */
  public record Result(int status, String output) {}

  /** Starts the newest that is installed; skips the test where there is none. */
  public static PackagedServer start() throws IOException {
    return start(Map.of());
  }

  /**
   * The same with other settings.
   *
   * @param settings server settings by name; they win over the defaults
   */
  public static PackagedServer start(Map<String, String> settings) throws IOException {
    var bin =
        newest()
            .orElseThrow(
                () ->
                    new TestAbortedException(
                        "skipped: no initdb and pg_dump of PostgreSQL %d or later in %s/*/bin (Debian: apt-get install postgresql)"
                            .formatted(OLDEST, PACKAGES)));
    var directory = Files.createTempDirectory("pgonce-packaged-");
    var reaper = ServerReaper.watch(directory);
    var server = new PackagedServer(bin, directory, FreePort.find(), reaper);
    try {
      server.initialise(settings);
      return server;
    } catch (IOException | RuntimeException e) {
      server.close();
      throw e;
    }
  }

  private static Optional<Path> newest() throws IOException {
    if (!Files.isDirectory(PACKAGES)) {
      return Optional.empty();
    }
    try (var versions = Files.list(PACKAGES)) {
      return versions
          .filter(version -> version.getFileName().toString().matches("\\d+"))
          .filter(version -> number(version) >= OLDEST)
          .sorted(Comparator.comparingInt(PackagedServer::number).reversed())
          .map(version -> version.resolve("bin"))
          .filter(found -> Files.isExecutable(found.resolve("initdb")))
          .filter(found -> Files.isExecutable(found.resolve("pg_dump")))
          .findFirst();
    }
  }

  private static int number(Path version) {
    return Integer.parseInt(version.getFileName().toString());
  }

  private void initialise(Map<String, String> settings) throws IOException {
    if (isRoot()) {
      // A server refuses to run as root.
      var users = FileSystems.getDefault().getUserPrincipalLookupService();
      Files.setOwner(directory, users.lookupPrincipalByName("nobody"));
    }
    var data = directory.resolve("data").toString();
    succeed(
        asServer(
            "initdb",
            "-D",
            data,
            "-U",
            SUPERUSER,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "-N"));
    var options =
        "-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=50"
            .formatted(port);
    Files.write(
        directory.resolve("data").resolve("postgresql.conf"),
        settings.entrySet().stream().map(e -> e.getKey() + " = '" + e.getValue() + "'").toList(),
        StandardOpenOption.APPEND);
    succeed(asServer("pg_ctl", "start", "-w", "-D", data, "-l", log().toString(), "-o", options));
  }

  /** What the server has logged so far; gone with the server. */
  public Path log() {
    return directory.resolve("server.log");
  }

  private static boolean isRoot() {
    return "root".equals(System.getProperty("user.name"));
  }

  private List<String> asServer(String program, String... arguments) {
    var command = new ArrayList<String>();
    if (isRoot()) {
      command.addAll(List.of("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"));
    }
    command.add(bin.resolve(program).toString());
    command.addAll(List.of(arguments));
    return command;
  }

  /** A fresh database on it. The caller closes it. */
  public TestDatabase createDatabase() {
    return new ExistingServer("127.0.0.1", port, SUPERUSER, "", "postgres").createDatabase();
  }

  /** A file for dumps, gone with the server. */
  public String file(String name) {
    return directory.resolve(name).toString();
  }

  /** Runs psql, pg_dump, pg_restore, … against this server, as its superuser. */
  public Result run(String program, String... arguments) throws IOException {
    var command = new ArrayList<String>();
    command.add(bin.resolve(program).toString());
    command.addAll(List.of(arguments));
    return run(command);
  }

  private Result run(List<String> command) throws IOException {
    // To a file: the postmaster would keep a pipe open for whoever reads it.
    var output = Files.createTempFile("pgonce-output-", ".txt");
    try {
      var builder = new ProcessBuilder(command);
      builder.directory(Path.of("/").toFile());
      var environment = builder.environment();
      environment.put("PGHOST", "127.0.0.1");
      environment.put("PGPORT", Integer.toString(port));
      environment.put("PGUSER", SUPERUSER);
      environment.put("LC_ALL", "C");
      var process = builder.redirectErrorStream(true).redirectOutput(output.toFile()).start();
      if (!process.waitFor(BOUND_S, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new IllegalStateException(command + " has not ended within " + BOUND_S + " s");
      }
      return new Result(process.exitValue(), Files.readString(output, StandardCharsets.UTF_8));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while " + command.get(0) + " ran", e);
    } finally {
      Files.deleteIfExists(output);
    }
  }

  private void succeed(List<String> command) throws IOException {
    var result = run(command);
    if (result.status() != 0) {
      throw new UncheckedIOException(new IOException(command + ": " + result.output()));
    }
  }

  @Override
  public void close() {
    reaper.close();
  }
}
