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
 * Which source to try, and in which order: the one that worked last, then the others as given.
 * Belongs to one thread.
 */
final class SourceChoice {

  // A driver may leak what it could not finish (pgjdbc-ng does): not at every reconnect.
  private static final Duration REST = Duration.ofMinutes(10);

  private final List<WakeUpSource> given;
  private final Map<String, String> failures = new HashMap<>();
  private final Map<String, Deadline> resting = new HashMap<>();
  private @Nullable WakeUpSource worked;

  SourceChoice(List<WakeUpSource> given) {
    this.given = List.copyOf(given);
  }

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
    // Never nobody: the last one given is the one that is trusted most.
    return order.isEmpty() ? given.subList(Math.max(0, given.size() - 1), given.size()) : order;
  }

  void works(WakeUpSource source) {
    worked = source;
    failures.remove(source.name());
    resting.remove(source.name());
  }

  void failed(WakeUpSource source, SQLException failure) {
    failures.put(source.name(), Diagnosis.inShort(failure));
    if (source == worked) {
      worked = null;
    }
    if (!Diagnosis.saidByServer(failure)) {
      resting.put(source.name(), Deadline.in(REST));
    }
  }

  Map<String, String> failures() {
    return failures;
  }
}
