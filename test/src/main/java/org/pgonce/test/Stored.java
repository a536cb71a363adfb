package org.pgonce.test;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * A row of a notification: of one subscription.
 *
 * @param payload JSON, as it is stored
 * @param delay from the storing to the due time; zero for what was due at once
 * @param attempts that have failed
 * @param dead why it is a dead letter; null if it waits
 * @param error of the last attempt, if any
 */
record Stored(
    String channel,
    String subscription,
    long id,
    String payload,
    @Nullable String deliveryKey,
    Instant due,
    Duration delay,
    int attempts,
    @Nullable String dead,
    @Nullable String error) {

  /** To a second: the row was stored a moment after the due time was computed. */
  Duration rounded() {
    return delay.plusMillis(500).truncatedTo(ChronoUnit.SECONDS);
  }

  /** With its payload: those of tests are no secrets. */
  @Override
  public String toString() {
    var text = new StringBuilder(channel);
    if (!subscription.equals("default")) {
      text.append('/').append(subscription);
    }
    text.append(" id ").append(id).append(' ').append(payload);
    if (deliveryKey != null) {
      text.append(", delivery key ").append(deliveryKey);
    }
    if (dead != null) {
      text.append(", dead letter (").append(dead).append("): ").append(error);
    } else if (attempts > 0) {
      text.append(", failed attempts: ").append(attempts).append(", the last: ").append(error);
    } else if (!delay.isZero()) {
      text.append(", delay ").append(rounded());
    }
    return text.toString();
  }
}
