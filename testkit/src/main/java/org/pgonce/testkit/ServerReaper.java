package org.pgonce.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * A shell process that outlives this JVM by a moment: when the pipe between them closes, it ends
 * the server and removes its directory.
 *
 * <p>The kernel closes that pipe however the JVM ends, SIGKILL included. It is also the only way in
 * which an embedded server is stopped for good, so that every test run exercises it.
 */
final class ServerReaper implements AutoCloseable {

  private static final int BOUND_S = 30;

  private final Process shell;

  private ServerReaper(Process shell) {
    this.shell = shell;
  }

  /** Watches over the server in the given directory, which need not be started yet. */
  static ServerReaper watch(Path directory) throws IOException {
    // Its output must not be the JVM's: whoever reads that (a build, a test) would wait for this
    // shell as well.
    var shell =
        new ProcessBuilder("/bin/sh", "-c", script(), "pgonce-reap-server", directory.toString())
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    return new ServerReaper(shell);
  }

  private static String script() throws IOException {
    try (var in = ServerReaper.class.getResourceAsStream("reap-server.sh")) {
      if (in == null) {
        throw new IOException(
            "reap-server.sh is missing from the class path beside " + ServerReaper.class.getName());
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  /** Has the server ended and its directory removed; waits for that, at most 30 s. */
  @Override
  public void close() {
    try {
      try (var pipe = shell.outputWriter()) {
        pipe.write("stop\n");
      }
      if (!shell.waitFor(BOUND_S, TimeUnit.SECONDS)) {
        throw new IllegalStateException(
            "The embedded server has not ended within %d s; its reaper is process %d"
                .formatted(BOUND_S, shell.pid()));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(
          "Cannot tell the reaper, process %d, to end the embedded server".formatted(shell.pid()),
          e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the reaper goes on by itself
    }
  }
}
