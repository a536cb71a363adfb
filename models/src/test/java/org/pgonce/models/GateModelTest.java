package org.pgonce.models;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.models.Gate.Promise.ALL_HANDLED;
import static org.pgonce.models.Gate.Promise.SOMEBODY_KNOWS;
import static org.pgonce.models.Gate.always;
import static org.pgonce.models.Gate.called;
import static org.pgonce.models.Gate.owned;

import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** What TLC says of {@code Gate.tla}: with all its rules, and with one of them switched off. */
@Tag("all")
class GateModelTest {

  private String name = "";

  @BeforeEach
  void nameTheRun(TestInfo test) {
    name = test.getTestMethod().orElseThrow().getName();
  }

  // ------------------------------------------------------------------ what holds

  @Test
  void whoeverIsLeftKnowsOfEachRow() throws Exception {
    holds(called(2, 2));
  }

  @Test
  void whoeverIsLeftKnowsOfEachRowOfTheDead() throws Exception {
    holds(called(1, 2).faults("die"));
  }

  @Test
  void eachRowIsHandledWhoeverHangs() throws Exception {
    holds(called(1, 2).faults("hang").promise(ALL_HANDLED));
  }

  @Test
  void whoOpensAgainMayKeepItsOldList() throws Exception {
    holds(called(1, 2).without("list dropped"));
  }

  @Test
  void whoOpensAgainNeedNotSettleFirst() throws Exception {
    holds(called(1, 2).without("settled first"));
  }

  @Test
  void writersNeedNotSeeThatTheWordHasRunOut() throws Exception {
    holds(called(1, 2).faults("die").without("writers see the time"));
  }

  @Test
  void whereAllReadTheWordForEverWhoeverIsLeftKnowsOfEachRowOfTheDead() throws Exception {
    holds(always(1, 2).faults("die"));
  }

  @Test
  void whereTheWordIsOwnedWhoeverIsLeftKnowsOfEachRowOfTheDead() throws Exception {
    holds(owned(1, 2).faults("die"));
  }

  @Test
  void whereTheWordIsOwnedWhoeverIsLeftKnowsOfEachRowWhenTheServerRestarts() throws Exception {
    holds(owned(1, 2).faults("restart"));
  }

  @Test
  void whereTheWordIsOwnedEachRowIsHandled() throws Exception {
    holds(owned(1, 2).promise(ALL_HANDLED));
  }

  // ---------------------------------------------------- what is stuck without a rule

  @Test
  void aRowIsStuckWhenTheCloserDoesNotLinger() throws Exception {
    stuck(called(1, 1).without("linger"), "WRead", "Close", "List", "SettleLook", "WCommit");
  }

  @Test
  void aRowIsStuckWhenTheListIsTakenBeforeTheWordIsClosed() throws Exception {
    stuck(called(1, 1).without("listed later"), "ListEarly", "WRead", "Close", "WCommit");
  }

  @Test
  void aRowIsStuckWhenTheListIsTakenAfterTheLook() throws Exception {
    stuck(called(1, 1).without("listed before the look"), "Close", "SettleLook", "WCommit", "List");
  }

  @Test
  void aRowIsStuckWhenTheListIsPrunedByALaterSnapshotThanTheLooks() throws Exception {
    stuck(
        called(1, 1).without("pruned by the look"),
        "Close",
        "List",
        "SettleLook",
        "LingerLook",
        "WCommit",
        "Prune");
  }

  @Test
  void aRowIsStuckWhenItsWriterReadsTheWordBeforeItHasAnXid() throws Exception {
    // The first WXid is the read.
    stuck(called(1, 1).without("xid first"), "WXid", "Close", "List", "WXid", "WCommit");
  }

  @Test
  void aRowIsStuckWhenTheWordIsAwakeBeforeTheCall() throws Exception {
    stuck(called(1, 2).faults("die").without("call first"), "Open", "WRead", "WCommit", "Die");
  }

  @Test
  void aRowIsStuckWhenThoseCalledStillReadClosed() throws Exception {
    stuck(called(1, 2).faults("die").without("calling"), "Call", "Watch", "SetAwake", "WRead");
  }

  @Test
  void aRowIsStuckWhenARenewalOpensWhatAnotherHasClosed() throws Exception {
    stuck(called(1, 2).faults("die").without("compared"), "Close", "Renew", "WRead", "Die");
  }

  @Test
  void aRowIsStuckWhenARenewalComparesInOneStepAndSetsInAnother() throws Exception {
    stuck(
        called(1, 2).faults("die").without("in one step"),
        "Compare",
        "Close",
        "Renew",
        "WRead",
        "Die");
  }

  @Test
  void aRowIsStuckWhenWatchersOfADeadCloserDoNotSettle() throws Exception {
    stuck(called(1, 2).faults("die").without("watchers settle"), "Close", "Die", "Watch");
  }

  @Test
  void aRowIsStuckWhenWatchersOfADeadCloserLookOnce() throws Exception {
    stuck(
        called(1, 2).faults("die").without("watchers linger"),
        "Close",
        "Die",
        "Watch",
        "SettleLook",
        "WCommit");
  }

  @Test
  void aRowIsStuckWhenNobodyTakesOverFromTheDead() throws Exception {
    stuck(called(1, 2).faults("die").without("taken over").promise(ALL_HANDLED), "SetAwake", "Die");
  }

  @Test
  void aRowIsStuckWhenTheWordOfTheHungNeverRunsOut() throws Exception {
    stuck(
        called(1, 2).faults("hang").without("expiry").promise(ALL_HANDLED),
        "SetAwake",
        "WRead",
        "WCommit");
  }

  @Test
  void noRowIsStuckWhenTheWordNeverRunsOutAndNobodyHangs() throws Exception {
    holds(called(1, 2).without("expiry").promise(ALL_HANDLED));
  }

  @Test
  void aRowIsStuckWhenNobodyWatchesTheRowsOfOthers() throws Exception {
    stuck(called(1, 2).faults("die").without("rows watched"), "Look", "Look", "Die");
  }

  @Test
  void aRowIsStuckWhenTheBusyLeaveTheLookToOthers() throws Exception {
    stuck(called(2, 2).faults("die").without("own bell"), "Close", "List", "SettleLook", "Die");
  }

  @Test
  void aRowIsStuckWhenWhoReconnectsLooksBeforeItListens() throws Exception {
    stuck(called(1, 1).faults("deaf").without("listen first"), "SettleLook", "WCommit", "Relisten");
  }

  @Test
  void aRowIsStuckWhenWhoReconnectsReadsClosedAndSleeps() throws Exception {
    stuck(
        called(1, 2).faults("die", "deaf").without("start settles"),
        "Close",
        "Die",
        "Relisten",
        "Look",
        "WCommit");
  }

  @Test
  void aRowIsStuckWhenNobodyReadsTheWordAfterARestartOfTheServer() throws Exception {
    stuck(
        called(1, 2).faults("die", "restart").without("start settles", "word read"),
        "Restart",
        "WRead",
        "Relisten",
        "WCommit");
  }

  @Test
  void whereAllReadTheWordForEverARowIsStuckWhenClosedIsTheSameAsBefore() throws Exception {
    stuck(always(1, 2).faults("die").without("closed is new"), "Open", "WRead", "Close", "Die");
  }

  @Test
  void whereAllReadTheWordForEverARowIsStuckWhenTheyDoNotSettle() throws Exception {
    stuck(always(1, 2).faults("die").without("watchers settle"), "Close", "Die", "Watch");
  }

  @Test
  void whereTheWordIsOwnedARowIsStuckWhenItsOwnerDoesNotLinger() throws Exception {
    stuck(owned(1, 1).without("linger"), "WRead", "OClose", "List", "WCommit");
  }

  @Test
  void whereTheWordIsOwnedARowIsStuckWhenAFormerOwnerSetsIt() throws Exception {
    stuck(owned(1, 2).faults("die").without("compared"), "OWatch", "WRead", "WCommit");
  }

  @Test
  void whereTheWordIsOwnedARowIsStuckWhenItsOwnerLooksAloneBeforeItCloses() throws Exception {
    stuck(owned(1, 2).faults("die").without("all rung"), "OLinger", "ODone", "Die", "OWatch");
  }

  @Test
  void whereTheWordIsOwnedARowIsStuckWhenWhoReconnectsDoesNotReadIt() throws Exception {
    stuck(owned(1, 2).faults("die", "deaf").without("word read"), "ORelisten", "WCommit");
  }

  @Test
  void whereTheWordIsOwnedARowIsStuckWhenWhoOwesLooksForAnotherDoesNotWatch() throws Exception {
    stuck(owned(2, 2).faults("stop").without("owing watch"), "WRead", "OStop", "WCommit");
  }

  @Test
  void whereTheWordIsOwnedARowIsStuckWhenItComesBackOlderThanAPreparedTransaction()
      throws Exception {
    stuck(owned(1, 2).faults("die", "restart").without("in order"), "WRead", "ORestart", "WCommit");
  }

  // ------------------------------------------------- minutes, not seconds: README.md

  @Nested
  @EnabledIfSystemProperty(named = "pgonce.models", matches = "large")
  class Large {

    @Test
    void eachRowIsHandledWhoeverHangsWhereTheWordIsOwned() throws Exception {
      holds(owned(1, 2).faults("hang").promise(ALL_HANDLED));
    }

    @Test
    void aRowIsStuckWhenNobodyTakesOverWhereTheWordIsOwned() throws Exception {
      stuck(owned(1, 2).faults("die").without("taken over").promise(ALL_HANDLED), "Die");
    }

    @Test
    void twoWritersAndDeathWhereTheWordIsOwned() throws Exception {
      holds(owned(2, 2).faults("die"));
    }

    @Test
    void twoWritersAndOneWhoStopsWhereTheWordIsOwned() throws Exception {
      holds(owned(2, 2).faults("stop"));
    }

    @Test
    void stopDeafnessFailureClockWhereTheWordIsOwned() throws Exception {
      holds(owned(1, 2).faults("stop", "deaf", "fail", "clock"));
    }

    @Test
    void deathAndRestartWhereTheWordIsOwned() throws Exception {
      holds(owned(1, 2).faults("die", "restart"));
    }

    @Test
    void threeProcessesTwoDeathsWhereTheWordIsOwned() throws Exception {
      holds(owned(1, 3).faults("die", "die"));
    }

    @Test
    void twoWritersDeathDeafnessFailure() throws Exception {
      holds(called(2, 2).faults("die", "deaf", "fail"));
    }

    @Test
    void twoWritersDeathAndRestart() throws Exception {
      holds(called(2, 2).faults("die", "restart"));
    }

    @Test
    void twoWritersTwoWorkersEachAndDeath() throws Exception {
      holds(called(2, 2).workers(2).faults("die"));
    }

    @Test
    void threeProcessesTwoDeaths() throws Exception {
      holds(called(1, 3).faults("die", "die"));
    }

    @Test
    void allFaultsOfOneWriterAndTwoDeaths() throws Exception {
      holds(called(1, 2).faults("die", "die", "deaf", "restart", "fail", "clock"));
    }

    @Test
    void eachRowIsHandledWhoeverDiesAndHangs() throws Exception {
      holds(called(1, 2).faults("die", "hang").promise(ALL_HANDLED));
    }

    @Test
    void threeProcessesTwoDeathsWhereAllReadTheWordForEver() throws Exception {
      holds(always(1, 3).faults("die", "die"));
    }

    @Test
    void allFaultsWhereAllReadTheWordForEver() throws Exception {
      holds(always(1, 2).faults("die", "deaf", "restart", "fail", "clock"));
    }

    @Test
    void eachRowIsHandledWhoeverDiesAndHangsWhereAllReadTheWordForEver() throws Exception {
      holds(always(1, 2).faults("die", "hang").promise(ALL_HANDLED));
    }
  }

  private void holds(Gate gate) throws IOException, InterruptedException {
    // To count the steps makes TLC half as slow again, most of all where it looks for endless ways.
    boolean counted = Tlc.LARGE || (gate.promise() != ALL_HANDLED && gate.off().isEmpty());
    Tlc.Outcome said = Tlc.check(name, gate, Duration.ofMinutes(15), counted);
    assertThat(said.trace()).as("the steps to a row that is stuck").isEmpty();
    assertThat(said.holds()).isTrue();
    // What takes no step promises nothing.
    if (counted) {
      assertThat(said.neverTaken()).as("steps that no behaviour takes").isEqualTo(gate.idleSteps());
    }
  }

  /** The steps must be in the trace in this order: a row shall be stuck for the reason meant. */
  private void stuck(Gate gate, String... steps) throws IOException, InterruptedException {
    Gate asked = gate.promise() == ALL_HANDLED ? gate : gate.promise(SOMEBODY_KNOWS);
    Tlc.Outcome said = Tlc.check(name, asked, Duration.ofMinutes(5), false);
    assertThat(said.holds()).isFalse();
    assertThat(said.trace()).containsSubsequence(steps);
  }
}
