package org.pgonce.key;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Backoff;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Status;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.wakeup.HeldCommit;

/**
 * The places of a key where what had one has gone, stops, does not end, or was begun under another
 * limit.
 */
@PgTest(PgOnceInstalled.class)
class KeyLimitFaultTest extends KeyLimitScene {

  /** A process that has gone, and a lease that is not over yet. */
  @ParameterizedTest
  @EnumSource(names = {"AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void h53_aLeaseHasItsPlaceUntilItIsOver(Mode mode) throws Exception {
    var calls = install(mode, 1);
    publish(calls, "a", 1, 2);
    stage.database.execute(
        """
        select pgonce.lease(s.id, false, gen_random_uuid(), 3600000, 1, 'NONE', '%s', 1)
          from pgonce.subscription s where s.of_channel = 'calls'
        """
            .formatted(mode));
    var process = process();
    process.listen(calls, OPTIONS, (call, tx) -> ended.add(call.payload())).start();
    publish(calls, "b", 1, 1);
    stage.awaitSoon(() -> ended("b") == 1);
    var before = emptyClaims(process);
    stage.database.execute("select pgonce.wake_up('calls', 'due')");
    stage.awaitSoon(() -> emptyClaims(process) > before + 1);
    assertThat(ended("a")).isZero();
    stage.database.execute(
        "update pgonce.scheduled set due_at = clock_timestamp(), key_permit_until = clock_timestamp() where token is not null");
    stage.database.execute("select pgonce.wake_up('calls', 'due')");
    stage.awaitNothingWaits();
    // What had begun and does not begin again is told; the other one has the place then.
    assertThat(stage.deadLetters()).isEqualTo(mode == Mode.AT_MOST_ONCE ? 1 : 0);
    assertThat(ended("a")).isEqualTo(mode == Mode.AT_MOST_ONCE ? 1 : 2);
  }

  /** Its attempt is counted in one transaction, and begins in another, which takes longer. */
  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h53_h47_whatWasInAProcessThatDiedHasAPlaceWhenItRunsAgain(Mode mode) throws Exception {
    var calls = install(mode, 1);
    publish(calls, "a", 1, 1);
    makeDue();
    stage.database.execute(
        "update pgonce.scheduled set token = gen_random_uuid() where subscription_id > 0");
    var inside = new CountDownLatch(1);
    var process = process();
    process
        .listen(
            calls,
            OPTIONS.withMaxAttempts(10),
            (call, tx) -> {
              if (call.payload().item().equals("a") && call.payload().id() == 1) {
                inside.countDown();
                go.await();
              }
              ended.add(call.payload());
            })
        .start();
    Stage.awaitSoon(inside);
    if (mode == Mode.EXACTLY_ONCE) {
      // From here on its transaction alone keeps the place.
      stage.awaitSoon(
          () ->
              stage.database.queryLong(
                      "select count(*) from pgonce.scheduled where key_permit_until < clock_timestamp()")
                  == 1);
    }
    publish(calls, "a", 2, 2);
    publish(calls, "b", 1, 1);
    stage.awaitSoon(() -> ended("b") == 1);
    var before = emptyClaims(process);
    stage.database.execute("select pgonce.wake_up('calls')");
    stage.awaitSoon(() -> emptyClaims(process) > before);
    assertThat(ended("a")).isZero();
    go.countDown();
    stage.awaitNothingWaits();
    assertThat(ended("a")).isEqualTo(2);
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h85_whoStopsLeavesThePlacesOfItsKeysToOthers(Mode mode) throws Exception {
    var calls = install(mode, 1);
    var inside = new CountDownLatch(1);
    var first = process();
    first
        .listen(
            calls,
            OPTIONS,
            (call, tx) -> {
              inside.countDown();
              go.await();
              ended.add(call.payload());
            })
        .start();
    publish(calls, "a", 1, 3);
    Stage.awaitSoon(inside);
    var second = process();
    second.listen(calls, OPTIONS, (call, tx) -> ended.add(call.payload())).start();
    stage.awaitSoon(() -> emptyClaims(second) > 0);
    var stopping = new Thread(first::close);
    stopping.start();
    stage.awaitSoon(() -> first.status().state() == Status.State.STOPPING);
    assertThat(ended).isEmpty();
    go.countDown();
    stage.awaitNothingWaits();
    stopping.join(Stage.SOON.toMillis());
    assertThat(ended("a")).isEqualTo(3);
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h45_aHandlerThatOverrunsLeavesItsPlaceToOthers(Mode mode) throws Exception {
    var calls = install(mode, 1);
    publish(calls, "a", 1, 2);
    makeDue();
    process()
        .listen(
            calls,
            OPTIONS
                // Enough for the second one on a busy machine: it has one attempt.
                .withHandlerTimeout(Duration.ofSeconds(2))
                .withBackoff(new Backoff(NO_SCAN, NO_SCAN)),
            (call, tx) -> {
              if (call.payload().id() == 1) {
                awaitUninterrupted(go);
              }
              ended.add(call.payload());
            })
        .start();
    stage.awaitSoon(() -> ended("a") == 1);
    assertThat(ended.peek()).isEqualTo(new Order(2, "a"));
  }

  private static void awaitUninterrupted(CountDownLatch latch) {
    while (true) {
      try {
        latch.await();
        return;
      } catch (InterruptedException e) {
        // It does not care.
      }
    }
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h83_aRunningListenerHearsThatTheLimitWasChanged(Mode mode) throws Exception {
    var old = process();
    old.listen(install(mode, 1), OPTIONS, (call, tx) -> {}).start();
    var calls = install(mode, 3);
    stage.awaitSoon(() -> old.status().channels().get(0).outdated() != null);
    assertThat(old.status().channels().get(0).outdated())
        .contains("installed with maximum per key \"3\", but defined with \"1\"")
        .contains(", max_per_key => 1);");
    publish(calls, "a", 1, 3);
    var three = new CyclicBarrier(3);
    process()
        .listen(
            calls,
            OPTIONS,
            (call, tx) -> {
              three.await(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
              ended.add(call.payload());
            })
        .start();
    stage.awaitNothingWaits();
    assertThat(ended("a")).isEqualTo(3);
  }

  /** What is at work under the former definition has places beyond the new limit, or none. */
  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h83_underALowerLimitWhatIsAtWorkIsHandledToItsEnd(Mode mode) throws Exception {
    var calls = install(mode, 3);
    publish(calls, "a", 1, 3);
    var inside = new CountDownLatch(3);
    process()
        .listen(
            calls,
            OPTIONS,
            (call, tx) -> {
              inside.countDown();
              go.await();
              ended.add(call.payload());
            })
        .start();
    Stage.awaitSoon(inside);
    var lower = install(mode, 1);
    publish(lower, "a", 4, 6);
    var next = process();
    next.listen(lower, OPTIONS, (call, tx) -> ended.add(call.payload())).start();
    stage.awaitSoon(() -> emptyClaims(next) > 0);
    assertThat(ended).isEmpty();
    go.countDown();
    stage.awaitSoon(() -> ended.size() >= 3);
    // The old one hands nothing on: it is outdated. What it had is free all the same.
    stage.database.execute("select pgonce.wake_up('calls')");
    stage.awaitNothingWaits();
    assertThat(ended("a")).isEqualTo(6);
  }

  /**
   * A retry that only the process knows of in which it has failed, and that has no worker free: the
   * place is freed by another.
   */
  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  @Tag("all")
  void h53_whoFreesAPlaceTakesTheRetryThatFailedElsewhere(Mode mode) throws Exception {
    var calls = install(mode, 2);
    var secondBegun = new CountDownLatch(1);
    var thirdBegun = new CountDownLatch(1);
    // So long that its own process takes the third before that, on a busy machine too.
    var backoff = new Backoff(Duration.ofSeconds(2), Duration.ofSeconds(2));
    for (var listener = 0; listener < 2; listener++) {
      process()
          .listen(
              calls,
              OPTIONS.withConcurrency(1).withBackoff(backoff),
              (call, tx) -> {
                switch ((int) call.payload().id()) {
                  case 1 -> {
                    Stage.awaitSoon(secondBegun);
                    if (call.attempt() == 1) {
                      throw new IllegalStateException("once");
                    }
                  }
                  case 2 -> {
                    secondBegun.countDown();
                    Stage.awaitSoon(thirdBegun);
                    stage.awaitSoon(
                        () ->
                            stage.database.queryLong(
                                    "select count(*) from pgonce.scheduled where subscription_id > 0 and token is null and due_at < clock_timestamp()")
                                == 1);
                  }
                  default -> {
                    thirdBegun.countDown();
                    go.await();
                  }
                }
                ended.add(call.payload());
              })
          .start();
    }
    publish(calls, "a", 1, 3);
    stage.awaitSoon(() -> ended("a") == 2);
    assertThat(ended).containsExactly(new Order(2, "a"), new Order(1, "a"));
    go.countDown();
    stage.awaitNothingWaits();
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h53_whatIsHeardOfWhileTheOneBeforeIsBeingCommittedComesWithoutAScan(Mode mode)
      throws Exception {
    var calls = install(mode, 1);
    try (var held = new HeldCommit(stage.database);
        var pgonce = PgOnce.using(stage.dataSource)) {
      pgonce
          .listen(
              calls,
              OPTIONS,
              (call, tx) -> {
                Stage.effect(call, tx);
                ended.add(call.payload());
              })
          .start();
      publish(calls, "a", 1, 1);
      // Its statements have told that nothing is left, and its place is still its own.
      held.awaitSomebody();
      var before = emptyClaims(pgonce);
      publish(calls, "a", 2, 2);
      stage.awaitSoon(() -> emptyClaims(pgonce) > before);
      held.release();
      stage.awaitNothingWaits();
    }
    assertThat(ended).containsExactly(new Order(1, "a"), new Order(2, "a"));
  }
}
