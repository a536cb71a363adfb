package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.example.run.ExitStatus;

/** S10 and S12 to S15 as a user runs them. */
@Tag("all")
class BatchAndCampaignScenariosTest {

  private static void assertKept(String command, String promise) throws Exception {
    try (var run = ExampleRun.startOnSharedServer(command)) {
      assertThat(run.awaitStatus(ExitStatus.KEPT)).contains("kept: " + promise);
    }
  }

  @Test
  void s10_oneOfABatchFailsAndTheOthersAreDelivered() throws Exception {
    assertKept(
        "s10-batch", "the others of the batch are delivered, the failing one alone is tried again");
  }

  @Test
  @Tag("all")
  void s12_buildingACampaignAgainAddsNothing() throws Exception {
    assertKept("s12-delivery-key", "building a campaign again adds nothing");
  }

  @Test
  void s13_ofTwoTicksAtOnceOneWins() throws Exception {
    assertKept("s13-transition", "of two ticks at once one wins");
  }

  @Test
  @Tag("all")
  void s14_whoOptsOutBeforeTheMailGetsNone() throws Exception {
    assertKept("s14-opt-out", "who opts out before the mail is sent gets none");
  }

  @Test
  @Tag("all")
  void s15_anOutagePausesTheChannelUntilItIsResumed() throws Exception {
    assertKept(
        "s15-service-down", "an outage pauses the channel until it is resumed, and costs nothing");
  }
}
