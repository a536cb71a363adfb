package org.pgonce.key;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;

/** A limit per key across crashes: never more at once but for those that are dead, none lost. */
@PgTest
class KeyLimitCrashTest extends KeyCrashScene {

  private static final int LIMIT = 2;

  private static Channel<Order> calls(Mode mode) {
    return Channel.of("calls", Order.class, mode, ChannelOptions.DEFAULT.withMaxPerKey(LIMIT));
  }

  static final class Worker {
    public static void main(String[] arguments) throws Exception {
      work(arguments, calls(Mode.valueOf(arguments[2])), Duration.ofSeconds(5));
    }
  }

  @Tag("all")
  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h53_s01_theLimitOfEachKeyOutlivesListenersThatAreKilled(Mode mode) throws Exception {
    var published = handleAllWhileTwoAreKilled(Worker.class, calls(mode), LIMIT);
    var most = new HashMap<String, Integer>();
    assertThat(broken(trace(), most)).isEmpty();
    assertThat(most.values()).contains(LIMIT);
    assertHandled(published, mode, LIMIT);
  }

  /** Where more of a key ran at once than may, in words; those that were killed run no more. */
  private List<String> broken(List<Step> trace, Map<String, Integer> most) {
    var broken = new ArrayList<String>();
    var running = new HashMap<String, Set<Step>>();
    for (var step : trace) {
      var ofKey = running.computeIfAbsent(step.key(), key -> new HashSet<>());
      if (step.ends()) {
        ofKey.removeIf(step::endsWhatBegan);
        continue;
      }
      if (ofKey.size() >= LIMIT) {
        // It has another's place. That one was killed, and says nothing of its end.
        var dead = ofKey.stream().filter(other -> killed.contains(other.pid())).findFirst();
        dead.ifPresentOrElse(
            ofKey::remove, () -> broken.add(step + " begins while " + ofKey + " run"));
      }
      ofKey.add(step);
      most.merge(step.key(), ofKey.size(), Math::max);
    }
    return broken;
  }
}
