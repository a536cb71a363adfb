package org.pgonce.cli.act;

import static org.pgonce.operations.internal.sql.LookStatements.DEAD_LETTER_FITS;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.database.DeadLetterFilter;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.operations.internal.sql.Database;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Redrives or discards, in batches. */
abstract class DeadLetterCommand extends DatabaseCommand {

  private static final String COUNT =
      "SELECT count(*) FROM pgonce.dead_letter_status d WHERE " + DEAD_LETTER_FITS;

  // By ids that go up: what dies anew meanwhile is not taken again.
  private static final String NEXT =
      """
      SELECT b.id FROM (SELECT DISTINCT d.id FROM pgonce.dead_letter_status d WHERE %s AND d.id > ?::text::bigint) b ORDER BY b.id LIMIT %s
      """
          .formatted(DEAD_LETTER_FITS, Batches.SIZE);

  @Parameters(index = "0", paramLabel = "CHANNEL")
  private String channel = "";

  @Parameters(index = "1..*", arity = "0..*", paramLabel = "ID", description = "Only these")
  private List<Long> ids = List.of();

  @Mixin private DeadLetterFilter filter = new DeadLetterFilter();

  @Option(names = "--all", description = "All of the channel, where nothing else is given")
  private boolean all;

  @Mixin private Why why = new Why();

  private final String what;
  private final String participle;

  DeadLetterCommand(String what, String participle) {
    this.what = what;
    this.participle = participle;
  }

  @Override
  protected int run(Database database) {
    var because = why.because();
    if ((ids.isEmpty() && filter.isAll()) != all) {
      throw new UsageException(
          all
              ? "--all beside ids or a filter: give one of them"
              : "which dead letters of channel %s? Give ids, --reason, --error, --from, --before or --subscription, or --all; pgonce dead lists them"
                  .formatted(channel));
    }
    var total =
        database.read(
            statements -> {
              filter.resolve(statements);
              return statements.number(COUNT, filter.parameters(channel, ids));
            });
    var touched =
        new Batches(terminal(), what, "dead letters were " + participle, why)
            .run(
                total, behind -> next(database, behind), batch -> change(database, batch, because));
    output.print(
        terminal(),
        why.done(what, channel, filter.subscription(), touched),
        why.sentence(touched, "dead letters of channel " + channel, participle));
    return ExitStatus.DONE;
  }

  private List<Long> next(Database database, long behind) {
    var parameters =
        new ArrayList<@Nullable String>(Arrays.asList(filter.parameters(channel, ids)));
    parameters.add(String.valueOf(behind));
    return database.read(NEXT, parameters.toArray(new @Nullable String[0])).column("id").stream()
        .map(Long.class::cast)
        .toList();
  }

  private long change(Database database, List<Long> batch, String because) {
    return database.write(
        why.dryRun(),
        statements -> {
          why.sign(terminal(), statements);
          return statements.number(
              "SELECT pgonce.%s(?, ?::text::bigint[], ?, ?, ?, ?, ?::text::timestamptz, ?::text::timestamptz)"
                  .formatted(what),
              filter.arguments(channel, batch, because));
        });
  }
}
