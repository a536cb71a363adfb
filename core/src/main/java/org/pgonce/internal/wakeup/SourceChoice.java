package org.pgonce.internal.wakeup;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.WakeUpSource;

/**
 * Which source to try, and in which order: the one that worked last, then the others as given. A
 * source that failed by its own fault rests. Belongs to one thread.
 */
final class SourceChoice {

  // A driver may leak what it could not finish (pgjdbc-ng 0.8.9 does): not at every reconnect.
  private static final Duration REST = Duration.ofMinutes(10);
  // Behind a transaction-mode pooler it leaks one of the pooler's client connections each time.
  private static final Duration REST_BEHIND_POOLER = Duration.ofHours(6);
  // A server that restarts breaks a connect or two; that shall not change the source for good.
  private static final int UNCLEAR_FAILURES = 3;

  private final List<WakeUpSource> given;
  private final Map<String, String> failures = new HashMap<>();
  private final Map<String, Deadline> resting = new HashMap<>();
  private final Map<String, Integer> unclear = new HashMap<>();
  private @Nullable WakeUpSource worked;

  SourceChoice(List<WakeUpSource> given) {
    this.given = List.copyOf(given);
  }

  boolean none() {
    return given.isEmpty();
  }

  /** Empty while all rest. */
  List<WakeUpSource> inOrder() {
    List<WakeUpSource> order = new ArrayList<>();
    if (worked != null) {
      order.add(worked);
    }
    for (var source : given) {
      var rest = resting.get(source.name());
      if (source != worked && (rest == null || rest.passed())) {
        order.add(source);
      }
    }
    return order;
  }

  /** It could connect. */
  void works(WakeUpSource source) {
    worked = source;
    failures.remove(source.name());
    resting.remove(source.name());
    unclear.remove(source.name());
  }

  /**
   * It could not connect.
   *
   * @return whether the next source is to be tried at the same address
   */
  boolean failed(WakeUpSource source, SQLException failure) {
    var fault = Fault.of(failure);
    boolean early =
        fault == Fault.UNCLEAR && unclear.merge(source.name(), 1, Integer::sum) < UNCLEAR_FAILURES;
    if (fault == Fault.SERVER || early) {
      return false;
    }
    failures.put(source.name(), Diagnosis.inShort(failure));
    if (source == worked) {
      worked = null;
    }
    if (Diagnosis.mixedUp(failure)) {
      resting.put(source.name(), Deadline.in(REST_BEHIND_POOLER));
    } else if (!Diagnosis.saidByServer(failure) && source != given.get(given.size() - 1)) {
      resting.put(source.name(), Deadline.in(REST)); // the last one goes on, or nobody would
    }
    return true;
  }

  Map<String, String> failures() {
    return failures;
  }
}
