package org.pgonce.cli.doctor;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.DurationOption;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.operations.internal.doctor.Doctor;
import org.pgonce.operations.internal.doctor.Finding;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.Rows;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Examines server, schema, tables and channels. It only reads. */
@Command(
    name = "doctor",
    description =
        "Finds what is wrong or about to be: server, settings, pooler, vacuum, rights, schema, triggers, listeners. Exit status 3 where it finds more than an INFO.")
public final class DoctorCommand extends DatabaseCommand {

  private static final String OF_WHAT =
      "doctor looks at the installation; why something waits is in: pgonce explain";

  private static final Duration OLDEST = Duration.ofDays(3_650);

  @Option(
      names = "--old",
      paramLabel = DurationOption.LABEL,
      converter = DurationOption.class,
      defaultValue = "5m",
      description = "From which age on a transaction is old: 90 (seconds), 5m, 2h, 3d. Default: 5m")
  private Duration old = Duration.ofMinutes(5);

  @Override
  protected int run(Database database) {
    var seconds = DurationOption.secondsOf("--old", old, Duration.ZERO, OLDEST);
    var findings =
        Doctor.examine(
            database, seconds, List.of(PoolerCheck.over(connection.dataSource(terminal()))));
    output.printUpright(terminal(), rows(findings), "nothing was found");
    if (!output.isJson()) {
      terminal().out().println("\n" + OF_WHAT);
    }
    return findings.stream().anyMatch(one -> one.severity() != Finding.Severity.INFO)
        ? ExitStatus.FOUND
        : ExitStatus.DONE;
  }

  private static Rows rows(List<Finding> findings) {
    var values = new ArrayList<List<@Nullable Object>>();
    for (var one : findings) {
      values.add(List.of(one.severity().name(), one.name(), one.what(), one.why(), one.advice()));
    }
    return new Rows(List.of("severity", "name", "what", "why", "advice"), values);
  }
}
