package org.pgonce.micrometer;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;

/**
 * Counts and times what this process does with notifications: {@code pgonce.publish}, {@code
 * pgonce.lag}, {@code pgonce.process}, {@code pgonce.wait}, {@code pgonce.broadcast.dropped}.
 * docs/metrics.md says what each means.
 *
 * <pre>{@code
 * PgOnce.builder(dataSource).observer(new EventMeters(registry)).build();
 * }</pre>
 *
 * <p>Tags are names of channels and subscriptions, and of at most 100 classes of errors; a further
 * class is {@code other}. Safe for use by several threads; opens nothing.
 */
public final class EventMeters implements Observer {

  private static final int MOST_ERRORS = 100;
  private static final String NO_ERROR = "none";

  // Few: each is a series of its own for each channel, outcome and error.
  private static final Duration[] BUCKETS = {
    Duration.ofMillis(5),
    Duration.ofMillis(25),
    Duration.ofMillis(100),
    Duration.ofMillis(500),
    Duration.ofSeconds(2),
    Duration.ofSeconds(10),
    Duration.ofMinutes(1),
    Duration.ofMinutes(5)
  };

  private final MeterRegistry registry;
  private final Set<String> errors = ConcurrentHashMap.newKeySet();

  public EventMeters(MeterRegistry registry) {
    this.registry = Objects.requireNonNull(registry, "registry");
  }

  @Override
  public void on(Event event) {
    if (event instanceof Event.Claimed claimed) {
      time("pgonce.lag", "From due to claimed", tags(claimed.about()), claimed.lag());
    } else if (event instanceof Event.Handled handled) {
      processed(handled.about(), "handled", NO_ERROR, handled.inHandler());
    } else if (event instanceof Event.Failed failed) {
      processed(failed.about(), "failed", failed.errorClass(), failed.inHandler());
    } else if (event instanceof Event.Skipped skipped) {
      processed(skipped.about(), "skipped", NO_ERROR, Duration.ZERO);
    } else if (event instanceof Event.Dead dead) {
      processed(dead.about(), "dead", dead.errorClass(), Duration.ZERO);
    } else if (event instanceof Event.Published published) {
      var outcome = published.isNew() ? "new" : "duplicate";
      count("pgonce.publish", Tags.of("channel", published.channel(), "outcome", outcome));
    } else if (event instanceof Event.Waited waited) {
      var cause = waited.cause() == Event.WaitCause.CONNECTION ? "connection" : "rate";
      time(
          "pgonce.wait",
          "What workers waited for before they could claim",
          Tags.of(
              "channel", waited.channel(), "subscription", waited.subscription(), "cause", cause),
          waited.time());
    } else if (event instanceof Event.BroadcastDropped dropped) {
      count(
          "pgonce.broadcast.dropped",
          Tags.of("channel", dropped.channel(), "subscription", dropped.subscription()));
    }
  }

  private void processed(Event.Attempt attempt, String outcome, String errorClass, Duration time) {
    time(
        "pgonce.process",
        "Handlers that ran, by how the attempt ended",
        tags(attempt).and("outcome", outcome, "error", bounded(errorClass)),
        time);
  }

  private String bounded(String errorClass) {
    if (errorClass.isEmpty()) {
      return NO_ERROR;
    }
    // Several threads may each add one more: that there is a bound matters, not its exact value.
    if (errors.size() < MOST_ERRORS) {
      errors.add(errorClass);
    }
    return errors.contains(errorClass) ? errorClass : "other";
  }

  private static Tags tags(Event.Attempt attempt) {
    return Tags.of(
        "channel",
        attempt.channel(),
        "subscription",
        attempt.subscription(),
        "mode",
        attempt.mode().name());
  }

  private void time(String name, String description, Tags tags, Duration time) {
    Timer.builder(name)
        .description(description)
        .tags(tags)
        .serviceLevelObjectives(BUCKETS)
        .register(registry)
        .record(time);
  }

  private void count(String name, Tags tags) {
    Counter.builder(name).tags(tags).register(registry).increment();
  }
}
