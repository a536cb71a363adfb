package org.pgonce.internal.listen;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.TestDatabase;

/** A PgBouncer of the test's own, on loopback, in front of the test server. */
final class PgBouncer implements AutoCloseable {

  private static final Path BINARY = Path.of("/usr/sbin/pgbouncer");

  private final Path directory;
  private final int port;
  private final Process process;

  private PgBouncer(Path directory, int port, Process process) {
    this.directory = directory;
    this.port = port;
    this.process = process;
  }

  /** Starts one in the given pool mode; skips the test where PgBouncer is not installed. */
  static PgBouncer start(TestDatabase database, String poolMode) throws IOException {
    Assumptions.assumeTrue(
        Files.isExecutable(BINARY),
        "skipped: no PgBouncer at " + BINARY + " (Debian: apt-get install pgbouncer)");
    var directory = Files.createTempDirectory("pgonce-pgbouncer-");
    int port = freePort();
    var ini = directory.resolve("pgbouncer.ini");
    Files.writeString(ini, configuration(database, poolMode, port));
    openToTheUserItDropsTo(directory, ini);
    var process =
        new ProcessBuilder(BINARY.toString(), ini.toString())
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("log").toFile())
            .start();
    var bouncer = new PgBouncer(directory, port, process);
    try {
      bouncer.awaitAccepting();
      return bouncer;
    } catch (RuntimeException e) {
      bouncer.close();
      throw e;
    }
  }

  private static String configuration(TestDatabase database, String poolMode, int port) {
    // It refuses to run as root, and drops to the named user by itself.
    var dropTo = "root".equals(System.getProperty("user.name")) ? "user = nobody\n" : "";
    return """
        [databases]
        * = host=%s port=%d user=%s
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = %d
        unix_socket_dir =
        auth_type = any
        pool_mode = %s
        %s"""
        .formatted(database.host(), database.port(), database.user(), port, poolMode, dropTo);
  }

  private static void openToTheUserItDropsTo(Path directory, Path ini) {
    if (!directory.toFile().setExecutable(true, false)
        || !directory.toFile().setReadable(true, false)
        || !ini.toFile().setReadable(true, false)) {
      throw new IllegalStateException("cannot make " + directory + " readable");
    }
  }

  private static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private void awaitAccepting() {
    await("PgBouncer on port " + port)
        .atMost(Duration.ofSeconds(10))
        .until(
            () -> {
              if (!process.isAlive()) {
                throw new IllegalStateException(
                    "PgBouncer ended: " + Files.readString(directory.resolve("log")));
              }
              try (var socket = new Socket()) {
                socket.connect(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1_000);
                return true;
              } catch (IOException e) {
                return false; // not yet
              }
            });
  }

  Login login(TestDatabase database) {
    var direct = database.login();
    return new Login("127.0.0.1", port, direct.database(), direct.user(), direct.password());
  }

  @Override
  public void close() {
    process.destroyForcibly();
    try {
      process.waitFor(10, TimeUnit.SECONDS);
      try (var files = Files.walk(directory)) {
        for (var file : List.copyOf(files.sorted(Comparator.reverseOrder()).toList())) {
          Files.deleteIfExists(file);
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException("cannot remove " + directory, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
