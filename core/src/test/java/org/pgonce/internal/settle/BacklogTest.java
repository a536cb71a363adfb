package org.pgonce.internal.settle;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.pgonce.internal.claim.RowsBehind;

/** When a deletion looks for what lies behind it. */
class BacklogTest {

  private static final RowsBehind MORE = new RowsBehind(true, false);
  private static final RowsBehind NOTHING = new RowsBehind(false, false);

  private final Settlement.Backlog backlog = new Settlement.Backlog();

  /** How many go without a look until one looks, which sees this. */
  private int unseenUntil(RowsBehind seen) {
    var unseen = 0;
    while (backlog.goesOn()) {
      unseen++;
      assertThat(unseen).isLessThan(1_000);
    }
    assertThat(backlog.seen(seen)).isEqualTo(seen);
    return unseen;
  }

  @Test
  void eachLooksWhereThereIsLittle() {
    for (var i = 0; i < 100; i++) {
      for (var burst = 0; burst < 7; burst++) {
        assertThat(unseenUntil(MORE)).isZero();
      }
      assertThat(unseenUntil(NOTHING)).isZero();
    }
  }

  @Test
  void amidABacklogOneOfSeventeenLooksAndAtItsEndEachDoesAgain() {
    for (var i = 0; i < 8; i++) {
      assertThat(unseenUntil(MORE)).isZero();
    }
    for (var i = 0; i < 10; i++) {
      assertThat(unseenUntil(MORE)).isEqualTo(16);
    }
    assertThat(unseenUntil(NOTHING)).isEqualTo(16);
    assertThat(unseenUntil(MORE)).isZero();
    assertThat(unseenUntil(NOTHING)).isZero();
  }
}
