package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.example.run.ExitStatus;

/** The mail campaign, small. */
@Tag("all")
class CampaignTest {

  private static final Duration BOUND = Duration.ofMinutes(4);

  @Test
  void s11_campaignSurvivesKill9() throws Exception {
    try (var run =
        ExampleRun.startOnSharedServer(
            "s11-campaign", "--recipients", "2000", "--concurrency", "2", "--outage", "1000")) {
      // Processes are started throughout, which takes its time where builds run beside.
      run.process().awaitExit(BOUND);
      var lines = run.awaitStatus(ExitStatus.KEPT);
      assertThat(lines)
          .contains("kept: every recipient who had not opted out has exactly one mail")
          .anyMatch(line -> line.matches("paused +by listener-.*: the mail service is down .*"))
          .anyMatch(line -> line.matches("kills +[1-9][0-9,]*  .*"))
          .anyMatch(line -> line.matches("opted out +[1-9][0-9,]*  .*"))
          .anyMatch(line -> line.matches("lots +100  0 added by building .*"));
    }
  }
}
