package org.pgonce.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A server of this JVM's own, in a directory under the system's temporary directory; the shared one
 * in memory, where the system has a file system for that.
 */
final class EmbeddedServer implements TestServer {

  private static final String PREFIX = "pgonce-pg-";
  private static final Path MEMORY = Path.of("/dev/shm");
  private static final long ENOUGH_MEMORY_BYTES = 4L << 30; // containers have 64 MB

  private static final int ATTEMPTS = 2;

  private static final Set<EmbeddedServer> OPEN = ConcurrentHashMap.newKeySet();

  static {
    // Their reapers would do it as well, but a moment after this JVM has ended.
    var stop = new Thread(() -> OPEN.forEach(EmbeddedServer::stop), "pgonce-test-servers-stop");
    Runtime.getRuntime().addShutdownHook(stop);
  }

  private final EmbeddedCluster cluster;
  private final ServerReaper reaper;
  private final boolean shared;
  private volatile boolean running;

  private EmbeddedServer(EmbeddedCluster cluster, ServerReaper reaper, boolean shared) {
    this.cluster = cluster;
    this.reaper = reaper;
    this.shared = shared;
  }

  /** Another process may take the port, or the system be out of something, for a moment. */
  static EmbeddedServer start(Map<String, String> settings, boolean shared) {
    for (var attempt = 1; ; attempt++) {
      try {
        return startOnce(settings, shared);
      } catch (IllegalStateException e) {
        if (attempt == ATTEMPTS) {
          throw e;
        }
        System.err.printf("Attempt %d of %d: %s%n", attempt, ATTEMPTS, e);
        e.printStackTrace();
      }
    }
  }

  private static EmbeddedServer startOnce(Map<String, String> settings, boolean shared) {
    var all = new TreeMap<>(ServerSettings.DEFAULTS);
    all.put("unix_socket_directories", ""); // a killed server would leave its socket behind in /tmp
    all.putAll(settings);
    try {
      var server = watched(all, shared);
      server.startOrStop();
      return server;
    } catch (IOException e) {
      throw noDirectory(e);
    }
  }

  private static EmbeddedServer watched(Map<String, String> settings, boolean shared)
      throws IOException {
    var directory = directory(shared);
    // The reaper comes first, so that no moment of the server is unwatched.
    var reaper = ServerReaper.watch(directory);
    var cluster = new EmbeddedCluster(directory, FreePort.find(), settings);
    var server = new EmbeddedServer(cluster, reaper, shared);
    OPEN.add(server);
    return server;
  }

  private static UncheckedIOException noDirectory(IOException e) {
    return new UncheckedIOException(
        "An embedded PostgreSQL needs /bin/sh and a directory under "
            + System.getProperty("java.io.tmpdir"),
        e);
  }

  /**
   * The tests make and drop hundreds of databases of three hundred files each. That is work for a
   * disk's file system even where nobody waits for the disk: ext4 without a journal looks at every
   * inode that was freed in the last seconds before it gives out the next.
   */
  private static Path directory(boolean shared) throws IOException {
    return shared
            && Files.isWritable(MEMORY)
            && MEMORY.toFile().getUsableSpace() >= ENOUGH_MEMORY_BYTES
        ? Files.createTempDirectory(MEMORY, PREFIX)
        : Files.createTempDirectory(PREFIX);
  }

  private void startOrStop() {
    try {
      cluster.start();
      running = true;
    } finally {
      if (!running) {
        stop();
      }
    }
  }

  @Override
  public String host() {
    return EmbeddedCluster.HOST;
  }

  @Override
  public int port() {
    return cluster.port();
  }

  @Override
  public String user() {
    return EmbeddedCluster.SUPERUSER;
  }

  @Override
  public String password() {
    return "";
  }

  @Override
  public String database() {
    return EmbeddedCluster.DATABASE;
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  @Override
  public long postmasterPid() {
    return cluster.postmaster().pid();
  }

  @Override
  public void stopImmediately() {
    running = false;
    cluster.postmaster().stopImmediately();
  }

  @Override
  public void killPostmaster() {
    running = false;
    cluster.postmaster().killWithChildren();
  }

  @Override
  public void restart() {
    if (running) {
      throw new IllegalStateException("%s runs: stop or kill it first".formatted(this));
    }
    cluster.start();
    running = true;
  }

  @Override
  public TestServer standby() {
    try {
      var standby = watched(cluster.settings(), false);
      try {
        StandbyData.copy(cluster, standby.cluster.data());
      } catch (IOException | SQLException | RuntimeException e) {
        standby.stop();
        throw new IllegalStateException("No standby of " + this, e);
      }
      standby.startOrStop();
      return standby;
    } catch (IOException e) {
      throw noDirectory(e);
    }
  }

  @Override
  public void close() {
    if (!shared) {
      stop();
    }
  }

  private void stop() {
    if (OPEN.remove(this)) {
      running = false;
      reaper.close();
    }
  }

  @Override
  public String toString() {
    return cluster.toString();
  }
}
