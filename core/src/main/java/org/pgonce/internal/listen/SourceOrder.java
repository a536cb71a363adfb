package org.pgonce.internal.listen;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.internal.listen.ListenFailure.Scope;
import org.pgonce.spi.WakeUpSource;

/**
 * Which sources to try: as given, without those that failed by their own fault a short while ago.
 * Belongs to one thread.
 */
final class SourceOrder {

  // A driver may leak what it could not finish (pgjdbc-ng 0.8.9 does): not at every reconnect.
  private static final Duration REST = Duration.ofHours(1);

  private record Failed(ListenFailure failure, long nanoTime) {
    boolean rests(boolean last) {
      // The last one goes on, or nobody would. Behind a pooler it leaks the pooler's connections.
      return failure.scope() == Scope.SOURCE
          && (!last || failure.kind() == Kind.POOLER)
          && System.nanoTime() - nanoTime < REST.toNanos();
    }
  }

  private final List<WakeUpSource> given;
  private final Map<String, Failed> failed = new HashMap<>();

  SourceOrder(List<WakeUpSource> given) {
    this.given = List.copyOf(given);
  }

  /** Whether none is given: polling alone was chosen. */
  boolean isEmpty() {
    return given.isEmpty();
  }

  /**
   * Returns at least one.
   *
   * @throws ListenFailure none is given, or why the last one rests
   */
  List<WakeUpSource> usable() throws ListenFailure {
    if (given.isEmpty()) {
      throw ListenFailure.polling("no wake-up source is configured");
    }
    var usable = given.stream().filter(source -> !rests(source)).toList();
    var why = failed.get(last().name());
    if (usable.isEmpty() && why != null) {
      throw why.failure();
    }
    return usable;
  }

  private boolean rests(WakeUpSource source) {
    var before = failed.get(source.name());
    return before != null && before.rests(source == last());
  }

  private WakeUpSource last() {
    return given.get(given.size() - 1);
  }

  /** It could connect. */
  void connected(WakeUpSource source) {
    failed.remove(source.name());
  }

  /**
   * It could not connect.
   *
   * @return whether the next source is to be tried at the same address
   */
  boolean failed(WakeUpSource source, ListenFailure failure) {
    if (failure.scope() == Scope.SERVER) {
      return false;
    }
    failed.put(source.name(), new Failed(failure, System.nanoTime()));
    return true;
  }

  /** Which sources could not connect though something answered, and why. */
  Map<String, String> failures() {
    var reasons = new HashMap<String, String>();
    failed.forEach((name, one) -> reasons.put(name, one.failure().reason()));
    return reasons;
  }
}
