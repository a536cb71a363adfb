package org.pgonce.operations.internal.doctor;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Supplier;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.RefusedException;

/** Runs all checks, each in a transaction of its own that may only read. */
public final class Doctor {

  private Doctor() {}

  /**
   * The findings, those that matter most first.
   *
   * @param old from which age on a transaction is old, in seconds
   * @param more checks of the caller's, run first
   */
  public static List<Finding> examine(Database database, int old, List<Check> more) {
    var findings = new ArrayList<Finding>();
    var checks = new ArrayList<>(more);
    checks.addAll(ServerChecks.ALL);
    checks.addAll(VacuumChecks.of(old));
    checks.addAll(orNone(findings, "SCHEMA", () -> ofSchema(database.read(SchemaState::of))));
    for (var check : checks) {
      findings.addAll(orNone(findings, check.name(), () -> database.read(check.search()::find)));
    }
    findings.sort(Comparator.comparing(Finding::severity));
    return findings;
  }

  private static List<Check> ofSchema(SchemaState state) {
    var checks = new ArrayList<Check>();
    checks.add(new Check("SCHEMA", statements -> SchemaChecks.version(state)));
    if (state.installed() != 0) {
      checks.add(new Check("RIGHTS", RightsCheck::find));
      checks.addAll(TableChecks.ALL);
      if (state.installed() == state.needed()) {
        checks.add(new Check("FUNCTION_DRIFT", SchemaChecks::drift));
      }
      ChannelChecks.ALL.forEach(check -> checks.add(RightsCheck.ifMayLook(check)));
      checks.add(ChannelChecks.COPY);
    }
    return checks;
  }

  /** What fails is a finding of its own: doctor is for databases where something is wrong. */
  private static <R> List<R> orNone(
      List<Finding> findings, String name, Supplier<List<R>> examined) {
    try {
      return examined.get();
    } catch (RefusedException e) {
      findings.add(
          new Finding(
              Finding.Severity.WARNING,
              "NOT_EXAMINED",
              "%s was not examined: %s".formatted(name, e.getMessage()),
              "Trouble of that kind would not be seen.",
              "Look at what the server says; where the schema is of another release, pgonce migrate check."));
      return List.of();
    }
  }
}
