package org.pgonce.internal.listen;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpSource;

/** Listeners with bounds that a test can wait for. */
final class Listeners {

  /** A dead connection is noticed within 1.2 s. */
  static final ListenConfig QUICK =
      new ListenConfig(Duration.ofSeconds(5), Duration.ofMillis(200), Duration.ofSeconds(1));

  /** For what is to listen throughout: a busy machine may not answer for seconds. */
  static final ListenConfig PATIENT =
      new ListenConfig(Duration.ofSeconds(30), Duration.ofMillis(200), Duration.ofSeconds(5));

  /** What the bounds do not count: a machine that does many other things. */
  static final Duration SLACK = Duration.ofSeconds(5);

  static final Duration NOTICED = QUICK.heartbeat().plus(QUICK.echoTimeout()).plus(SLACK);

  private Listeners() {}

  static NotificationListener started(
      WakeUpSource source,
      ListenAddress address,
      NotificationListener.Callback callback,
      String... channels) {
    return started(List.of(source), () -> List.of(address), callback, channels);
  }

  static NotificationListener started(
      List<WakeUpSource> sources,
      ListenAddresses.Lookup lookup,
      NotificationListener.Callback callback,
      String... channels) {
    return started(sources, lookup, QUICK, callback, channels);
  }

  /** With {@link #PATIENT} bounds. */
  static NotificationListener startedPatiently(
      WakeUpSource source,
      ListenAddress address,
      NotificationListener.Callback callback,
      String... channels) {
    return started(List.of(source), () -> List.of(address), PATIENT, callback, channels);
  }

  private static NotificationListener started(
      List<WakeUpSource> sources,
      ListenAddresses.Lookup lookup,
      ListenConfig config,
      NotificationListener.Callback callback,
      String... channels) {
    var listener = new NotificationListener(sources, lookup, config, Set.of(channels), callback);
    listener.start();
    return listener;
  }
}
