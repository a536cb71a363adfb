package org.pgonce.internal.claim;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.claim.KeyLook.At;
import org.pgonce.internal.claim.KeyLook.Result;
import org.pgonce.internal.claim.KeyLook.Seen;
import org.pgonce.internal.claim.KeyLook.Way;

/** Where claims by key look, look by look. */
class KeyCursorTest {

  private final AtomicLong now = new AtomicLong();
  private final KeyCursor cursor = new KeyCursor(now::get);

  private void passes(Duration time) {
    now.addAndGet(time.toNanos());
  }

  private static Result inVain(
      KeyCursor.Look look, long id, long nearUs, boolean passed, List<String> busy) {
    var walks = look.where().walkFrom() != null;
    return seen(look, id, nearUs, passed, busy, walks ? "" : null);
  }

  private static Result seen(
      KeyCursor.Look look,
      long id,
      long nearUs,
      boolean passed,
      List<String> busy,
      @Nullable String walked) {
    var keys = look.where().keys().size();
    return new Result(
        null, new Seen(keys, new At(0, id), passed, false, nearUs, 1_000, busy, walked));
  }

  /** A look that finds nothing, up to that id. */
  private KeyCursor.Look looks(long id) {
    return looks(id, 100);
  }

  private KeyCursor.Look looks(long id, long nearUs) {
    var look = cursor.begin();
    cursor.ended(look, inVain(look, id, nearUs, false, List.of()));
    return look;
  }

  @Test
  void h56_whatWasPassedOverIsNotLookedAtAgainWhenItsTimeIsOver() {
    looks(7);
    passes(KeyCursor.LAG);
    looks(8);
    assertThat(looks(8).where().after().id()).as("it may be committed late").isZero();
    passes(KeyCursor.LAG);
    looks(9);
    assertThat(looks(9).where().after().id()).isEqualTo(8);
    assertThat(cursor.reachedId()).isEqualTo(9);
  }

  @Test
  void h56_whereWhatMayBeCommittedLateIsMuchItTakesATwentiethOfTheTime() {
    looks(7, 50_000);
    assertThat(looks(7).where().after().id()).isEqualTo(7);
    passes(Duration.ofSeconds(1));
    assertThat(looks(7).where().after().id()).isZero();
  }

  /** It may look at a thousand rows at a time. */
  @Test
  void h56_whereThatIsTooMuchForOneLookTheNextOneIsAtWhatIsNew() {
    looks(5_000);
    var look = cursor.begin();
    assertThat(look.where().after().id()).isZero();
    cursor.ended(
        look,
        new Result(null, new Seen(0, new At(0, 1_000), false, true, 100, 0, List.of(), null)));
    assertThat(cursor.isMore()).isTrue();
    assertThat(looks(5_001).where().after().id()).isEqualTo(5_000);
    assertThat(cursor.isMore()).isFalse();
    passes(Duration.ofMillis(2));
    assertThat(looks(5_001).where().after().id()).isEqualTo(1_000);
    assertThat(looks(5_001).where().after().id()).as("once more").isZero();
  }

  @Test
  void h56_theKeyOfWhatHasEndedIsTriedAtOnce() {
    looks(7);
    cursor.keyEnded("a", false, cursor.passed());
    assertThat(cursor.isMore()).as("nothing waits behind it").isFalse();
    cursor.keyEnded("a", true, cursor.passed());
    assertThat(cursor.isMore()).isTrue();
    assertThat(looks(7).where().keys()).containsExactly("a");
    assertThat(cursor.isMore()).isFalse();
  }

  @Test
  void h53_aRowThatEndsLooksForWhatOthersDidNotGetMeanwhile() {
    var before = cursor.passed();
    var look = cursor.begin();
    cursor.ended(look, inVain(look, 7, 100, true, List.of()));
    cursor.keyEnded("a", false, before);
    assertThat(cursor.begin().where().keys()).containsExactly("a");
  }

  @Test
  void h53_aLookThatPassesOverARowLooksAgainIfOneEndedMeanwhile() {
    var look = cursor.begin();
    cursor.keyEnded("a", false, cursor.passed());
    cursor.ended(look, inVain(look, 7, 100, true, List.of()));
    assertThat(cursor.begin().where().keys()).containsExactly("a");
  }

  @Test
  void h56_aKeyThatOthersHaveLockedIsTriedWithEachScan() {
    var look = cursor.begin();
    cursor.ended(look, inVain(look, 7, 100, true, List.of("a")));
    assertThat(looks(7).where().keys()).isEmpty();
    cursor.polled(1);
    assertThat(looks(7).where().keys()).containsExactly("a");
    cursor.polled(1);
    assertThat(looks(7).where().keys()).as("it is free").isEmpty();
  }

  @Test
  void h56_keysThatWereNotTriedAreTriedWithTheNextLook() {
    looks(7);
    cursor.keyEnded("a", true, 0);
    cursor.keyEnded("b", true, 0);
    var look = cursor.begin();
    cursor.ended(
        look, new Result(null, new Seen(1, At.START, false, false, 0, 0, List.of(), null)));
    assertThat(cursor.begin().where().keys()).containsExactly("b");
  }

  @Test
  void h56_aWalkTakesAFiftiethOfTheTimeOfAllListeners() {
    cursor.polled(3);
    var walk = cursor.begin();
    assertThat(walk.where().walkFrom()).isEmpty();
    cursor.ended(walk, seen(walk, 7, 100, false, List.of(), "k5"));
    assertThat(cursor.isMore()).as("it has begun, for who asked").isTrue();
    var rest = cursor.begin();
    assertThat(rest.where().walkFrom()).isEqualTo("k5");
    cursor.ended(rest, inVain(rest, 7, 100, false, List.of()));
    assertThat(cursor.isMore()).isFalse();
    assertThat(looks(7).where().walkFrom()).isNull();
    passes(Duration.ofMillis(3 * 50 * 2));
    assertThat(looks(7).where().walkFrom()).isEmpty();
  }

  @Test
  void h56_aWalkThatIsAskedForBeginsAtOnceAndTakesATwentieth() {
    looks(7);
    cursor.unblocked();
    assertThat(cursor.isMore()).isTrue();
    assertThat(looks(7).where().walkFrom()).isEmpty();
    cursor.unblocked();
    assertThat(cursor.isMore()).isFalse();
    passes(Duration.ofMillis(20));
    assertThat(cursor.isMore()).isTrue();
    assertThat(looks(7).where().walkFrom()).isEmpty();
  }

  @Test
  void h56_beforeTheFirstLookNoWalkNeedsToBeAskedFor() {
    cursor.unblocked();
    assertThat(cursor.isMore()).isFalse();
  }

  @Test
  void h56_theWalkGoesOnWhereThereIsAlwaysWork() {
    var walksFirst = false;
    for (var n = 0; n < 8 && !walksFirst; n++) {
      cursor.unblocked();
      var look = cursor.begin();
      walksFirst = look.where().ways().get(0) == Way.WALK;
      cursor.ended(look, seen(look, n, 100, false, List.of(), null));
    }
    assertThat(walksFirst).isTrue();
  }

  @Test
  void h56_aLookThatFailsLosesNoKeyAndNoWalk() {
    looks(7);
    cursor.keyEnded("a", true, 0);
    cursor.unblocked();
    var look = cursor.begin();
    assertThat(look.where().walkFrom()).isEmpty();
    cursor.ended(look, null);
    assertThat(cursor.isMore()).as("the walk").isTrue();
    cursor.polled(1);
    var again = cursor.begin();
    assertThat(again.where().keys()).containsExactly("a");
    assertThat(again.where().walkFrom()).isEmpty();
  }
}
