package org.pgonce.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("all")
class ServerReaperTest {

  private static final Duration BOUND = Duration.ofSeconds(30);

  /** Starts a server and says where it is. */
  static final class ServerOwner {
    public static void main(String[] args) throws Exception {
      ParentWatch.exitWhenParentDies();
      try (var server = TestServer.start();
          var connection = server.createDatabase().dataSource().getConnection();
          var directory = connection.createStatement().executeQuery("SHOW data_directory")) {
        directory.next();
        System.out.println("pid " + server.postmasterPid());
        System.out.println("data " + directory.getString(1));
        if (args[0].equals("stay")) {
          Thread.currentThread().join();
        }
        System.exit(0); // with everything open
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"KILL", "TERM", "INT"})
  void theServerGoesWithAJvmThatIsKilled(String signal) throws Exception {
    assumeFalse(
        signal.equals("INT") && JvmProcess.interruptIsIgnored(),
        "skipped: this build was started with SIGINT ignored");
    try (var owner = JvmProcess.start(ServerOwner.class, "stay")) {
      var pid = Long.parseLong(owner.awaitLine("pid ", BOUND).substring(4));
      var data = Path.of(owner.awaitLine("data ", BOUND).substring(5));
      assertThat(ProcessHandle.of(pid)).isPresent();
      Signal.valueOf(signal).send(owner.pid());
      awaitNothingLeft(pid, data);
    }
  }

  @Test
  void theServerIsGoneWhenTheJvmHasExited() throws Exception {
    try (var owner = JvmProcess.start(ServerOwner.class, "exit")) {
      var pid = Long.parseLong(owner.awaitLine("pid ", BOUND).substring(4));
      var data = Path.of(owner.awaitLine("data ", BOUND).substring(5));
      assertThat(owner.awaitExit(BOUND)).isZero();
      assertThat(data.getParent()).doesNotExist();
      awaitNothingLeft(pid, data); // the postmaster removes its pid file just before it ends
    }
  }

  private static void awaitNothingLeft(long pid, Path data) {
    Awaitility.await()
        .atMost(BOUND)
        .until(() -> Postmaster.isGone(pid) && !Files.exists(data.getParent()));
  }
}
