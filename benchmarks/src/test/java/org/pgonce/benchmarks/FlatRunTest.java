package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("all")
class FlatRunTest {

  @Test
  void example_aShortBacklogAndALongOneAreCompared(@TempDir Path directory) throws Exception {
    var run =
        Plotted.onSharedServer(directory, "flat", "--rounds=1", "--backlog=10000", "--handled=100");

    var json = run.json();
    run.assertFiles(); // it has no curve
    for (var way : new String[] {"pgonce", "by_hand"}) {
      assertThat(json.at("/figures/" + way + "/ratio").doubleValue()).isPositive();
    }
  }

  @Test
  void example_theRateUnderAnOpenTransactionIsACurve(@TempDir Path directory) throws Exception {
    var run = Plotted.onSharedServer(directory, "flat", "--pinned", "--rounds=1", "--count=2000");

    var json = run.json();
    run.assertFiles("flat-pinned.svg");
    run.assertCurves("flat-pinned.svg", "pgonce", "by hand", "by hand, with a bound");
    for (var way : new String[] {"pgonce", "by_hand", "by_hand_with_a_bound"}) {
      var figure = json.at("/figures/" + way);
      assertThat(figure.at("/per_second_by_round_and_slice/0").size()).isEqualTo(20);
      assertThat(figure.at("/ratio").doubleValue()).isPositive();
    }
  }
}
