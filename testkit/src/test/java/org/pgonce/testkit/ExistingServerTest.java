package org.pgonce.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

class ExistingServerTest {

  /** Does what tests do. */
  static final class Tests {
    public static void main(String[] args) throws Exception {
      try (var database = TestServer.shared().createDatabase()) {
        System.out.println("port " + database.queryLong("SELECT inet_server_port()"));
      }
      try (var server = TestServer.start()) {
        System.out.println("started " + server);
      } catch (TestAbortedException e) {
        System.out.println(e.getMessage());
      }
    }
  }

  @Test
  void aUrlNamesTheServerAndTestsThatWouldKillItAreSkipped() throws Exception {
    try (var server = TestServer.start();
        var tests =
            JvmProcess.of(Tests.class)
                .property("pgonce.test.server", server.jdbcUrl() + "?user=" + server.user())
                .start()) {
      assertThat(tests.awaitExit(Duration.ofSeconds(30))).isZero();
      assertThat(tests.lines())
          .contains("port " + server.port())
          .anyMatch(line -> line.startsWith("Skipped: needs a server of its own"));
    }
  }
}
