package org.pgonce.internal.poll;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.pgonce.spi.Observer;

/** When a filling NOTIFY queue is worth a line in the log, and when one more. */
class QueueWatchTest {

  private final List<String> warnings = new ArrayList<>();
  private final QueueWatch watch =
      new QueueWatch(
          new Observer() {
            @Override
            public void databaseTrouble(String channel, String reason) {
              warnings.add(reason);
            }
          });

  @Test
  void h13_belowFivePercentNothingIsSaid() {
    watch.found(0);
    watch.found(0.049);

    assertThat(warnings).isEmpty();
  }

  @Test
  void h13_itWarnsAtFivePercentAndWheneverThatHasDoubled() {
    for (var usage : new double[] {0.05, 0.06, 0.099, 0.1, 0.15, 0.2, 0.41}) {
      watch.found(usage);
    }

    assertThat(warnings)
        .containsExactly(
            "PostgreSQL's NOTIFY queue is 5 % full",
            "PostgreSQL's NOTIFY queue is 10 % full",
            "PostgreSQL's NOTIFY queue is 20 % full",
            "PostgreSQL's NOTIFY queue is 41 % full");
  }

  @Test
  void h13_whenItWasEmptyItWarnsAnew() {
    watch.found(0.3);
    watch.found(
        0.04); // not empty yet: a queue that swings around the bound is not told of each time
    watch.found(0.3);
    watch.found(0.01);
    watch.found(0.05);

    assertThat(warnings)
        .containsExactly(
            "PostgreSQL's NOTIFY queue is 30 % full", "PostgreSQL's NOTIFY queue is 5 % full");
  }
}
