package org.pgonce.internal.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.internal.handle.Registration;

/** What is said at the start and keeps nobody from it. */
class StartWarningsTest {

  private static Registration<String> listener(String channel, int concurrency) {
    return listener(channel, concurrency, Mode.EXACTLY_ONCE);
  }

  private static Registration<String> listener(String channel, int concurrency, Mode mode) {
    return new Registration<>(
        Channel.of(channel, String.class, mode),
        "default",
        (one, tx) -> {},
        ListenOptions.DEFAULT.withConcurrency(concurrency));
  }

  @Test
  void h57_aPoolIsAsLargeAsAllWorkersAndTwoMore() {
    List<Registration<?>> both = List.of(listener("a", 4), listener("b", 6));
    assertThat(StartWarnings.ofPool(11, both))
        .contains("at most 11 connections, and 12 are needed", "a 4, b 6", "Give the pool 12");
    assertThat(StartWarnings.ofPool(12, both)).isNull();
    assertThat(StartWarnings.ofPool(null, both)).isNull();
  }

  @Test
  void h57_aWorkerThatHoldsNoConnectionWhileItHandlesNeedsNoneOfThePool() {
    List<Registration<?>> all =
        List.of(
            listener("a", 4),
            listener("b", 60, Mode.AT_LEAST_ONCE),
            listener("c", 60, Mode.AT_MOST_ONCE),
            listener("d", 60, Mode.BROADCAST));
    assertThat(StartWarnings.ofPool(6, all)).isNull();
    assertThat(StartWarnings.ofPool(5, all)).contains("and 6 are needed: 4 for handlers (a 4)");
  }

  @Test
  void anOldDriverIsNamedWithItsVersion() {
    for (var old : List.of("42.7.7", "42.6.9", "9.4.1212")) {
      assertThat(StartWarnings.ofDriver("PostgreSQL JDBC Driver " + old))
          .contains("pgjdbc is of version " + old, "42.7.8 or later");
    }
    for (var fit : List.of("42.7.8", "42.7.14", "42.8.0", "43.0.0", "42.7.8-SNAPSHOT", "unknown")) {
      assertThat(StartWarnings.ofDriver("PostgreSQL JDBC Driver " + fit)).as(fit).isNull();
    }
    assertThat(StartWarnings.ofDriver(StartWarnings.driver())).isNull();
    assertThat(StartWarnings.driver()).containsPattern("[0-9]+\\.[0-9]+\\.[0-9]+");
  }
}
