package org.pgonce.operations.internal.text;

import java.time.Duration;

/** A duration in its two largest units: «3h 12m». */
public final class Durations {

  private Durations() {}

  public static String inWords(Duration duration) {
    if (duration.toDays() > 0) {
      return "%dd %dh".formatted(duration.toDays(), duration.toHoursPart());
    } else if (duration.toHours() > 0) {
      return "%dh %dm".formatted(duration.toHours(), duration.toMinutesPart());
    } else if (duration.toMinutes() > 0) {
      return "%dm %ds".formatted(duration.toMinutes(), duration.toSecondsPart());
    } else {
      return duration.toSeconds() + "s";
    }
  }
}
