package org.pgonce.internal.wakeup;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpSource;

/** Hearings with bounds that a test can wait for. */
final class Hearings {

  /** A dead connection is noticed within 1.2 s. */
  static final HearingConfig QUICK =
      new HearingConfig(
          Duration.ofSeconds(5),
          Duration.ofMillis(200),
          Duration.ofSeconds(1),
          Duration.ofMillis(20),
          Duration.ofMillis(200));

  /** For what is to be heard throughout: a busy machine may not answer for seconds. */
  static final HearingConfig PATIENT =
      new HearingConfig(
          Duration.ofSeconds(30),
          Duration.ofMillis(200),
          Duration.ofSeconds(5),
          Duration.ofMillis(20),
          Duration.ofMillis(200));

  /** What the bounds do not count: a machine that does many other things. */
  static final Duration SLACK = Duration.ofSeconds(5);

  static final Duration NOTICED = QUICK.heartbeat().plus(QUICK.echoDeadline()).plus(SLACK);

  private Hearings() {}

  static Hearing started(
      WakeUpSource source, ListenAddress address, Hearing.Sink sink, String... channels) {
    return started(List.of(source), AddressLookup.found(address), sink, channels);
  }

  /** With {@link #PATIENT} bounds. */
  static Hearing startedPatiently(
      WakeUpSource source, ListenAddress address, Hearing.Sink sink, String... channels) {
    var hearing =
        new Hearing(
            List.of(source), () -> AddressLookup.found(address), PATIENT, Set.of(channels), sink);
    hearing.start();
    return hearing;
  }

  static Hearing started(
      List<WakeUpSource> sources, AddressLookup lookup, Hearing.Sink sink, String... channels) {
    var hearing = new Hearing(sources, () -> lookup, QUICK, Set.of(channels), sink);
    hearing.start();
    return hearing;
  }
}
