package org.pgonce.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;

/** The postmaster of a data directory on this machine, as its {@code postmaster.pid} names it. */
record Postmaster(Path pidFile, long pid) {

  // PostgreSQL itself kills children that ignore an immediate shutdown after 5 s.
  private static final Duration BOUND = Duration.ofSeconds(20);

  static Postmaster of(Path data) {
    var pidFile = data.resolve("postmaster.pid");
    try (var lines = Files.lines(pidFile)) {
      return new Postmaster(pidFile, Long.parseLong(lines.findFirst().orElseThrow().strip()));
    } catch (IOException e) {
      throw new IllegalStateException(
          "No embedded PostgreSQL runs in " + data + ": start it first", e);
    }
  }

  void stopImmediately() {
    var children = children();
    Signal.QUIT.send(pid);
    awaitGone(children);
  }

  void killWithChildren() {
    // Stopped first, so that it forks no child that the list would miss.
    Signal.STOP.send(pid);
    var children = children();
    Signal.KILL.send(pid);
    children.forEach(Signal.KILL::send);
    awaitGone(children);
    removePidFile();
  }

  List<Long> children() {
    return ProcessHandle.of(pid).stream()
        .flatMap(ProcessHandle::children)
        .map(ProcessHandle::pid)
        .toList();
  }

  private void awaitGone(List<Long> children) {
    Awaitility.await("end of postmaster " + pid)
        .atMost(BOUND)
        .pollInterval(Duration.ofMillis(10))
        .until(() -> isGone(pid) && children.stream().allMatch(Postmaster::isGone));
  }

  /** True of a zombie as well: where process 1 reaps no orphans, a dead postmaster stays one. */
  static boolean isGone(long pid) {
    if (ProcessHandle.of(pid).isEmpty()) {
      return true;
    }
    try {
      var status = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
      return status.charAt(status.lastIndexOf(')') + 2) == 'Z';
    } catch (IOException noProcOrJustGone) {
      return ProcessHandle.of(pid).isEmpty();
    }
  }

  /**
   * PostgreSQL takes the pid of a zombie, or of a process that came after it, for a server that
   * still runs, and would refuse to start.
   */
  private void removePidFile() {
    try {
      Files.deleteIfExists(pidFile);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot remove " + pidFile + " of the killed server", e);
    }
  }
}
