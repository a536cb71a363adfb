package org.pgonce.cli.doctor;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
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
  protected int run(Database database) throws SQLException {
    if (old < 0) {
      throw new FailedException("--old is " + old + ": 0 seconds or more");
    }
    var findings = new ArrayList<Finding>();
    findings.addAll(PoolerCheck.find(connection.dataSource(terminal())));
    var checks = new ArrayList<Check>(ServerChecks.ALL);
    checks.addAll(VacuumChecks.of(old));
    checks.add(SchemaChecks::version);
    var state = database.read(SchemaState::of);
    if (state.installed() != 0) {
      checks.add(RightsCheck::find);
      checks.addAll(TableChecks.ALL);
      if (state.installed() == state.needed()) {
        checks.add(SchemaChecks::drift);
      }
      if (database.read(RightsCheck::mayLook)) {
        checks.addAll(ChannelChecks.ALL);
      }
      if (database.read(
          s ->
              s.isTrue(
                  "SELECT has_schema_privilege('pgonce', 'USAGE') AND has_function_privilege('pgonce.copy_of_another()', 'EXECUTE')"))) {
        checks.add(ChannelChecks.COPY);
      }
    }
    for (var check : checks) {
      findings.addAll(found(database, check));
    }
    findings.sort(Comparator.comparing(Finding::severity));
    output.printUpright(terminal(), rows(findings), "nothing was found");
    return findings.stream().anyMatch(one -> one.severity() != Finding.Severity.INFO)
        ? ExitStatus.FOUND
        : ExitStatus.DONE;
  }

  /** One that fails, as for a right, hides no other. */
  private static List<Finding> found(Database database, Check check) {
    try {
      return database.read(check::find);
    } catch (FailedException e) {
      return List.of(
          new Finding(
              Finding.Severity.WARNING,
              "NOT_EXAMINED",
              "something could not be examined: " + e.getMessage(),
              "What it would find is not in this list.",
              "Mend that, or take a login with more rights, and run doctor again."));
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
