package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.JvmProcess;

/** However a run ends, its listeners and its server end with it. */
@Tag("all")
class NoOrphanTest {

  private static final String[] LONG_RUN = {
    "--rows", "100000", "--rate", "100", "--processes", "2", "--kills", "0"
  };

  @Test
  void ctrlC() throws Exception {
    assumeInterruptIsHeard();
    try (var run = ExampleRun.start(LONG_RUN)) {
      var all = processesOf(run);
      interrupt(atTheTerminal(run));
      assertThat(run.process().awaitExit(ExampleRun.BOUND)).isEqualTo(128 + 2);
      awaitGone(all);
      run.assertNothingUncaught();
      assertThat(run.process().lines()).noneMatch(line -> line.startsWith("cannot run"));
    }
  }

  @Test
  void sigterm() throws Exception {
    try (var run = ExampleRun.start(LONG_RUN)) {
      var all = processesOf(run);
      run.process().sigterm();
      assertThat(run.process().awaitExit(ExampleRun.BOUND)).isEqualTo(128 + 15);
      awaitGone(all);
      run.assertNothingUncaught();
    }
  }

  @Test
  void sigkill() throws Exception {
    try (var run = ExampleRun.start(LONG_RUN)) {
      var all = processesOf(run);
      run.process().kill9();
      awaitGone(all);
    }
  }

  @Test
  void ctrlCLeavesNoDatabaseOnAnOwnServer() throws Exception {
    assumeInterruptIsHeard();
    try (var run = ExampleRun.startOnSharedServer(LONG_RUN)) {
      run.awaitLine("at work");
      interrupt(atTheTerminal(run));
      assertThat(run.process().awaitExit(ExampleRun.BOUND)).isEqualTo(128 + 2);
      ListenerExampleTest.awaitNoOwnDatabase();
      run.assertNothingUncaught();
    }
  }

  private static void assumeInterruptIsHeard() {
    assumeFalse(
        JvmProcess.interruptIsIgnored(), "skipped: this build was started with SIGINT ignored");
  }

  /** A terminal's Ctrl-C goes to the whole process group; the embedded server is in its own. */
  private static List<Long> atTheTerminal(ExampleRun run) {
    var pids = new ArrayList<>(List.of(run.process().pid()));
    ProcessHandle.of(run.process().pid()).stream()
        .flatMap(ProcessHandle::descendants)
        .map(ProcessHandle::pid)
        .forEach(pids::add);
    return pids;
  }

  /** Runner, listeners, the server and its reaper. */
  private static List<Long> processesOf(ExampleRun run) throws InterruptedException {
    var server = run.awaitLine("embedded, port");
    run.awaitLine("2 at work");
    var all = atTheTerminal(run);
    all.add(Long.parseLong(server.substring(server.lastIndexOf(' ') + 1)));
    assertThat(all).hasSizeGreaterThanOrEqualTo(4).noneMatch(NoOrphanTest::isGone);
    return all;
  }

  private static void awaitGone(List<Long> pids) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(
            () -> assertThat(pids).as("processes that are left").allMatch(NoOrphanTest::isGone));
  }

  private static void interrupt(List<Long> pids) throws Exception {
    var all = pids.stream().map(String::valueOf).collect(Collectors.joining(" "));
    var kill = new ProcessBuilder("/bin/sh", "-c", "kill -INT " + all).start();
    assertThat(kill.waitFor()).isZero();
  }

  /** True of a zombie as well: process 1 of a container may reap no orphans. */
  private static boolean isGone(long pid) {
    try {
      var status = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
      return status.charAt(status.lastIndexOf(')') + 2) == 'Z';
    } catch (IOException noSuchProcess) {
      return ProcessHandle.of(pid).isEmpty();
    }
  }
}
