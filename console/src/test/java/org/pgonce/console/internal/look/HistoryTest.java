package org.pgonce.console.internal.look;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.pgonce.console.internal.look.History.Point;

/** Rates, of what the server has counted. */
class HistoryTest {

  private static final long SECOND = 1_000_000_000L;

  private final History history = new History();
  private final long began = System.nanoTime() - 60 * SECOND;

  private void look(int second, long stored, long finished) {
    history.expire();
    history.counts(() -> new Counts(began + second * SECOND, List.of(), stored, finished, false));
  }

  @Test
  void statisticsThatWereResetAreNoRate() {
    look(1, 20_512, -512_000); // most of it was scheduled, and waits
    look(2, 20_522, -511_995);
    look(3, 0, 0); // the server has crashed
    look(4, 3, 2);
    assertThat(history.storedPerSecond()).extracting(Point::value).containsExactly(10.0, 3.0);
    assertThat(history.finishedPerSecond()).extracting(Point::value).containsExactly(5.0, 2.0);
  }
}
