package org.pgonce.internal.claim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Where a claim of new rows begins, look by look. */
class ClaimCursorTest {

  private static final Duration SOON = Duration.ofSeconds(30);

  private final ClaimCursor cursor = new ClaimCursor();

  /** Looks at the whole as soon as it may be; others look in vain until then. */
  private ClaimCursor.Look whole() {
    return Awaitility.await()
        .atMost(SOON)
        .until(
            () -> {
              var look = cursor.begin();
              if (!look.isWhole()) {
                cursor.ended(look, 0);
              }
              return look;
            },
            ClaimCursor.Look::isWhole);
  }

  /** What one begins behind while another looks at the whole. */
  private long after() {
    var busy = whole();
    var after = cursor.begin().after();
    cursor.failed(busy);
    return after;
  }

  @Test
  void h71_theFirstLookIsAtTheWhole() {
    var look = cursor.begin();

    assertThat(look.isWhole()).isTrue();
    assertThat(look.after()).isZero();
    cursor.ended(look, 0);
  }

  @Test
  void h71_aClaimBeginsBehindWhatWasClaimed() {
    cursor.ended(whole(), 7);
    assertThat(after()).isEqualTo(7);

    var busy = whole();
    cursor.ended(cursor.begin(), 9);
    cursor.ended(cursor.begin(), 8);
    cursor.failed(busy);
    assertThat(after()).isEqualTo(9);
  }

  @Test
  void h71_oneAtATimeLooksAtTheWhole() {
    var busy = whole();

    assertThat(cursor.begin().isWhole()).isFalse();

    cursor.failed(busy);
    assertThat(cursor.begin().isWhole()).as("that one has seen nothing").isTrue();
  }

  /** Its connection may be lost without a sign. */
  @Test
  void h49_oneThatTakesForLongIsNotWaitedFor() {
    cursor.ended(whole(), 7);
    var lost = whole();
    cursor.ended(cursor.begin(), 0);
    var begun = System.nanoTime();
    var other = whole();
    assertThat(System.nanoTime() - begun).isGreaterThan(Duration.ofMillis(800).toNanos());
    cursor.failed(lost);
    assertThat(cursor.begin().isWhole()).as("the other still looks").isFalse();
    cursor.ended(other, 5);
    cursor.ended(lost, 3);
    assertThat(after()).as("what it says late is of no account").isEqualTo(5);
  }

  /** As those do that walk over much. */
  @Test
  void h49_whereAllTakeLongEachIsWaitedForFourTimesAsLong() {
    var slow = whole();
    awaitNanos(Duration.ofMillis(500), slow);
    cursor.ended(slow, 7);
    var next = whole();
    awaitNanos(Duration.ofMillis(1_500), next);
    assertThat(cursor.begin().isWhole()).isFalse();
  }

  private static void awaitNanos(Duration length, ClaimCursor.Look look) {
    Awaitility.await()
        .atMost(SOON)
        .until(() -> System.nanoTime() - look.begunAt() > length.toNanos());
  }

  @Test
  void h71_theWholeSaysWhereTheFrontIs() {
    cursor.ended(whole(), 1_000);
    var busy = whole();
    var begunBefore = cursor.begin();

    cursor.ended(busy, 5);
    cursor.ended(begunBefore, 1_001);

    assertThat(after()).as("what lies behind 5 is not passed over").isEqualTo(5);
  }

  @Test
  void h71_theWholeIsLookedAtSoonAgain() {
    cursor.ended(whole(), 7);

    cursor.ended(whole(), 0);
    assertThat(after()).as("where nothing is, it stays").isEqualTo(7);
  }

  @Test
  void h71_whatWentBackIsClaimedNext() {
    cursor.ended(whole(), 1_000);
    var busy = whole();
    var begunBefore = cursor.begin();
    cursor.wentBack();
    cursor.ended(begunBefore, 1_001);

    assertThat(cursor.begin().after()).isZero();
    cursor.failed(busy);
  }

  @Test
  void h71_whatWentBackWhileTheWholeIsLookedAtIsClaimedNext() {
    cursor.ended(whole(), 1_000);
    var busy = whole();
    cursor.wentBack();
    cursor.ended(busy, 1_001);

    assertThat(after()).isZero();
  }

  private static void awaitLong(ClaimCursor.Look look) {
    Awaitility.await()
        .atMost(SOON)
        .until(() -> System.nanoTime() - look.begunAt() > Duration.ofMillis(50).toNanos());
  }

  @Test
  void h71_aClaimThatFailsSaysNothing() throws Exception {
    cursor.ended(whole(), 7);
    cursor.failed(whole());

    assertThatThrownBy(
            () ->
                cursor.claim(
                    after -> {
                      throw new SQLException("no answer", "08006");
                    }))
        .hasMessage("no answer");
    var claimedAfter = new AtomicLong(-1);
    var unused =
        cursor.claim(
            after -> {
              claimedAfter.set(after);
              return List.of();
            });
    assertThat(claimedAfter).as("the whole").hasValue(0);
    assertThat(after()).isEqualTo(7);
  }

  @Test
  void h45_anErrorDoesNotEndTheLooksAtTheWhole() {
    assertThatThrownBy(
            () ->
                cursor.claim(
                    after -> {
                      throw new OutOfMemoryError("no memory (so says the test)");
                    }))
        .isInstanceOf(OutOfMemoryError.class);

    assertThat(whole().after()).isZero();
  }

  @Test
  void h82_whatThePollFindsIsLookedForInTheWhole() {
    var look = whole();
    awaitLong(look);
    cursor.ended(look, 7);
    assertThat(cursor.begin().isWhole()).as("a slow look rests for a while").isFalse();
    cursor.polled();
    assertThat(cursor.begin().isWhole()).isTrue();
  }

  @Test
  void h71_thePollLooksFromTheFrontOn() {
    cursor.ended(whole(), 7);
    assertThat(cursor.after()).isEqualTo(7);
  }

  /** A row may have been committed behind the snapshot of the one that is under way. */
  @Test
  void h71_thePollHasTheNextClaimLookAtTheWholeThoughOneIsUnderWay() {
    var busy = whole();
    cursor.polled();
    cursor.ended(busy, 0);

    assertThat(cursor.begin().isWhole()).isTrue();
  }

  /** A row that was committed late, behind a cursor that had passed its id. */
  @Test
  void h82_aLookThatFindsNothingIsFollowedByOneAtTheWhole() {
    cursor.ended(whole(), 7);
    assertThat(cursor.untilWhole()).isNull();

    var busy = whole();
    cursor.ended(cursor.begin(), 0);
    assertThat(cursor.untilWhole()).as("that one may have begun too early").isPositive();
    cursor.ended(busy, 0);
    assertThat(cursor.untilWhole()).isLessThan(Duration.ofMillis(501));

    cursor.ended(whole(), 0);
    assertThat(cursor.untilWhole()).isNull();
  }
}
