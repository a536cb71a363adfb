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
  private final KeyCursor front = new KeyCursor(now::get);

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
    var look = front.begin();
    front.ended(look, inVain(look, id, nearUs, false, List.of()));
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
    assertThat(front.reachedId()).isEqualTo(9);
  }

  @Test
  void h56_whereWhatMayBeCommittedLateIsMuchItTakesATwentiethOfTheTime() {
    looks(7, 50_000);
    assertThat(looks(7).where().after().id()).isEqualTo(7);
    assertThat(front.left()).as("owed").isEqualTo(Duration.ofMillis(50));
    passes(Duration.ofSeconds(1));
    assertThat(looks(7).where().after().id()).isZero();
    assertThat(front.left()).as("nothing is owed").isNull();
  }

  /** It may look at a thousand rows at a time. */
  @Test
  void h56_whereThatIsTooMuchForOneLookTheNextOneIsAtWhatIsNew() {
    looks(5_000);
    var look = front.begin();
    assertThat(look.where().after().id()).isZero();
    front.ended(
        look,
        new Result(null, new Seen(0, new At(0, 1_000), false, true, 100, 0, List.of(), null)));
    assertThat(front.isMore()).isTrue();
    assertThat(looks(5_001).where().after().id()).isEqualTo(5_000);
    assertThat(front.isMore()).isFalse();
    assertThat(front.left()).as("the rest is owed").isNotNull();
    passes(Duration.ofMillis(2));
    assertThat(looks(5_001).where().after().id()).isEqualTo(1_000);
    assertThat(looks(5_001).where().after().id()).as("once more").isZero();
  }

  @Test
  void h56_theKeyOfWhatHasEndedIsTriedAtOnce() {
    looks(7);
    front.keyEnded("a", false, front.passed());
    assertThat(front.isMore()).as("nothing waits behind it").isFalse();
    front.keyEnded("a", true, front.passed());
    assertThat(front.isMore()).isTrue();
    assertThat(looks(7).where().keys()).containsExactly("a");
    assertThat(front.isMore()).isFalse();
  }

  @Test
  void h53_aRowThatEndsLooksForWhatOthersDidNotGetMeanwhile() {
    var before = front.passed();
    var look = front.begin();
    front.ended(look, inVain(look, 7, 100, true, List.of()));
    front.keyEnded("a", false, before);
    assertThat(front.begin().where().keys()).containsExactly("a");
  }

  @Test
  void h53_aLookThatPassesOverARowLooksAgainIfOneEndedMeanwhile() {
    var look = front.begin();
    front.keyEnded("a", false, front.passed());
    front.ended(look, inVain(look, 7, 100, true, List.of()));
    assertThat(front.begin().where().keys()).containsExactly("a");
  }

  @Test
  void h56_aKeyThatOthersHaveLockedIsTriedWithEachScan() {
    var look = front.begin();
    front.ended(look, inVain(look, 7, 100, true, List.of("a")));
    assertThat(looks(7).where().keys()).isEmpty();
    front.polled(1);
    assertThat(looks(7).where().keys()).containsExactly("a");
    front.polled(1);
    assertThat(looks(7).where().keys()).as("it is free").isEmpty();
  }

  @Test
  void h56_keysThatWereNotTriedAreTriedWithTheNextLook() {
    looks(7);
    front.keyEnded("a", true, 0);
    front.keyEnded("b", true, 0);
    var look = front.begin();
    front.ended(look, new Result(null, new Seen(1, At.START, false, false, 0, 0, List.of(), null)));
    assertThat(front.begin().where().keys()).containsExactly("b");
  }

  @Test
  void h56_aWalkTakesAFiftiethOfTheTimeOfAllListeners() {
    front.polled(3);
    var walk = front.begin();
    assertThat(walk.where().walkFrom()).isEmpty();
    front.ended(walk, seen(walk, 7, 100, false, List.of(), "k5"));
    assertThat(front.isMore()).as("it has begun, for who asked").isTrue();
    var rest = front.begin();
    assertThat(rest.where().walkFrom()).isEqualTo("k5");
    front.ended(rest, inVain(rest, 7, 100, false, List.of()));
    assertThat(front.isMore()).isFalse();
    assertThat(looks(7).where().walkFrom()).isNull();
    assertThat(front.left()).as("owed since").isEqualTo(Duration.ofMillis(3 * 50 * 2));
    passes(Duration.ofMillis(3 * 50 * 2));
    assertThat(looks(7).where().walkFrom()).isEmpty();
  }

  @Test
  void h56_aWalkThatIsAskedForBeginsAtOnceAndTakesATwentieth() {
    looks(7);
    front.unblocked();
    assertThat(front.isMore()).isTrue();
    assertThat(looks(7).where().walkFrom()).isEmpty();
    front.unblocked();
    assertThat(front.isMore()).isFalse();
    assertThat(front.left()).isEqualTo(Duration.ofMillis(20));
    passes(Duration.ofMillis(20));
    assertThat(front.isMore()).isTrue();
    assertThat(looks(7).where().walkFrom()).isEmpty();
    assertThat(front.left()).isNull();
  }

  @Test
  void h56_beforeTheFirstLookNoWalkNeedsToBeAskedFor() {
    front.unblocked();
    assertThat(front.isMore()).isFalse();
  }

  @Test
  void h56_theWalkGoesOnWhereThereIsAlwaysWork() {
    var walksFirst = false;
    for (var n = 0; n < 8 && !walksFirst; n++) {
      front.unblocked();
      var look = front.begin();
      walksFirst = look.where().ways().get(0) == Way.WALK;
      front.ended(look, seen(look, n, 100, false, List.of(), null));
    }
    assertThat(walksFirst).isTrue();
  }

  @Test
  void h56_aLookThatFailsLosesNoKeyAndNoWalk() {
    looks(7);
    front.keyEnded("a", true, 0);
    front.unblocked();
    var look = front.begin();
    assertThat(look.where().walkFrom()).isEmpty();
    front.ended(look, null);
    assertThat(front.isMore()).as("the walk").isTrue();
    front.polled(1);
    var again = front.begin();
    assertThat(again.where().keys()).containsExactly("a");
    assertThat(again.where().walkFrom()).isEmpty();
  }
}
