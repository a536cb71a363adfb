package org.pgonce.key;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.Mode;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;

/**
 * H56: 20,000 keys wait, each for a dead letter, for a row that is due later, or for a lease. Idle
 * processes stay idle, and other keys flow.
 */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class BlockedKeysTest extends BlockedKeysScene {

  @Tag("all")
  @ParameterizedTest
  @CsvSource({"NOTHING, EXACTLY_ONCE", "DEAD, EXACTLY_ONCE"})
  void h56_idleStaysIdleAndOtherKeysFlow(Why why, Mode mode) throws Exception {
    idleStaysIdleAndOtherKeysFlow(why, mode);
  }

  @Tag("all")
  @ParameterizedTest
  @CsvSource({
    "NOTHING, AT_LEAST_ONCE",
    "DEAD, AT_LEAST_ONCE",
    "DEAD, AT_MOST_ONCE",
    "LATER, AT_LEAST_ONCE",
    "LATER, EXACTLY_ONCE",
    "LATER, AT_MOST_ONCE",
    "LEASED, AT_LEAST_ONCE",
    "LEASED, AT_MOST_ONCE"
  })
  void h56_soTheyDoInTheOtherModes(Why why, Mode mode) throws Exception {
    idleStaysIdleAndOtherKeysFlow(why, mode);
  }

  private void idleStaysIdleAndOtherKeysFlow(Why why, Mode mode) throws Exception {
    block(why, mode);
    var process = listen();
    if (why != Why.NOTHING) { // else there are few polls
      awaitSettled(process);
      var before = tuplesRead();
      awaitTenPolls(process);
      var idle = tuplesRead() - before;
      // One walk over all keys costs 40,000 and more, and may be under way.
      System.out.println(describe(why + " " + mode + " idle, 10 polls", idle));
      assertThat(idle).as("10 polls").isLessThan(15L * KEYS);
    }

    var before = tuplesRead();
    var begun = System.nanoTime();
    for (var id = 1; id <= 200; id++) {
      publish("", id, id);
      Stage.awaitSoon(handled);
    }
    var oneByOne = System.nanoTime() - begun;
    publish("", 1_001, 2_000);
    stage.awaitSoon(() -> ended.size() == 1_200);
    var bulk = System.nanoTime() - begun - oneByOne;
    closeProcesses();
    var read = tuplesRead() - before;
    System.out.println(
        describe(
            "%s %s flow: %d ms for 200, %d ms for 1,000"
                .formatted(why, mode, oneByOne / 1_000_000, bulk / 1_000_000),
            read));
    assertThat(read).as("1,200 of free keys").isLessThan(1_200 * 60 + 15L * KEYS);
    assertThat(ended).doesNotHaveDuplicates();
  }
}
