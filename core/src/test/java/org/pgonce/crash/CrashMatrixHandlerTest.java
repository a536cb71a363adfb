package org.pgonce.crash;

import static org.pgonce.crash.CrashEffects.BOUND;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Mode;
import org.pgonce.crash.CrashVictim.Point;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.wakeup.HeldCommit;

/**
 * The crash matrix from the claim to the end, by kill -9 of the process that handles, and by
 * SIGSTOP. The handler has an effect outside, which nobody can undo, and then one in the database.
 */
@PgTest(PgOnceInstalled.class)
public class CrashMatrixHandlerTest {

  // After claim, before handler.

  @Tag("all")
  @Test
  public void h49_broadcast_killedBeforeTheHandlerItIsLost(TestDatabase database) throws Exception {
    killedAt(Point.BEFORE_HANDLER, Mode.BROADCAST, database, stage -> stage.assertEffects(0, 0));
  }

  @Test
  @Tag("all")
  public void h49_atMostOnce_killedBeforeTheHandlerItIsListed(TestDatabase database)
      throws Exception {
    killedAt(
        Point.BEFORE_HANDLER,
        Mode.AT_MOST_ONCE,
        database,
        stage -> {
          stage.assertEffects(0, 0);
          stage.assertListed("OUTCOME_UNKNOWN");
        });
  }

  @Test
  @Tag("all")
  public void h49_atLeastOnce_killedBeforeTheHandlerItRunsWhenTheLeaseIsOver(TestDatabase database)
      throws Exception {
    killedAt(
        Point.BEFORE_HANDLER, Mode.AT_LEAST_ONCE, database, stage -> stage.assertEffects(1, 1));
  }

  @Test
  public void h49_exactlyOnce_killedBeforeTheHandlerItRunsAgain(TestDatabase database)
      throws Exception {
    killedAt(Point.BEFORE_HANDLER, Mode.EXACTLY_ONCE, database, stage -> stage.assertEffects(1, 1));
  }

  // In the handler, outside effect done.

  @Tag("all")
  @Test
  public void h49_broadcast_killedInTheHandlerItHadOneEffectOutside(TestDatabase database)
      throws Exception {
    killedAt(Point.IN_HANDLER, Mode.BROADCAST, database, stage -> stage.assertEffects(1, 0));
  }

  @Test
  @Tag("all")
  public void h49_atMostOnce_killedInTheHandlerItHadOneEffectOutsideAndIsListed(
      TestDatabase database) throws Exception {
    killedAt(
        Point.IN_HANDLER,
        Mode.AT_MOST_ONCE,
        database,
        stage -> {
          stage.assertEffects(1, 0);
          stage.assertListed("OUTCOME_UNKNOWN");
        });
  }

  @Tag("all")
  @Test
  public void h49_atLeastOnce_killedInTheHandlerItHasTwoEffectsOutside(TestDatabase database)
      throws Exception {
    killedAt(Point.IN_HANDLER, Mode.AT_LEAST_ONCE, database, stage -> stage.assertEffects(2, 1));
  }

  @Test
  public void h49_exactlyOnce_killedInTheHandlerItHasTwoEffectsOutsideAndOneInTheDatabase(
      TestDatabase database) throws Exception {
    killedAt(Point.IN_HANDLER, Mode.EXACTLY_ONCE, database, stage -> stage.assertEffects(2, 1));
  }

  private interface Expectation {
    void of(CrashStage stage) throws Exception;
  }

  private static void killedAt(Point point, Mode mode, TestDatabase database, Expectation outcome)
      throws Exception {
    try (var stage = new CrashStage(database, mode);
        var victim = stage.victimAt(point)) {
      var begun = point == Point.IN_HANDLER ? 1 : 0;
      stage.assertEffects(begun, 0);
      victim.kill9();
      stage.assertEffects(begun, 0);
      stage.other();
      stage.awaitEnd();
      if (mode != Mode.AT_MOST_ONCE) {
        stage.assertListed();
      }
      outcome.of(stage);
    }
  }

  // After handler, before commit or acknowledgement.

  @Tag("all")
  @Test
  @Tag("drivers")
  public void h49_broadcast_killedBeforeItsCommitItHadOneEffectOutside(TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, Mode.BROADCAST);
        var proxy = FaultProxy.to(database);
        var victim = stage.victimThrough(proxy)) {
      // What is asked right before: how the handler has left its session.
      var commit = proxy.after("session_authorization").cutBeforeForwarding("COMMIT");
      stage.publish(1);
      commit.awaitSprung(BOUND);
      victim.kill9();
      stage.assertEffects(1, 0);
      stage.assertStored(0);
    }
  }

  @Tag("all")
  @Test
  @Tag("drivers")
  public void h49_atMostOnce_killedBeforeItsCommitItHadOneEffectOutsideAndIsListed(
      TestDatabase database) throws Exception {
    killedBeforeCommit(
        Mode.AT_MOST_ONCE,
        database,
        stage -> {
          stage.assertEffects(1, 0);
          stage.assertListed("OUTCOME_UNKNOWN");
        });
  }

  @Test
  @Tag("drivers")
  @Tag("all")
  public void h49_atLeastOnce_killedBeforeItsCommitItHasTwoEffectsOutside(TestDatabase database)
      throws Exception {
    killedBeforeCommit(Mode.AT_LEAST_ONCE, database, stage -> stage.assertEffects(2, 1));
  }

  @Test
  @Tag("drivers")
  public void h49_exactlyOnce_killedBeforeItsCommitItHasTwoEffectsOutsideAndOneInTheDatabase(
      TestDatabase database) throws Exception {
    killedBeforeCommit(Mode.EXACTLY_ONCE, database, stage -> stage.assertEffects(2, 1));
  }

  /** The row is deleted, and the process dies, and its session, before that is committed. */
  private static void killedBeforeCommit(Mode mode, TestDatabase database, Expectation outcome)
      throws Exception {
    try (var stage = new CrashStage(database, mode);
        var held = new HeldCommit(database);
        var proxy = FaultProxy.to(database);
        var victim = stage.victimThrough(proxy)) {
      stage.publish(1);
      var session = held.awaitSomebody();
      victim.kill9();
      held.end(session);
      held.release();
      stage.assertEffects(1, 0);
      stage.assertStored(1);
      stage.other();
      stage.awaitEnd();
      outcome.of(stage);
    }
  }

  // Holder paused past its lease.

  @Test
  public void h49_broadcast_frozenAndThawedItGoesOn(TestDatabase database) throws Exception {
    try (var stage = new CrashStage(database, Mode.BROADCAST);
        var victim = stage.victimAt(Point.IN_HANDLER)) {
      victim.sigstop();
      stage.other();
      stage.publish(2);
      stage.awaitOutside(2);
      stage.openGate();
      victim.sigcont();
      victim.awaitLine(Point.NONE.line, BOUND);
      stage.assertEffects(1, 1);
    }
  }

  @Test
  @Tag("all")
  public void h49_atMostOnce_frozenPastItsLeaseItIsListedAndTheStaleEndRefused(
      TestDatabase database) throws Exception {
    frozen(
        Mode.AT_MOST_ONCE,
        BOUND,
        database,
        stage -> {
          stage.assertEffects(1, 0);
          stage.assertListed("OUTCOME_UNKNOWN");
        });
  }

  @Test
  @Tag("all")
  public void h49_atLeastOnce_frozenPastItsLeaseItHasTwoHoldersAndTheStaleEndIsRefused(
      TestDatabase database) throws Exception {
    frozen(Mode.AT_LEAST_ONCE, BOUND, database, stage -> stage.assertEffects(2, 1));
  }

  @Test
  @Tag("all")
  public void h49_exactlyOnce_frozenItLosesItsSessionAndItsCommitFails(TestDatabase database)
      throws Exception {
    frozen(
        Mode.EXACTLY_ONCE,
        Duration.ofSeconds(4), // in which it is to be frozen; and 5 s more, by the server
        database,
        stage -> stage.assertEffects(2, 1));
  }

  private static void frozen(
      Mode mode, Duration timeout, TestDatabase database, Expectation outcome) throws Exception {
    try (var stage = new CrashStage(database, mode);
        var victim = stage.victimAt(Point.IN_HANDLER, timeout)) {
      victim.sigstop();
      stage.other();
      stage.awaitEnd();
      outcome.of(stage);
      stage.openGate();
      victim.sigcont();
      // It finds out: by the next renewal, by its deadline, or when it ends.
      victim.awaitLine(
          line -> line.contains("is over before its handler") || line.contains("is not as it was"),
          BOUND);
      // Nothing of its is left that could still happen: it handles what comes next.
      stage.leave();
      stage.publish(2);
      victim.awaitLine(Point.NONE.line, BOUND);
      stage.awaitEnd();
      outcome.of(stage);
    }
  }

  // After commit.

  @Test
  @Tag("all")
  public void h49_broadcast_killedAfterTheEndItIsDone(TestDatabase database) throws Exception {
    killedAfterEnd(Mode.BROADCAST, database);
  }

  @Test
  @Tag("all")
  public void h49_atMostOnce_killedAfterTheEndItIsDone(TestDatabase database) throws Exception {
    killedAfterEnd(Mode.AT_MOST_ONCE, database);
  }

  @Test
  @Tag("all")
  public void h49_atLeastOnce_killedAfterTheEndItIsDone(TestDatabase database) throws Exception {
    killedAfterEnd(Mode.AT_LEAST_ONCE, database);
  }

  @Test
  public void h49_exactlyOnce_killedAfterTheEndItIsDone(TestDatabase database) throws Exception {
    killedAfterEnd(Mode.EXACTLY_ONCE, database);
  }

  private static void killedAfterEnd(Mode mode, TestDatabase database) throws Exception {
    try (var stage = new CrashStage(database, mode);
        var victim = stage.victimAt(Point.NONE)) {
      victim.kill9();
      stage.assertStored(0);
      stage.other();
      stage.publish(2);
      stage.awaitOutside(2);
      stage.awaitEnd();
      stage.assertEffects(1, 1);
      stage.assertListed();
    }
  }
}
