package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.example.run.ExitStatus;

/** The scenarios of who is up and who is not, each in its short form. */
class AudienceAndDowntimeScenariosTest {

  @Test
  @Tag("all")
  void s02_inBroadcastEveryProcessThatIsUpHearsEveryAuthorOnce() throws Exception {
    try (var run =
        ExampleRun.startOnSharedServer(
            "--mode", "broadcast", "--rows", "200", "--processes", "3", "--kills", "1")) {
      assertThat(ExampleRun.figures(run.awaitStatus(ExitStatus.KEPT)))
          .containsEntry("authors", 200L)
          .containsEntry("up throughout", 2L)
          .containsEntry("lost", 0L)
          .containsEntry("duplicates", 0L)
          .containsEntry("kills", 1L);
    }
  }

  @Test
  @Tag("all")
  void s02_threeProcessesThreeCallsNoneUpNoCall() throws Exception {
    try (var run = ExampleRun.startOnSharedServer("audience", "--processes", "3")) {
      assertThat(ExampleRun.figures(run.awaitStatus(ExitStatus.KEPT)))
          .containsEntry("all up", 3L)
          .containsEntry("none up", 0L);
    }
  }

  @Test
  @Tag("all")
  void s03_whatArrivedWhileNobodyListenedIsHandledAfterTheStart() throws Exception {
    try (var run =
        ExampleRun.startOnSharedServer("downtime", "--rows", "300", "--processes", "2")) {
      var lines = run.awaitStatus(ExitStatus.KEPT);
      assertThat(lines).contains("meanwhile    300 authors inserted, 0 posts written");
      assertThat(ExampleRun.figures(lines))
          .containsEntry("lost", 0L)
          .containsEntry("duplicates", 0L);
    }
  }

  @Test
  @Tag("all")
  void h70_afterACrashOfTheServerTheWorkGoesOnByItself() throws Exception {
    // The time that is promised is measured where nothing else runs; here builds may.
    try (var run =
        ExampleRun.start("restart", "--rows", "1500", "--processes", "2", "--within", "10000")) {
      var lines = run.awaitStatus(ExitStatus.KEPT);
      assertThat(lines).anyMatch(line -> line.matches("went on +first post -?\\d+ ms after .*"));
      assertThat(ExampleRun.figures(lines))
          .containsEntry("lost", 0L)
          .containsEntry("duplicates", 0L);
    }
  }
}
