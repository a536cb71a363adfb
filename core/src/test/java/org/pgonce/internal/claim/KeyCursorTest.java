package org.pgonce.internal.claim;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.claim.KeyLook.At;
import org.pgonce.internal.claim.KeyLook.Seen;
import org.pgonce.internal.claim.KeyLook.Way;

/** Where claims by key look, look by look. */
class KeyCursorTest {

  private final AtomicLong now = new AtomicLong();
  private final KeyCursor cursor = new KeyCursor(now::get);

  private void passes(Duration time) {
    now.addAndGet(time.toNanos());
  }

  /** What a look has seen that found nothing. */
  private static Seen seen(
      KeyLook look,
      long id,
      long nearUs,
      boolean passed,
      List<String> busy,
      @Nullable String walked) {
    return new Seen(look.keys().size(), new At(0, id), passed, false, nearUs, 1_000, busy, walked);
  }

  private static @Nullable String walkedToTheEnd(KeyLook look) {
    return look.walkFrom() == null ? null : "";
  }

  /** A look that finds nothing, up to that id. */
  private KeyLook looks(long id) {
    return looks(id, 100);
  }

  private KeyLook looks(long id, long nearUs) {
    return looks(id, nearUs, false, List.of());
  }

  private KeyLook looks(long id, long nearUs, boolean passed, List<String> busy) {
    var look = cursor.begin();
    cursor.ended(look, seen(look, id, nearUs, passed, busy, walkedToTheEnd(look)));
    return look;
  }

  @Test
  void h56_whatWasPassedOverIsNotLookedAtAgainWhenItsTimeIsOver() {
    looks(7);
    passes(KeyCursor.LAG);
    looks(8);
    assertThat(looks(8).after().id()).as("it may be committed late").isZero();
    passes(KeyCursor.LAG);
    looks(9);
    assertThat(looks(9).after().id()).isEqualTo(8);
  }

  @Test
  void h56_whereWhatMayBeCommittedLateIsMuchItTakesATwentiethOfTheTime() {
    looks(7, 50_000);
    assertThat(looks(7).after().id()).isEqualTo(7);
    passes(Duration.ofSeconds(1));
    assertThat(looks(7).after().id()).isZero();
  }

  /** It may look at a thousand rows at a time. */
  @Test
  void h56_whereThatIsTooMuchForOneLookTheNextOneIsAtWhatIsNew() {
    looks(5_000);
    var look = cursor.begin();
    assertThat(look.after().id()).isZero();
    cursor.ended(look, new Seen(0, new At(0, 1_000), false, true, 100, 0, List.of(), null));
    assertThat(cursor.isMore()).isTrue();
    assertThat(looks(5_001).after().id()).isEqualTo(5_000);
    assertThat(cursor.isMore()).isFalse();
    passes(Duration.ofMillis(2));
    assertThat(looks(5_001).after().id()).as("once more").isZero();
  }

  private static Seen foundWithMoreBehind(KeyLook look, long id) {
    return new Seen(look.keys().size(), new At(0, id), false, true, 100, 0, List.of(), null);
  }

  /**
   * Another process took what followed: a look from the beginning finds nothing, and that is it.
   */
  @Test
  void h56_behindABurstThatOthersTookNoneLooksAgainAndAgain() {
    looks(7);
    var look = cursor.begin();
    cursor.ended(look, foundWithMoreBehind(look, 10));
    assertThat(cursor.isMore()).isTrue();
    passes(Duration.ofSeconds(1));
    assertThat(looks(0).after().id()).isZero();
    assertThat(cursor.isMore()).isFalse();
  }

  @Test
  void h56_aLookThatBeganEarlierDoesNotHideWhatALaterOneSaw() {
    looks(7);
    var earlier = cursor.begin();
    var later = cursor.begin();
    cursor.ended(later, foundWithMoreBehind(later, 10));
    cursor.ended(earlier, seen(earlier, 7, 100, false, List.of(), null));
    assertThat(cursor.isMore()).isTrue();
  }

  /** It may have used up a wake-up. */
  @Test
  void h56_behindARowThatWasFoundByItsKeyTheNewRowsAreLookedAt() {
    looks(7);
    cursor.keyEnded("a", true);
    var look = cursor.begin();
    cursor.ended(look, new Seen(1, At.START, false, false, 0, 0, List.of(), null));
    assertThat(cursor.isMore()).isTrue();
    looks(8);
    assertThat(cursor.isMore()).isFalse();
  }

  /** Where the other ways always find a row. */
  @Test
  void h56_aWalkHasItsTurnAmongLooksThatDoNotWalk() {
    cursor.polled(1);
    var first = cursor.begin();
    cursor.ended(first, seen(first, 1, 100, false, List.of(), null));
    for (var i = 0; i < 3; i++) {
      var walking = cursor.begin();
      assertThat(walking.walkFrom()).isNotNull();
      if (walking.ways().get(0) == Way.WALK) {
        return;
      }
      var others = List.of(cursor.begin(), cursor.begin());
      others.forEach(other -> cursor.ended(other, foundWithMoreBehind(other, 1)));
      cursor.ended(walking, foundWithMoreBehind(walking, 1));
    }
    throw new AssertionError("no walk came first");
  }

  @Test
  void h56_theKeyOfWhatHasEndedIsTriedAtOnce() {
    looks(7);
    cursor.keyEnded("a", false);
    assertThat(cursor.isMore()).as("nothing waits behind it").isFalse();
    cursor.keyEnded("a", true);
    assertThat(cursor.isMore()).isTrue();
    assertThat(looks(7).keys()).containsExactly("a");
    assertThat(cursor.isMore()).isFalse();
  }

  @Test
  void h53_aRowThatEndsLooksForWhatOthersDidNotGetMeanwhile() {
    looks(7, 100, true, List.of());
    cursor.keyEnded("a", false);
    assertThat(cursor.begin().keys()).containsExactly("a");
  }

  @Test
  void h53_aRowThatEndsDuringALookIsLookedForAgain() {
    var look = cursor.begin();
    cursor.keyEnded("a", false);
    cursor.ended(look, seen(look, 7, 100, true, List.of(), null));
    assertThat(cursor.begin().keys()).containsExactly("a");
  }

  @Test
  void h56_aKeyThatOthersHaveLockedIsTriedWithEachPoll() {
    looks(7, 100, true, List.of("a"));
    assertThat(looks(7).keys()).isEmpty();
    cursor.polled(1);
    assertThat(looks(7).keys()).containsExactly("a");
    cursor.polled(1);
    assertThat(looks(7).keys()).as("it is free").isEmpty();
  }

  @Test
  void h56_keysThatWereNotTriedAreTriedWithTheNextLook() {
    looks(7);
    cursor.keyEnded("a", true);
    cursor.keyEnded("b", true);
    var look = cursor.begin();
    cursor.ended(look, new Seen(1, At.START, false, false, 0, 0, List.of(), null));
    assertThat(cursor.begin().keys()).containsExactly("b");
  }

  @Test
  void h56_aWalkTakesAFiftiethOfTheTimeOfAllListeners() {
    assertThat(looks(7).walkFrom()).as("no poll has ordered one").isNull();
    cursor.polled(3);
    var walk = cursor.begin();
    assertThat(walk.walkFrom()).isEmpty();
    cursor.ended(walk, seen(walk, 7, 100, false, List.of(), "k5"));
    assertThat(cursor.isMore()).as("it has begun").isTrue();
    var rest = cursor.begin();
    assertThat(rest.walkFrom()).isEqualTo("k5");
    cursor.ended(rest, seen(rest, 7, 100, false, List.of(), ""));
    assertThat(cursor.isMore()).isFalse();
    cursor.polled(3);
    assertThat(looks(7).walkFrom()).isNull();
    passes(Duration.ofMillis(3 * 50 * 2));
    assertThat(looks(7).walkFrom()).isEmpty();
    passes(Duration.ofSeconds(10));
    assertThat(looks(7).walkFrom()).as("no poll has ordered another").isNull();
  }

  @Test
  void h56_aWalkForAKeyThatWasSetFreeBeginsAtOnceAndTakesATwentieth() {
    looks(7);
    cursor.unblocked();
    assertThat(cursor.isMore()).isTrue();
    assertThat(looks(7).walkFrom()).isEmpty();
    cursor.unblocked();
    assertThat(cursor.isMore()).isFalse();
    passes(Duration.ofMillis(20));
    assertThat(cursor.isMore()).isTrue();
    assertThat(looks(7).walkFrom()).isEmpty();
  }

  @Test
  void h56_theWalkGoesOnWhereThereIsAlwaysWork() {
    cursor.unblocked();
    var walksFirst = false;
    for (var n = 0; n < 3 && !walksFirst; n++) {
      var look = cursor.begin();
      walksFirst = look.ways().get(0) == Way.WALK;
      cursor.ended(look, seen(look, n, 100, false, List.of(), null));
    }
    assertThat(walksFirst).isTrue();
  }

  @Test
  void h56_aLookThatFailsLosesNoKeyAndNoWalk() {
    looks(7);
    cursor.keyEnded("a", true);
    cursor.unblocked();
    var look = cursor.begin();
    assertThat(look.walkFrom()).isEmpty();
    cursor.ended(look, null);
    assertThat(cursor.isMore()).as("the walk").isTrue();
    cursor.polled(1);
    var again = cursor.begin();
    assertThat(again.keys()).containsExactly("a");
    assertThat(again.walkFrom()).isEmpty();
  }

  @Test
  void h56_theTwoThousandMillionthLookIsOneAsTheOthers() {
    var old = new KeyCursor(now::get, Integer.MAX_VALUE - 1L);
    for (var unseen : List.of(true, false, true, false)) {
      var look = old.begin();
      old.ended(look, new Seen(0, new At(0, 7), false, unseen, 100, 0, List.of(), null));
      assertThat(old.isMore()).isEqualTo(unseen);
    }
  }
}
