package org.pgonce.key;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.crash.CrashEffects;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;

/** H53 across crashes: within a key never overtaken, never two at once, none lost. */
@PgTest
class OrderCrashTest extends KeyCrashScene {

  private static Channel<Order> steps(Mode mode) {
    // What a crash leaves without a known outcome is a dead letter in AT_MOST_ONCE.
    var order =
        mode == Mode.AT_MOST_ONCE ? KeyOrder.DEAD_LETTER_PASSES : KeyOrder.DEAD_LETTER_BLOCKS;
    return Channel.of("steps", Order.class, mode, ChannelOptions.DEFAULT.withOrder(order));
  }

  static final class Worker {
    public static void main(String[] arguments) throws Exception {
      work(arguments, steps(Mode.valueOf(arguments[2])), CrashEffects.LEASE);
    }
  }

  @Tag("all")
  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h53_s01_theOrderOfEachKeyOutlivesListenersThatAreKilled(Mode mode) throws Exception {
    var published = handleAllWhileTwoAreKilled(Worker.class, steps(mode), 1);
    assertThat(broken(trace())).isEmpty();
    assertHandled(published, mode, 1);
  }

  /** What is against the order, in words. */
  private List<String> broken(List<Step> trace) {
    var broken = new ArrayList<String>();
    var last = new HashMap<String, Step>();
    for (var step : trace) {
      var before = last.put(step.key(), step);
      if (before == null) {
        continue;
      }
      if (step.id() < before.id()) {
        broken.add(step + " comes after " + before);
      }
      var alone =
          step.ends() ? step.endsWhatBegan(before) : before.ends() || killed.contains(before.pid());
      if (!alone) {
        broken.add(step + " comes while " + before + " runs");
      }
    }
    return broken;
  }
}
