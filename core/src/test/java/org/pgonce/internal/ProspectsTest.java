package org.pgonce.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.settle.Left;

/** What is looked for again, and what is not, claim by claim. */
class ProspectsTest {

  private final Tally tally = new Tally();
  private final AtomicLong now = new AtomicLong(System.nanoTime());
  private final Prospects prospects = new Prospects(tally, KeyCursors.create(false), now::get);

  @Test
  void h45_aWakeUpBeforeAClaimIsAnsweredByItAndOneMeanwhileIsNot() {
    prospects.woken(false);
    var look = prospects.look();
    assertThat(prospects.isNobodyLooking()).isFalse();
    assertThat(look.begins()).isFalse();
    assertThat(prospects.isSomethingNew()).isFalse();

    prospects.woken(false);
    look.found(0);
    assertThat(prospects.isNobodyLooking()).isTrue();
    assertThat(look.isMoreLeft()).isTrue();
  }

  /** Its connection may be lost without a sign. */
  @Test
  void h49_toOneWhoLooksForLongNothingIsLeft() {
    var hangs = prospects.look();
    hangs.begins();
    now.addAndGet(Duration.ofMillis(999).toNanos());
    assertThat(prospects.isNobodyLooking()).isFalse();
    now.addAndGet(Duration.ofMillis(1).toNanos());
    assertThat(prospects.isNobodyLooking()).isTrue();

    var other = prospects.look();
    assertThat(prospects.isNobodyLooking()).isFalse();
    other.stops();
    hangs.begins();
    assertThat(prospects.isNobodyLooking()).as("its next claim").isFalse();
  }

  @Test
  void h45_behindARowThatWasFoundThereMayBeAnother() {
    var look = prospects.look();
    look.begins();
    look.found(1);
    assertThat(prospects.isSomethingNew()).isTrue();

    var other = prospects.look();
    assertThat(other.isMoreLeft()).as("has come for what is behind").isTrue();
    other.begins();
    other.found(0);
    assertThat(other.isMoreLeft()).isFalse();
    assertThat(prospects.isSomethingNew()).isFalse();

    look.ended(new Left(true, false));
    assertThat(prospects.isSomethingNew()).isTrue();
  }

  /** One that is over within milliseconds tells so itself. */
  @Test
  void h45_onlyBehindALongHandlerSomebodyElseLooks() {
    var look = prospects.look();
    look.begins();
    look.found(1);
    now.addAndGet(Duration.ofMillis(4).toNanos());
    assertThat(prospects.isSomethingLeftBehind()).isFalse();
    now.addAndGet(Duration.ofMillis(1).toNanos());
    assertThat(prospects.isSomethingLeftBehind()).isTrue();

    var other = prospects.look();
    other.begins();
    other.found(1);
    assertThat(prospects.isSomethingLeftBehind()).as("behind the other one").isFalse();
    now.addAndGet(Duration.ofMillis(5).toNanos());
    assertThat(prospects.isSomethingLeftBehind()).isTrue();
    var last = prospects.look();
    last.begins();
    last.found(0);
    now.addAndGet(Duration.ofMillis(5).toNanos());
    assertThat(prospects.isSomethingLeftBehind()).isFalse();
  }

  @Test
  void h45_newAndScheduledRowsTakeTurnsWhileSomeAreDue() {
    prospects.woken(true);
    var look = prospects.look();
    for (var due : new boolean[] {true, false, true, false}) {
      assertThat(look.begins()).isEqualTo(due);
      assertThat(look.wasForDue()).isEqualTo(due);
      look.found(1);
    }
    assertThat(look.begins()).isTrue();
    look.found(0);
    assertThat(look.begins()).isFalse();
    look.found(1);
    assertThat(look.begins()).as("none is due any more").isFalse();
  }

  @Test
  void h45_aWorkerIsCountedOnceHoweverOftenItStops() {
    var look = prospects.look();
    var other = prospects.look();
    look.begins();
    look.found(0);
    look.stops();
    assertThat(prospects.isNobodyLooking()).isFalse();
    other.stops();
    assertThat(prospects.isNobodyLooking()).isTrue();
    look.begins();
    assertThat(prospects.isNobodyLooking()).isFalse();
  }
}
