package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.Backoff;
import org.pgonce.ChannelOptions;
import org.pgonce.History;
import org.pgonce.ListenOptions;
import org.pgonce.PgOnce;

/** Each option takes its least and its most, and refuses all else by its name. */
class OptionRangeTest {

  private static final Duration SHORTEST = Duration.ofSeconds(Long.MIN_VALUE);
  private static final Duration LONGEST = Duration.ofSeconds(Long.MAX_VALUE, 999_999_999);
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Duration DAY = Duration.ofDays(1);

  private static Arguments number(String name, int least, int most, IntConsumer option) {
    return Arguments.of(name, least, most, option);
  }

  private static Arguments time(
      String name, Duration least, Duration most, Consumer<Duration> option) {
    return Arguments.of(name, least, most, option);
  }

  static Stream<Arguments> numbers() {
    return Stream.of(
        number("concurrency", 1, 1_000, ListenOptions.DEFAULT::withConcurrency),
        number("maxAttempts", 1, 1_000, ListenOptions.DEFAULT::withMaxAttempts),
        number("batch", 1, 1_000, ListenOptions.DEFAULT::withBatch),
        number("maxDepth", 1, 10_000, ChannelOptions.DEFAULT::withMaxDepth),
        number("maxRate", 0, 1_000_000, ChannelOptions.DEFAULT::withMaxRate),
        number("maxPerKey", 0, 100, ChannelOptions.DEFAULT::withMaxPerKey));
  }

  static Stream<Arguments> times() {
    var builder =
        PgOnce.builder(
            (DataSource)
                Proxy.newProxyInstance(
                    OptionRangeTest.class.getClassLoader(),
                    new Class<?>[] {DataSource.class},
                    (proxy, method, arguments) -> {
                      throw new AssertionError("an option asked the database");
                    }));
    return Stream.of(
        time(
            "handlerTimeout",
            Duration.ofMillis(10),
            DAY,
            ListenOptions.DEFAULT::withHandlerTimeout),
        time("lease", Duration.ofMillis(100), DAY, ListenOptions.DEFAULT::withLease),
        time(
            "backoff",
            Duration.ofMillis(1),
            Duration.ofDays(365),
            one -> new Backoff(one, Duration.ofDays(365))),
        time("longest backoff", HOUR, Duration.ofDays(365), one -> new Backoff(HOUR, one)),
        time(
            "keyMemory",
            Duration.ZERO,
            Duration.ofDays(3_650),
            ChannelOptions.DEFAULT::withKeyMemory),
        time("history retention", Duration.ofMinutes(1), Duration.ofDays(400), History::of),
        time("pollInterval", Duration.ofMillis(10), HOUR, builder::pollInterval),
        time("startTimeout", Duration.ZERO, HOUR, builder::startTimeout),
        time("stopTimeout", Duration.ZERO, HOUR, builder::stopTimeout));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("numbers")
  void api_aNumberOutOfRangeIsRefusedByName(String name, int least, int most, IntConsumer option) {
    for (var good : new int[] {least, most}) {
      assertThatCode(() -> option.accept(good)).as("%s %d", name, good).doesNotThrowAnyException();
    }
    for (var bad : new int[] {least - 1, most + 1, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
      assertThatIllegalArgumentException()
          .as("%s %d", name, bad)
          .isThrownBy(() -> option.accept(bad))
          .withMessageContaining(name);
    }
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("times")
  void api_aTimeOutOfRangeIsRefusedByName(
      String name, Duration least, Duration most, Consumer<Duration> option) {
    for (var good : new Duration[] {least, most}) {
      assertThatCode(() -> option.accept(good)).as("%s %s", name, good).doesNotThrowAnyException();
    }
    for (var bad : new Duration[] {least.minusNanos(1), most.plusNanos(1), SHORTEST, LONGEST}) {
      assertThatIllegalArgumentException()
          .as("%s %s", name, bad)
          .isThrownBy(() -> option.accept(bad))
          .withMessageContaining(name);
    }
  }
}
