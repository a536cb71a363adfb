package org.pgonce.console.internal.site;

import java.util.List;
import java.util.Set;
import org.pgonce.console.internal.look.Latest;
import org.pgonce.console.internal.page.Section.Cell;
import org.pgonce.console.internal.page.Section.Row;
import org.pgonce.console.internal.page.Section.Table;
import org.pgonce.operations.internal.doctor.Doctor;
import org.pgonce.operations.internal.doctor.Finding;
import org.pgonce.operations.internal.sql.Database;

/**
 * What doctor has found, at most ten seconds ago; while another runs it, at most a minute. Safe for
 * use by several threads.
 */
final class Examination {

  private static final long FRESH_NANOS = 10_000_000_000L;
  private static final long OLDEST_NANOS = 60_000_000_000L;
  private static final int OLD_SECONDS = 300;

  private static final Set<String> OF_DEFINITIONS =
      Set.of(
          "SCHEMA",
          "FUNCTION_DRIFT",
          "FUNCTION_OWNER",
          "TRIGGER_FUNCTION_OWNER",
          "TRIGGER_DISABLED",
          "NO_TRIGGER",
          "REPLICA_ROLE",
          "NO_SUBSCRIPTION",
          "OUTDATED_LISTENER");

  // They say that something could not be looked at: so neither page may say that nothing was found.
  private static final Set<String> OF_BOTH = Set.of("NOT_EXAMINED", "RIGHTS");

  private final Latest<List<Finding>> latest;

  Examination() {
    this(FRESH_NANOS, OLDEST_NANOS);
  }

  Examination(long freshNanos, long oldestNanos) {
    latest = new Latest<>(freshNanos, oldestNanos);
  }

  void expire() {
    latest.expire();
  }

  /** What was found of the definitions, or of all else. */
  Table table(Database database, boolean ofDefinitions) {
    var rows =
        latest.of(() -> Doctor.examine(database, OLD_SECONDS, List.of())).stream()
            .filter(
                one ->
                    OF_BOTH.contains(one.name())
                        || OF_DEFINITIONS.contains(one.name()) == ofDefinitions)
            .map(Examination::row)
            .toList();
    return new Table(
        "findings",
        ofDefinitions ? "What differs from its definition" : "What is wrong, or about to be",
        List.of("Severity", "Finding", "What", "Why it matters", "What to do"),
        rows,
        "Nothing was found.",
        null,
        null);
  }

  private static Row row(Finding one) {
    var look =
        switch (one.severity()) {
          case ERROR -> "bad";
          case WARNING -> "warn";
          case INFO -> "good";
        };
    return new Row(
        null,
        one.name(),
        List.of(
            Cell.badge(one.severity().name(), look),
            Cell.code(one.name()),
            Cell.of(one.what()),
            Cell.of(one.why()),
            Cell.of(one.advice())));
  }
}
