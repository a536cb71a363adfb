package org.pgonce.cli.doctor;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.Database;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.schema.SchemaState;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.FailedException;
import org.pgonce.cli.terminal.Rows;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Examines server, schema, tables and channels. It only reads. */
@Command(
    name = "doctor",
    description =
        "Finds what is wrong or about to be: server, settings, pooler, vacuum, rights, schema, triggers, listeners. Exit status 3 where it finds more than an INFO.")
public final class DoctorCommand extends DatabaseCommand {

  @Option(
      names = "--old",
      paramLabel = "SECONDS",
      defaultValue = "300",
      description = "From which age on a transaction is old. Default: 300")
  private int old = 300;

  @Override
  protected int run(Database database) {
    if (old < 0) {
      throw new FailedException("--old is " + old + ": 0 seconds or more");
    }
    var findings = new ArrayList<Finding>();
    var checks = new ArrayList<Check>();
    checks.add(PoolerCheck.over(connection.dataSource(terminal())));
    checks.addAll(ServerChecks.ALL);
    checks.addAll(VacuumChecks.of(old));
    checks.addAll(orNone(findings, "SCHEMA", () -> ofSchema(database.read(SchemaState::of))));
    for (var check : checks) {
      findings.addAll(orNone(findings, check.name(), () -> database.read(check.search()::find)));
    }
    findings.sort(Comparator.comparing(Finding::severity));
    output.printUpright(terminal(), rows(findings), "nothing was found");
    return findings.stream().anyMatch(one -> one.severity() != Finding.Severity.INFO)
        ? ExitStatus.FOUND
        : ExitStatus.DONE;
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
    } catch (FailedException e) {
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

  private static Rows rows(List<Finding> findings) {
    var values = new ArrayList<List<@Nullable Object>>();
    for (var one : findings) {
      values.add(List.of(one.severity().name(), one.name(), one.what(), one.why(), one.advice()));
    }
    return new Rows(List.of("severity", "name", "what", "why", "advice"), values);
  }
}
