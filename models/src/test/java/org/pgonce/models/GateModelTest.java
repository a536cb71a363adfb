package org.pgonce.models;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** What TLC says of {@code Gate.tla}, with all its rules and without one of them. */
@Tag("all")
class GateModelTest {

  private String name = "";

  @BeforeEach
  void nameTheRun(TestInfo test) {
    name = test.getTestMethod().orElseThrow().getName();
  }

  private static Tlc model(int writers, int processes) {
    return new Tlc(writers, processes);
  }

  @Test
  void eachRowIsHandledAtMostOnce() throws Exception {
    holds(model(2, 2).faults(1).invariant("AtMostOnce"));
  }

  @Test
  void eachRowIsHandledWhoeverDiesOrStops() throws Exception {
    holds(model(1, 2).faults(1).property("Handled"));
  }

  @Test
  void aGateThatSaysThatNobodyListensIsMended() throws Exception {
    holds(model(1, 2).faults(2).property("Mended"));
  }

  @Test
  void aRowThatIsCommittedBeforeTheClosingDoesNotWaitForThePoll() throws Exception {
    holds(model(2, 2).invariant("InTime"));
  }

  /** While the gate is open, claims come by themselves. */
  @Test
  void noRowWaitsLongerWithoutTheClaimBehindOpening() throws Exception {
    holds(model(2, 2).invariant("InTime").without("claim behind opening"));
  }

  @Test
  void aRowWaitsForThePollWhereTheLastClaimComesBeforeTheClosing() throws Exception {
    refuted(
        model(1, 1).invariant("InTime").without("claim behind closing"),
        "ClaimClosed",
        "Commit",
        "Close");
  }

  @Test
  void withoutThePollTheRowOfALateWriterIsLost() throws Exception {
    refuted(
        model(1, 1).property("Handled").without("poll"), "Read", "Close", "ClaimClosed", "Commit");
  }

  @Test
  void withoutThePollARowIsLostWhoseListenerDies() throws Exception {
    // It may die before the writer reads the gate, which stays open for a while.
    assertThat(model(1, 2).faults(1).property("Handled").without("poll").refutation(name))
        .containsSubsequence("SetOpen", "Read", "Commit")
        .contains("Die");
  }

  @Test
  void withoutThePollAListenerMayNeverBeNotified() throws Exception {
    refuted(model(1, 2).faults(2).property("Mended").without("mended"), "Stop", "Start", "Leave");
  }

  @Test
  void rowsThatAreNotLockedAreHandledTwice() throws Exception {
    refuted(model(1, 2).invariant("AtMostOnce").without("rows locked"), "Handle", "Handle");
  }

  @Test
  void twoMayHaveTheGateOpen() throws Exception {
    refuted(model(1, 2).invariant("OneOpens"), "Open", "Open", "SetOpen", "SetOpen");
  }

  private void holds(Tlc model) throws Exception {
    assertThat(model.refutation(name)).as("the steps to the violation").isEmpty();
  }

  /** The steps must be among those to the violation, in this order: for the reason meant. */
  private void refuted(Tlc model, String... steps) throws Exception {
    assertThat(model.refutation(name)).containsSubsequence(steps);
  }
}
