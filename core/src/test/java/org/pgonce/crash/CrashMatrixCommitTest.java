package org.pgonce.crash;

import static org.pgonce.crash.CrashEffects.BOUND;
import static org.pgonce.crash.CrashEffects.LONG_LEASE;
import static org.pgonce.crash.CrashEffects.OPTIONS;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.Trap;

/**
 * The crash matrix where the outcome of a COMMIT is not known to the one who asked for it: cut
 * before it came to the server, cut after, and hanging. EXACTLY_ONCE commits no claim, BROADCAST
 * neither a claim nor an end (CostTest counts that).
 */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class CrashMatrixCommitTest {

  private static final String CLAIM = "pgonce.lease(";
  private static final String NEW_GONE = "DELETE FROM pgonce.notification";
  private static final String LEASED_GONE = "DELETE FROM pgonce.scheduled";

  private static final ListenOptions LONG = OPTIONS.withLease(LONG_LEASE);

  private enum Fault {
    CUT_BEFORE,
    CUT_AFTER,
    HANGING;

    Trap set(FaultProxy proxy, String before) {
      var traps = proxy.after(before);
      return switch (this) {
        case CUT_BEFORE -> traps.cutBeforeForwarding("COMMIT");
        case CUT_AFTER -> traps.cutAfterForwarding("COMMIT");
        case HANGING -> traps.holdAnswerTo("COMMIT");
      };
    }
  }

  // Outcome of the claim's commit unknown.

  @Test
  void h50_atMostOnce_aClaimWhoseCommitIsCutBeforeIsNotRunAndRunsOnceByAnother(
      TestDatabase database) throws Exception {
    claimCut(Fault.CUT_BEFORE, Mode.AT_MOST_ONCE, database);
  }

  @Test
  void h50_atMostOnce_aClaimWhoseCommitIsCutAfterIsNotRunAndRunsOnceByAnother(TestDatabase database)
      throws Exception {
    claimCut(Fault.CUT_AFTER, Mode.AT_MOST_ONCE, database);
  }

  @Test
  void h50_atLeastOnce_aClaimWhoseCommitIsCutBeforeRunsOnce(TestDatabase database)
      throws Exception {
    claimCut(Fault.CUT_BEFORE, Mode.AT_LEAST_ONCE, database);
  }

  @Test
  void h50_atLeastOnce_aClaimWhoseCommitIsCutAfterRunsOnce(TestDatabase database) throws Exception {
    claimCut(Fault.CUT_AFTER, Mode.AT_LEAST_ONCE, database);
  }

  private static void claimCut(Fault fault, Mode mode, TestDatabase database) throws Exception {
    try (var stage = new CrashStage(database, mode);
        var proxy = FaultProxy.to(database)) {
      stage.publish(1); // before the start, so that the first claim finds it
      var commit = fault.set(proxy, CLAIM);
      stage.through(proxy, LONG, true);
      commit.awaitSprung(BOUND);
      stage.awaitEnd();
      stage.assertEffects(1, 1);
      stage.assertListed();
    }
  }

  @Test
  @Tag("all")
  void h50_atMostOnce_aClaimWhoseCommitHangsPastItsLeaseIsNotRunAndListed(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.AT_MOST_ONCE)) {
      claimHangs(stage, database);
      stage.assertEffects(0, 0);
      stage.assertListed("OUTCOME_UNKNOWN");
    }
  }

  @Test
  @Tag("all")
  void h50_atLeastOnce_aClaimWhoseCommitHangsPastItsLeaseRunsOnceByAnother(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.AT_LEAST_ONCE)) {
      claimHangs(stage, database);
      stage.assertEffects(1, 1);
      stage.assertListed();
    }
  }

  private static void claimHangs(CrashStage stage, TestDatabase database) throws Exception {
    try (var proxy = FaultProxy.to(database)) {
      stage.publish(1);
      var commit = Fault.HANGING.set(proxy, CLAIM);
      stage.through(proxy, OPTIONS, true);
      commit.awaitSprung(BOUND);
      var other = stage.other();
      stage.awaitEnd();
      other.close();
      commit.release();
      // It has decided on the first one when it handles the next.
      stage.publish(2);
      stage.awaitOutside(2);
      stage.awaitEnd();
    }
  }

  // Outcome of the end's commit unknown.

  @Test
  void h50_exactlyOnce_anEndWhoseCommitIsCutBeforeTakesEffectOnce(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.EXACTLY_ONCE)) {
      endUnknown(Fault.CUT_BEFORE, NEW_GONE, stage, true, database);
      stage.assertEffects(2, 1);
    }
  }

  @Test
  void h50_exactlyOnce_anEndWhoseCommitIsCutAfterTakesEffectOnce(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.EXACTLY_ONCE)) {
      endUnknown(Fault.CUT_AFTER, NEW_GONE, stage, true, database);
      stage.assertEffects(1, 1);
    }
  }

  @Test
  void h50_exactlyOnce_anEndWhoseCommitHangsTakesEffectOnce(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.EXACTLY_ONCE)) {
      endUnknown(Fault.HANGING, NEW_GONE, stage, true, database);
      stage.assertEffects(1, 1);
    }
  }

  /** The transaction of the end holds nothing of the handler's: its end is asked for again. */
  @Test
  void h50_atLeastOnce_anEndWhoseCommitIsCutBeforeIsLookedUpByItsToken(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.AT_LEAST_ONCE)) {
      endUnknown(Fault.CUT_BEFORE, LEASED_GONE, stage, false, database);
      stage.assertEffects(1, 0);
    }
  }

  @Test
  void h50_atLeastOnce_anEndWhoseCommitIsCutAfterIsLookedUpByItsToken(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.AT_LEAST_ONCE)) {
      endUnknown(Fault.CUT_AFTER, LEASED_GONE, stage, false, database);
      stage.assertEffects(1, 0);
    }
  }

  @Test
  @Tag("all")
  void h50_atLeastOnce_anEndWhoseCommitHangsRanOnce(TestDatabase database) throws Exception {
    try (var stage = new CrashStage(database, Mode.AT_LEAST_ONCE)) {
      endUnknown(Fault.HANGING, LEASED_GONE, stage, false, database);
      stage.assertEffects(1, 0);
    }
  }

  @Test
  void h50_atLeastOnce_anEndWithEffectsWhoseCommitIsCutBeforeTakesEffectOnce(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.AT_LEAST_ONCE)) {
      endUnknown(Fault.CUT_BEFORE, LEASED_GONE, stage, true, database);
      stage.assertEffects(2, 1);
    }
  }

  @Test
  void h50_atLeastOnce_anEndWithEffectsWhoseCommitIsCutAfterTakesEffectOnce(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.AT_LEAST_ONCE)) {
      endUnknown(Fault.CUT_AFTER, LEASED_GONE, stage, true, database);
      stage.assertEffects(1, 1);
    }
  }

  @Test
  void h50_atMostOnce_anEndWhoseCommitIsCutBeforeIsLookedUpByItsToken(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.AT_MOST_ONCE)) {
      endUnknown(Fault.CUT_BEFORE, LEASED_GONE, stage, false, database);
      stage.assertEffects(1, 0);
      stage.assertListed();
    }
  }

  @Test
  void h50_atMostOnce_anEndWithEffectsWhoseCommitIsCutBeforeIsListed(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.AT_MOST_ONCE)) {
      endUnknown(Fault.CUT_BEFORE, LEASED_GONE, stage, true, database);
      stage.assertEffects(1, 0);
      stage.assertListed("OUTCOME_UNKNOWN");
    }
  }

  @Test
  void h50_atMostOnce_anEndWhoseCommitIsCutAfterIsDone(TestDatabase database) throws Exception {
    try (var stage = new CrashStage(database, Mode.AT_MOST_ONCE)) {
      endUnknown(Fault.CUT_AFTER, LEASED_GONE, stage, true, database);
      stage.assertEffects(1, 1);
      stage.assertListed();
    }
  }

  private static void endUnknown(
      Fault fault, String deletion, CrashStage stage, boolean inDatabase, TestDatabase database)
      throws Exception {
    try (var proxy = FaultProxy.to(database)) {
      var commit = fault.set(proxy, deletion);
      // A hanging one is given up when the handler's time is over; no other shall be.
      var timeout = fault == Fault.HANGING ? Duration.ofSeconds(4) : BOUND;
      stage.through(proxy, LONG.withHandlerTimeout(timeout), inDatabase);
      stage.publish(1);
      commit.awaitSprung(BOUND);
      stage.awaitEnd();
      // Whatever comes next is handled.
      stage.publish(2);
      stage.awaitOutside(2);
      stage.awaitEnd();
    }
  }
}
