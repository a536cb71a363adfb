package org.pgonce.internal.listen;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.internal.listen.ListenFailure.Scope;
import org.pgonce.spi.WakeUpSource;

/**
 * The sources to try: as configured, without those that failed by their own fault within the last
 * hour. Belongs to one thread.
 */
final class SourceOrder {

  // pgjdbc-ng 0.8.9 leaks what it could not finish: not at every reconnect.
  private static final Duration REST = Duration.ofHours(1);

  private record Failed(ListenFailure failure, long nanoTime) {}

  private final List<WakeUpSource> configured;
  private final Map<String, Failed> failed = new HashMap<>();

  SourceOrder(List<WakeUpSource> configured) {
    this.configured = List.copyOf(configured);
  }

  /** Whether polling alone was chosen. */
  boolean isEmpty() {
    return configured.isEmpty();
  }

  /**
   * Returns at least one.
   *
   * @throws ListenFailure if none is configured, or why the last one rests
   */
  List<WakeUpSource> usable() throws ListenFailure {
    var usable = configured.stream().filter(source -> !rests(source)).toList();
    if (!usable.isEmpty()) {
      return usable;
    }
    var why = isEmpty() ? null : failed.get(last().name());
    throw why == null ? ListenFailure.polling("no wake-up source is configured") : why.failure();
  }

  private boolean rests(WakeUpSource source) {
    var before = failed.get(source.name());
    return before != null
        && before.failure().scope() == Scope.SOURCE
        // The last one is all there is, and rests only where it leaks a pooler's connections.
        && (source != last() || before.failure().kind() == Kind.POOLER)
        && System.nanoTime() - before.nanoTime() < REST.toNanos();
  }

  private WakeUpSource last() {
    return configured.get(configured.size() - 1);
  }

  void connected(WakeUpSource source) {
    failed.remove(source.name());
  }

  /** Returns whether the next source is to be tried at the same address. */
  boolean failed(WakeUpSource source, ListenFailure failure) {
    if (failure.scope() == Scope.SERVER) {
      return false;
    }
    failed.put(source.name(), new Failed(failure, System.nanoTime()));
    return true;
  }

  /** Which sources could not connect though the server answered, and why. */
  Map<String, String> failures() {
    var reasons = new HashMap<String, String>();
    failed.forEach((name, one) -> reasons.put(name, one.failure().reason()));
    return reasons;
  }
}
