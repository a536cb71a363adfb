package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.spi.ListenAddress;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A machine that has no thread to give. */
@PgTest
class ThreadShortageTest {

  private static final Duration SOON = Duration.ofSeconds(60);
  private static final Path PRLIMIT = Path.of("/usr/bin/prlimit");
  private static final Path MEMORY = Path.of("/proc/self/statm");

  /** A process of which no thread's stack fits into its address space any more. */
  static final class Starved {

    private static final long PAGE = 4_096;
    private static final long LESS_THAN_A_STACK = 256 << 20;

    private Starved() {}

    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      var address =
          new ListenAddress(
              arguments[0],
              Integer.parseInt(arguments[1]),
              arguments[2],
              arguments[3],
              System.getenv("PGPASSWORD"),
              Map.of());
      var received = new Received();
      var source = new PgjdbcSource();
      var listening = BoundedConnection.open(source, address, received, SOON);
      listening.listen(List.of("news"), SOON);
      var size = Long.parseLong(Files.readString(MEMORY).split(" ", 2)[0]) * PAGE;
      var limit =
          new ProcessBuilder(
                  PRLIMIT.toString(),
                  "--pid=" + ProcessHandle.current().pid(),
                  "--as=" + (size + LESS_THAN_A_STACK))
              .inheritIO()
              .start();
      limit.waitFor(SOON.toSeconds(), TimeUnit.SECONDS);
      takeAllThreads();
      try {
        listening.listen(List.of("more"), SOON);
      } catch (SQLException | OutOfMemoryError e) {
        System.out.println("heartbeat: " + e);
      }
      try {
        System.out.println(source.open(address, received, SOON));
      } catch (Throwable e) {
        System.out.println("open: " + e);
      }
      try {
        listening.close();
      } catch (Throwable e) {
        System.out.println("close: " + e);
      }
      System.out.println("done");
      new CountDownLatch(1).await(); // until it is killed
    }

    private static void takeAllThreads() {
      var never = new CountDownLatch(1);
      try {
        while (true) {
          Threads.daemon(
                  "taken",
                  () -> {
                    try {
                      never.await();
                    } catch (InterruptedException e) {
                      Thread.currentThread().interrupt();
                    }
                  })
              .start();
        }
      } catch (OutOfMemoryError noThread) {
        System.out.println("no thread is left");
      }
    }
  }

  @Test
  void h45_aShortageOfThreadsLeavesNoSessionThatListens(TestDatabase database) throws Exception {
    assumeTrue(Files.exists(PRLIMIT) && Files.exists(MEMORY), "no prlimit on this machine");
    try (var starved =
        JvmProcess.of(Starved.class)
            .options("-Xss512m")
            .environment("PGPASSWORD", database.password())
            .arguments(
                database.host(),
                Integer.toString(database.port()),
                database.name(),
                database.user())
            .start()) {
      starved.awaitLine("done", SOON);
      assertThat(starved.lines())
          .anyMatch(
              line ->
                  line.startsWith("heartbeat: java.sql.SQLException: ") && line.contains("thread"))
          .anyMatch(line -> line.startsWith("open: ") && line.contains("thread"))
          .noneMatch(line -> line.startsWith("close: "));
      assertThat(starved.isAlive()).isTrue();
      Leaks.awaitNoBackend(database);
    }
  }
}
