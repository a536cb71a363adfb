package org.pgonce.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Where a claim of new rows begins, look by look. */
class FrontTest {

  private static final Duration SOON = Duration.ofSeconds(30);

  private final Front front = new Front();

  /** Looks at the whole as soon as it may be; others look in vain until then. */
  private Front.Look whole() {
    return Awaitility.await()
        .atMost(SOON)
        .until(
            () -> {
              var look = front.begin();
              if (!look.whole()) {
                front.ended(look, 0);
              }
              return look;
            },
            Front.Look::whole);
  }

  /** What one begins behind while another looks at the whole. */
  private long after() {
    var busy = whole();
    var after = front.begin().after();
    front.failed(busy);
    return after;
  }

  @Test
  void h71_theFirstLookIsAtTheWhole() {
    var look = front.begin();

    assertThat(look.whole()).isTrue();
    assertThat(look.after()).isZero();
    front.ended(look, 0);
  }

  @Test
  void h71_aClaimBeginsBehindWhatWasClaimed() {
    front.ended(whole(), 7);
    assertThat(after()).isEqualTo(7);

    var busy = whole();
    front.ended(front.begin(), 9);
    front.ended(front.begin(), 8);
    front.failed(busy);
    assertThat(after()).isEqualTo(9);
  }

  @Test
  void h71_oneAtATimeLooksAtTheWhole() {
    var busy = whole();

    assertThat(front.begin().whole()).isFalse();

    front.failed(busy);
    assertThat(front.begin().whole()).as("that one has seen nothing").isTrue();
  }

  /** Its connection may be lost without a sign. */
  @Test
  void h49_oneThatTakesForLongIsNotWaitedFor() {
    front.ended(whole(), 7);
    var lost = whole();
    front.ended(front.begin(), 0);
    var begun = System.nanoTime();
    var other = whole();
    assertThat(System.nanoTime() - begun).isGreaterThan(Duration.ofMillis(800).toNanos());
    front.failed(lost);
    assertThat(front.begin().whole()).as("the other still looks").isFalse();
    front.ended(other, 5);
    front.ended(lost, 3);
    assertThat(after()).as("what it says late is of no account").isEqualTo(5);
  }

  /** As those do that walk over much. */
  @Test
  void h49_whereAllTakeLongEachIsWaitedForFourTimesAsLong() {
    var slow = whole();
    awaitNanos(Duration.ofMillis(500), slow);
    front.ended(slow, 7);
    var next = whole();
    awaitNanos(Duration.ofMillis(1_500), next);
    assertThat(front.begin().whole()).isFalse();
  }

  private static void awaitNanos(Duration length, Front.Look look) {
    Awaitility.await()
        .atMost(SOON)
        .until(() -> System.nanoTime() - look.begunAt() > length.toNanos());
  }

  @Test
  void h71_theWholeSaysWhereTheFrontIs() {
    front.ended(whole(), 1_000);
    var busy = whole();
    var begunBefore = front.begin();

    front.ended(busy, 5);
    front.ended(begunBefore, 1_001);

    assertThat(after()).as("what lies behind 5 is not passed over").isEqualTo(5);
  }

  @Test
  void h71_theWholeIsLookedAtSoonAgain() {
    front.ended(whole(), 7);

    front.ended(whole(), 0);
    assertThat(after()).as("where nothing is, it stays").isEqualTo(7);
  }

  @Test
  void h71_whatWentBackIsClaimedNext() {
    front.ended(whole(), 1_000);
    var busy = whole();
    var begunBefore = front.begin();
    front.wentBack();
    front.ended(begunBefore, 1_001);

    assertThat(front.begin().after()).isZero();
    front.failed(busy);
  }

  @Test
  void h71_whatWentBackWhileTheWholeIsLookedAtIsClaimedNext() {
    front.ended(whole(), 1_000);
    var busy = whole();
    front.wentBack();
    front.ended(busy, 1_001);

    assertThat(after()).isZero();
  }

  /** As one is that is sent with the end of another notification: its time is not the look's. */
  @Test
  void h71_oneAmongOthersLooksAtTheWholeOnlyWhereThatIsQuick() {
    var first = front.beginAmongOthers();
    assertThat(first).isNotNull().extracting(Front.Look::whole).isEqualTo(true);
    awaitLong(first);
    front.ended(first, 7);

    var slow = whole();
    awaitLong(slow);
    front.ended(slow, 8);
    assertThat(front.beginAmongOthers())
        .as("the whole is not due yet")
        .isNotNull()
        .extracting(Front.Look::after)
        .isEqualTo(8L);
    Awaitility.await().atMost(SOON).until(() -> front.beginAmongOthers() == null);
    assertThat(whole().after()).isZero();
  }

  /** It is behind a commit in the same message, which may hang. */
  @Test
  void h71_oneAmongOthersThatDoesNotEndKeepsNobodyFromTheWhole() {
    var hangs = front.beginAmongOthers();
    assertThat(hangs).isNotNull().extracting(Front.Look::whole).isEqualTo(true);
    var next = front.begin();
    front.ended(next, 8);
    assertThat(whole().after()).isZero();
  }

  private static void awaitLong(Front.Look look) {
    Awaitility.await()
        .atMost(SOON)
        .until(() -> System.nanoTime() - look.begunAt() > Front.MOST.toNanos() / 10);
  }

  @Test
  void h71_aClaimThatFailsSaysNothing() throws Exception {
    front.ended(whole(), 7);
    front.failed(whole());

    assertThatThrownBy(
            () ->
                front.claim(
                    after -> {
                      throw new SQLException("no answer", "08006");
                    },
                    claimed -> 9))
        .hasMessage("no answer");
    long claimedAfter = front.claim(after -> after, claimed -> 0);
    assertThat(claimedAfter).as("the whole").isZero();
    assertThat(after()).isEqualTo(7);
  }

  @Test
  void h45_anErrorDoesNotEndTheLooksAtTheWhole() {
    assertThatThrownBy(
            () ->
                front.claim(
                    after -> {
                      throw new OutOfMemoryError("no memory (so says the test)");
                    },
                    claimed -> 9))
        .isInstanceOf(OutOfMemoryError.class);

    assertThat(whole().after()).isZero();
  }

  @Test
  void h82_whatThePollFindsIsLookedForInTheWhole() {
    var look = whole();
    awaitLong(look);
    front.ended(look, 7);
    assertThat(front.begin().whole()).as("a slow look rests for a while").isFalse();
    front.polled();
    assertThat(front.begin().whole()).isTrue();
  }

  @Test
  void h71_thePollLooksFromTheFrontOn() {
    front.ended(whole(), 7);
    assertThat(front.after()).isEqualTo(7);
  }
}
