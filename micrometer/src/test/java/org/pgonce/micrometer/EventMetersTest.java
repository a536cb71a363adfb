package org.pgonce.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.micrometer.Stage.value;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.pgonce.Mode;
import org.pgonce.spi.Event;
import org.pgonce.spi.Event.WaitCause;

/** Which meter each event goes to; that real runs have these events MetersOfARunTest shows. */
class EventMetersTest {

  private static final Duration LAG = Duration.ofMillis(30);
  private static final Duration TIME = Duration.ofMillis(7);

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final EventMeters meters = new EventMeters(registry);

  @Test
  void lagIsFromDueToClaimed() {
    meters.on(new Event.Claimed(attempt(1, 1), LAG));
    var lag = registry.get("pgonce.lag").tags("channel", "mails", "subscription", "default");
    assertThat(lag.tag("mode", "EXACTLY_ONCE").timer().totalTime(MILLIS)).isEqualTo(30);
  }

  @Test
  void eachOutcomeOfAnAttemptIsOfItsOwn() {
    meters.on(new Event.Handled(attempt(1, 1), LAG, TIME));
    meters.on(new Event.Failed(attempt(2, 1), TIME, "java.io.IOException", "no", LAG));
    meters.on(new Event.Skipped(attempt(3, 1)));
    meters.on(new Event.Dead(attempt(2, 2), "java.io.IOException", "no"));
    meters.on(new Event.Dead(attempt(4, 1), "", "too deep"));

    assertThat(process("handled", "none")).isEqualTo(1);
    assertThat(process("failed", "java.io.IOException")).isEqualTo(1);
    assertThat(process("skipped", "none")).isEqualTo(1);
    assertThat(process("dead", "java.io.IOException")).isEqualTo(1);
    assertThat(process("dead", "none")).isEqualTo(1);
    assertThat(registry.get("pgonce.process").tag("outcome", "handled").timer().totalTime(MILLIS))
        .isEqualTo(7);
  }

  private static Event.Attempt attempt(long id, int attempt) {
    return new Event.Attempt("mails", "default", Mode.EXACTLY_ONCE, id, attempt);
  }

  private double process(String outcome, String error) {
    return value(registry, "pgonce.process", "outcome", outcome, "error", error);
  }

  @Test
  void whatIsPublishedWaitsOrIsDroppedCounts() {
    meters.on(new Event.Published("mails", 1, true));
    meters.on(new Event.Published("mails", 1, false));
    meters.on(new Event.Waited("mails", "default", WaitCause.RATE, TIME));
    meters.on(new Event.BroadcastDropped("news", "default", "queue full"));

    assertThat(value(registry, "pgonce.publish", "channel", "mails", "outcome", "new")).isOne();
    assertThat(value(registry, "pgonce.publish", "channel", "mails", "outcome", "duplicate"))
        .isOne();
    assertThat(value(registry, "pgonce.wait", "channel", "mails", "cause", "rate")).isOne();
    assertThat(value(registry, "pgonce.broadcast.dropped", "channel", "news")).isOne();
  }

  @Test
  void aHundredErrorClassesHaveNamesAndNoMore() {
    IntStream.rangeClosed(1, 300)
        .forEach(n -> meters.on(new Event.Dead(attempt(n, 1), "Error" + n, "no")));
    assertThat(registry.find("pgonce.process").timers()).hasSize(101);
    assertThat(process("dead", "other")).isEqualTo(200);
    assertThat(process("dead", "Error100")).isEqualTo(1);
  }

  private static final java.util.concurrent.TimeUnit MILLIS =
      java.util.concurrent.TimeUnit.MILLISECONDS;
}
