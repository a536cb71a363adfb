package org.pgonce.micrometer;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status;
import org.pgonce.Status.ChannelActivity;

/**
 * What this process did at one moment, for all gauges of a scrape: each status goes through all
 * subscriptions, of which each has its gauges.
 *
 * @param takenAt by {@link System#nanoTime}
 */
record Activity(Status status, Map<Sample.Of, ChannelActivity> handled, long takenAt) {

  private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(1);

  static Activity of(Status status) {
    return new Activity(
        status,
        status.channels().stream()
            .collect(
                Collectors.toMap(
                    one -> new Sample.Of(one.channel(), one.subscription()),
                    one -> one,
                    (first, other) -> first)),
        System.nanoTime());
  }

  boolean isFresh() {
    return System.nanoTime() - takenAt < LONGEST_NANOS;
  }

  /** Null if this process does not handle it. */
  @Nullable ChannelActivity of(Sample.Of of) {
    return handled.get(of);
  }
}
