package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.example.run.ExitStatus;

/** S4 to S9 as a user runs them. */
@Tag("all")
class DelayAndGuardScenariosTest {

  private static void assertKept(String command, String promise) throws Exception {
    try (var run = ExampleRun.startOnSharedServer(command)) {
      assertThat(run.awaitStatus(ExitStatus.KEPT)).contains("kept: " + promise);
    }
  }

  @Test
  void s04_aMailComesOnceAfterItsDelayThoughTheWorkerWasDown() throws Exception {
    assertKept("s04-delayed-mail", "one mail per sign-up, none before its time, none twice");
  }

  @Test
  @Tag("all")
  void s05_aReminderWaitsForItsTimeHoweverFarOff() throws Exception {
    assertKept("s05-any-delay", "each reminder waits for its time, none comes early");
  }

  @Test
  void s06_aPaymentIsMadeOnceAndWhatIsUnknownIsSettledByAsking() throws Exception {
    assertKept(
        "s06-payment-guard",
        "one charge per order, and none is made again while its outcome is unknown");
  }

  @Test
  @Tag("all")
  void s07_aRepeatGetsTheFirstAnswer() throws Exception {
    assertKept(
        "s07-stored-response",
        "a repeat gets the first answer, another request under its key an error");
  }

  @Test
  @Tag("all")
  void s08_completedStepsAreNotDoneAgainAfterAKill() throws Exception {
    assertKept("s08-recovery-points", "no step that was completed is done again");
  }

  @Test
  @Tag("all")
  void s09_anOverdueTodoHasOneEffectThoughManySweep() throws Exception {
    assertKept("s09-overdue-sweep", "one effect per overdue to-do");
  }
}
