package org.pgonce.internal.consume;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.claim.ClaimCursors;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.consume.FetchTrigger.Claiming;
import org.pgonce.internal.consume.FetchTrigger.Reason;

/** When the next worker begins to claim. Time is the test's. */
class FetchTriggerTest {

  private record Tick(long at, Runnable work) {}

  private static final RowsBehind NOTHING = new RowsBehind(false, false);

  private long now;
  private final Queue<Tick> ticks = new PriorityQueue<>(Comparator.comparingLong(Tick::at));
  private final ClaimCursors cursors = ClaimCursors.create(false);
  private final Deque<Claiming> begun = new ArrayDeque<>();
  private final FetchTrigger trigger =
      new FetchTrigger(
          (delay, work) -> ticks.add(new Tick(now + delay.toNanos(), work)),
          () -> now,
          cursors,
          this::begin);

  private void begin() {
    var worker = trigger().claiming();
    worker.starts();
    begun.add(worker);
  }

  private FetchTrigger trigger() {
    return trigger;
  }

  private void pass(long millis) {
    var until = now + TimeUnit.MILLISECONDS.toNanos(millis);
    while (!ticks.isEmpty() && ticks.peek().at() <= until) {
      var tick = ticks.remove();
      now = tick.at();
      tick.work().run();
    }
    now = until;
  }

  /** The worker that has begun claims so many. */
  private Claiming claims(int count) {
    var worker = begun.remove();
    worker.begins();
    worker.found(count, 1);
    return worker;
  }

  @Test
  void aWakeUpIsAnsweredAtOnce() {
    trigger.notified();
    assertThat(begun).hasSize(1);
  }

  @Test
  void noSecondWorkerBeginsWhileOneClaims() {
    trigger.notified();
    var first = begun.remove();
    first.begins();
    for (var n = 0; n < 10_000; n++) {
      trigger.notified();
    }
    assertThat(begun).isEmpty();
    first.found(0, 1);
    assertThat(trigger.isWanted()).as("what came meanwhile is claimed by the same worker").isTrue();
    first.begins();
    first.found(0, 1);
    assertThat(trigger.isWanted()).isFalse();
  }

  /** Its connection may be lost without a sign. */
  @Test
  void h60_aClaimThatTakesASecondKeepsNobodyFromClaiming() {
    trigger.notified();
    begun.remove().begins();
    pass(1_001);
    trigger.notified();
    assertThat(begun).hasSize(1);
  }

  @Test
  void theSecondAnswersLater() {
    trigger.ranked(1);
    trigger.notified();
    pass(199);
    trigger.notified(); // is folded
    assertThat(begun).isEmpty();
    pass(1);
    assertThat(begun).hasSize(1);
    claims(0);
    pass(10_000);
    assertThat(begun).isEmpty();
  }

  @Test
  void fromRankTwoOnThePollSeesToIt() {
    trigger.ranked(2);
    trigger.notified();
    pass(10_000);
    assertThat(begun).isEmpty();
    trigger.request(Reason.POLLED);
    assertThat(begun).hasSize(1);
  }

  @Test
  void whoFoundSomethingLateAnswersAtOnceUntilTwoClaimsFindNothing() {
    trigger.ranked(1);
    trigger.notified();
    pass(200);
    var worker = claims(1);
    worker.ends();
    worker.ended(NOTHING);
    assertThat(trigger.answersAtOnce()).isTrue();
    trigger.notified();
    claims(0);
    assertThat(trigger.answersAtOnce()).isTrue();
    trigger.notified();
    claims(0);
    assertThat(trigger.answersAtOnce()).isFalse();
    trigger.notified();
    assertThat(begun).isEmpty();
  }

  @Test
  void whoBecomesTheFirstAnswersWhatItHeard() {
    trigger.ranked(1);
    trigger.notified();
    trigger.ranked(0);
    assertThat(begun).hasSize(1);
  }

  @Test
  void aSlowHandlerDoesNotDelayTheRowBehind() {
    trigger.notified();
    claims(1);
    pass(4);
    assertThat(begun).isEmpty();
    pass(1);
    assertThat(begun).hasSize(1);
  }

  @Test
  void aSlowHandlerDoesNotDelayTheRowBehindThoughAScheduledOneIsClaimedWhenItIsLate() {
    trigger.notified();
    claims(1);
    trigger.request(Reason.DUE);
    var due = begun.remove();
    assertThat(due.begins()).isTrue();
    pass(5);
    due.found(0, 1);
    assertThat(trigger.isWanted()).isTrue();
  }

  /** A timer for each claim would cost more than the claim's own work in this process. */
  @Test
  void behindQuickHandlersTheTimerIsSetTenTimesASecond() {
    for (var n = 0; n < 8; n++) {
      trigger.notified();
      claims(1).ended(NOTHING);
    }
    pass(1_000);
    var timers = 0;
    for (var n = 0; n < 50; n++) {
      var before = ticks.size();
      trigger.notified();
      var worker = claims(1);
      timers += ticks.size() - before;
      worker.ended(NOTHING);
      pass(20);
    }
    assertThat(timers).isBetween(8, 12);
  }

  @Test
  void aHandlerThatIsSlowAmidQuickOnesDelaysTheRowBehindByATenthOfASecond() {
    for (var n = 0; n < 8; n++) {
      trigger.notified();
      claims(1).ended(NOTHING);
    }
    pass(1_000);
    trigger.notified();
    var slow = claims(1);
    pass(99);
    assertThat(begun).isEmpty();
    pass(1);
    assertThat(begun).hasSize(1);
    claims(0);
    slow.ended(NOTHING);
    trigger.notified();
    claims(1);
    pass(5);
    assertThat(begun).as("one was slow, so the next may be").hasSize(1);
  }

  @Test
  void aQuickHandlerTellsByItselfWhatLiesBehind() {
    trigger.notified();
    claims(1).ended(NOTHING);
    pass(1_000);
    assertThat(begun).isEmpty();
    assertThat(trigger.isWanted()).isFalse();
  }

  @Test
  void whereRowsLieBehindAnotherWorkerJoins() {
    trigger.notified();
    var worker = claims(1);
    worker.ended(new RowsBehind(true, false));
    assertThat(trigger.isWanted()).isTrue();
    worker.begins();
    worker.found(1, 1);
    trigger.beginIfWanted();
    assertThat(begun).hasSize(1);
  }

  @Test
  void behindABatchThatIsNotFullTheNextOneGathers() {
    trigger.notified();
    var worker = begun.remove();
    worker.begins();
    worker.found(7, 100);
    trigger.notified();
    worker.ended(new RowsBehind(true, false));
    assertThat(trigger.isWanted()).isFalse();
    pass(14);
    assertThat(begun).isEmpty();
    pass(1);
    assertThat(begun).hasSize(1);
  }

  /** Its handler takes longer than that. */
  @Test
  void behindABatchThatIsAtWorkAnotherWorkerGathers() {
    trigger.notified();
    var worker = begun.remove();
    worker.begins();
    worker.found(7, 100);
    pass(14);
    assertThat(begun).isEmpty();
    pass(1);
    assertThat(begun).hasSize(1);
  }

  @Test
  void behindAFullBatchAndBehindASingleNotificationNothingIsGathered() {
    for (var found : new int[] {100, 1}) {
      trigger.notified();
      var worker = begun.remove();
      worker.begins();
      worker.found(found, 100);
      worker.ended(new RowsBehind(true, false));
      assertThat(trigger.isWanted()).as("behind %d of 100", found).isTrue();
      worker.begins();
      worker.found(0, 100);
    }
  }

  @Test
  void newAndScheduledRowsTakeTurns() {
    trigger.request(Reason.POLLED);
    trigger.request(Reason.DUE);
    var worker = begun.remove();
    assertThat(worker.begins()).isTrue();
    worker.found(1, 1);
    trigger.request(Reason.POLLED);
    assertThat(worker.begins()).isFalse();
    worker.found(1, 1);
    assertThat(worker.begins()).isTrue();
    worker.found(0, 1);
    assertThat(trigger.isDue()).isFalse();
  }

  /** The claim's snapshot may not have the row that is due by then. */
  @Test
  void whatIsDueWhileOneClaimsIsClaimedByTheSameWorker() {
    trigger.request(Reason.DUE);
    var worker = begun.remove();
    worker.begins();
    trigger.request(Reason.DUE);
    worker.found(0, 1);
    assertThat(trigger.isDue()).isTrue();
  }

  @Test
  void whatIsDueStaysSoWhereAClaimFails() {
    trigger.request(Reason.DUE);
    var worker = begun.remove();
    worker.begins();
    worker.ends();
    trigger.troubled();
    assertThat(trigger.isDue()).isTrue();
  }

  /** Anybody can NOTIFY. */
  @Test
  void h31_aFloodOfWakeUpsIsAnsweredAHandfulOfTimes() {
    var claims = 0;
    for (var millis = 0; millis < 1_000; millis++) {
      for (var n = 0; n < 10; n++) {
        trigger.notified();
        if (!begun.isEmpty()) {
          claims(0);
          claims++;
        }
      }
      pass(1);
      if (!begun.isEmpty()) {
        claims(0);
        claims++;
      }
    }
    assertThat(claims).isLessThanOrEqualTo(20);
    trigger.notified();
    pass(160);
    claims(1).ended(NOTHING);
    trigger.notified();
    assertThat(begun).as("it is answered at once again").hasSize(1);
  }

  /** What the gate or the poll asks for in vain says nothing of wake-ups. */
  @Test
  void emptyClaimsOfAnOpenGateDoNotDelayTheNextWakeUp() {
    for (var n = 0; n < 100; n++) {
      trigger.request(Reason.NEW);
      claims(0);
    }
    trigger.notified();
    assertThat(begun).hasSize(1);
  }

  @Test
  void whileTheDatabaseIsInTroubleItRestsAndThenClaims() {
    trigger.notified();
    begun.remove().ends();
    trigger.troubled();
    trigger.notified();
    assertThat(begun).isEmpty();
    assertThat(trigger.isWanted()).isFalse();
    pass(1_000);
    assertThat(begun).hasSize(1);
  }

  @Test
  void whereTheRateAllowsNoClaimItBeginsWhenItDoes() {
    trigger.rest(Duration.ofMillis(40));
    pass(39);
    assertThat(begun).isEmpty();
    pass(1);
    assertThat(begun).hasSize(1);
  }

  /** A wake-up that is answered while its claim has to rest is no reason to forget that. */
  @Test
  void whatThePollAsksForStaysLateBehindAWakeUp() {
    for (var n = 0; n < 8; n++) {
      trigger.notified();
      claims(0);
    }
    trigger.notified();
    trigger.rest(Duration.ofMillis(40));
    trigger.request(Reason.POLLED);
    pass(40);
    claims(1).ended(NOTHING);
    trigger.ranked(1);
    assertThat(trigger.answersAtOnce()).isTrue();
  }

  /** A row that was committed late, behind a cursor that had passed its id. */
  @Test
  void h82_aClaimThatFindsNothingIsFollowedByOneThatMayLookAtAll() {
    var whole = cursors.fresh().begin(); // under way: the next one does not look at all
    cursors.fresh().ended(cursors.fresh().begin(), 0);
    trigger.notified();
    var worker = claims(0);
    worker.ends();
    pass(490);
    // A batch that is not full tells nothing of what lies before it. The next one gathers.
    trigger.notified();
    var other = begun.remove();
    other.begins();
    other.found(2, 5);
    other.ended(NOTHING);
    assertThat(begun).isEmpty();
    pass(20);
    assertThat(begun).hasSize(1);
    cursors.fresh().failed(whole);
  }
}
