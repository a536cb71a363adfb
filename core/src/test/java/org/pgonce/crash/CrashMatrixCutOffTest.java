package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.crash.CrashEffects.OPTIONS;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Mode;
import org.pgonce.Status;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * The crash matrix where the holder lives, and the network between it and the database does not:
 * nothing passes, and nobody is told.
 */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class CrashMatrixCutOffTest {

  @Test
  void h49_broadcast_cutOffInTheHandlerItHadOneEffectOutside(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.BROADCAST)) {
      cutOff(stage, Duration.ofSeconds(2), database);
      stage.assertEffects(1, 0);
    }
  }

  @Test
  @Tag("all")
  void h49_atMostOnce_cutOffPastItsLeaseItIsListedAndTheStaleEndRefused(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.AT_MOST_ONCE)) {
      cutOff(stage, CrashEffects.BOUND, database);
      stage.assertEffects(1, 0);
      stage.assertListed("OUTCOME_UNKNOWN");
    }
  }

  @Tag("all")
  @Test
  void h49_atLeastOnce_cutOffPastItsLeaseItHasTwoHoldersAndTheStaleEndIsRefused(
      TestDatabase database) throws Exception {
    try (var stage = new CrashStage(database, Mode.AT_LEAST_ONCE)) {
      cutOff(stage, CrashEffects.BOUND, database);
      stage.assertEffects(2, 1);
      stage.assertListed();
    }
  }

  @Test
  @Tag("all")
  void h49_exactlyOnce_cutOffItLosesItsSessionAndTakesEffectOnce(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.EXACTLY_ONCE)) {
      cutOff(stage, Duration.ofSeconds(3), database);
      stage.assertEffects(2, 1);
      stage.assertListed();
    }
  }

  private static void cutOff(CrashStage stage, Duration timeout, TestDatabase database)
      throws Exception {
    try (var proxy = FaultProxy.to(database)) {
      var atTheGate = new CountDownLatch(1);
      var first = stage.toTheGateThrough(proxy, OPTIONS.withHandlerTimeout(timeout), atTheGate);
      stage.publish(1);
      Stage.awaitSoon(atTheGate);
      var other = stage.other();
      stage.awaitEnd();
      other.close();
      // The network is back, and what was under way in it lost.
      proxy.pass();
      proxy.cutAll();
      stage.openGate();
      stage.publish(2);
      stage.awaitOutside(2);
      stage.awaitEnd();
      assertThat(first.status().state()).isEqualTo(Status.State.RUNNING);
    }
  }
}
