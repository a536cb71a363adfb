package org.pgonce.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.Standby.Cause;

/** Who of many looks, and when; that nothing is dropped is HerdTest's. */
class StandbyTest {

  private static final int MANY = 64;

  private final Threads threads = new Threads();
  private final ReentrantLock lock = new ReentrantLock();
  private int looks;
  private final Standby standby = new Standby(threads, lock, () -> looks++);

  @AfterEach
  void close() {
    threads.close();
  }

  /** Asked so often without a pause; returns how often it looks, each time with that success. */
  private int asked(int times, boolean finds) {
    var before = looks;
    for (var i = 0; i < times; i++) {
      var looksSoFar = looks;
      standby.asked();
      if (looks > looksSoFar) {
        standby.found(finds, standby.begins());
      }
    }
    return looks - before;
  }

  @Test
  void whoIsAskedInVainTimeAndAgainHelpsOneTimeOfMany() {
    standby.told(false, MANY);
    assertThat(asked(1, false)).isEqualTo(1);
    // 4 of 64 each time, and some more in the beginning.
    assertThat(asked(1_000, false)).isBetween(20, 200);
  }

  @Test
  void whoHelpsIsAskedAgain() {
    standby.told(false, MANY);
    asked(100, false);
    assertThat(asked(1_000, true)).isPositive();
    assertThat(asked(100, true)).isEqualTo(100);
  }

  @Test
  void ofAFewAllHelpWheneverTheyAreAsked() {
    standby.told(false, 4);
    assertThat(asked(100, false)).isEqualTo(100);
  }

  @Test
  void theFirstLooksWheneverHeIsAsked() {
    standby.told(true, MANY);
    assertThat(asked(100, false)).isEqualTo(100);
  }

  @Test
  void whoFindsSomethingThatOthersLeftAnswersAtOnceUntilOthersAreQuicker() {
    standby.told(false, MANY);
    standby.heard();
    assertThat(looks).isZero();
    standby.asked();
    standby.found(true, standby.begins());
    standby.found(true, Cause.ASKED);
    looks = 0;
    standby.heard();
    assertThat(looks).isEqualTo(1);
    for (var vain = 0; vain < 3; vain++) {
      standby.found(false, standby.begins());
      standby.heard();
    }
    looks = 0;
    standby.heard();
    assertThat(looks).isZero();
  }

  private void answered(boolean finds) {
    var since = System.nanoTime();
    standby.heard();
    await().pollDelay(Duration.ofMillis(10)).until(() -> System.nanoTime() > since);
    standby.found(finds, standby.begins());
  }

  @Test
  void whoAnswersInVainTimeAndAgainStandsByForLonger() {
    standby.told(false, 4);
    assertThat(standby.longestDelay()).isEqualTo(Duration.ofMillis(200));
    for (var vain = 0; vain < 10; vain++) {
      answered(false);
    }
    assertThat(standby.longestDelay()).isEqualTo(Duration.ofMillis(1_600));
    standby.told(false, MANY);
    assertThat(standby.longestDelay()).isEqualTo(Duration.ofSeconds(10));
  }

  @Test
  void whatOthersLeaveMakesHimQuickerAgain() {
    standby.told(false, 4);
    for (var vain = 0; vain < 10; vain++) {
      answered(false);
    }
    answered(true);
    assertThat(standby.longestDelay()).isEqualTo(Duration.ofMillis(200));
  }

  /** There everybody finds something, which says nothing of who is quicker. */
  @Test
  void whatIsFoundAmidABacklogDoesNotMakeItAnswerAtOnce() {
    standby.told(false, MANY);
    for (var found = 0; found < 100; found++) {
      standby.found(true, Cause.OTHER);
    }
    standby.heard();
    assertThat(looks).isZero();
  }
}
