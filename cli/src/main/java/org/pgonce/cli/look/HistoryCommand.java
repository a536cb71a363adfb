package org.pgonce.cli.look;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.database.Times;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.text.Durations;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code pgonce.history_of}. */
@Command(
    name = "history",
    description = "What was handled, when, by whom, how long; the newest last.")
public final class HistoryCommand extends DatabaseCommand {

  private static final String HISTORY =
      """
      SELECT h.subscription, h.id, h.outcome, h.delivery_key, h.created_at, h.due_at, h.claimed_at, h.handled_at, h.took, h.attempts, h.instance, h.payload
        FROM pgonce.history_of(?, ?::text::timestamptz, ?::text::timestamptz, NULL, ?::int, ?, ?, ?::boolean) h ORDER BY h.handled_at, h.id, h.subscription
      """;

  private static final String KEEPS =
      "SELECT EXISTS (SELECT FROM pgonce.channel_settings s WHERE s.channel = ? AND s.history IS NOT NULL)";

  @Parameters(paramLabel = "CHANNEL")
  private String channel = "";

  @Option(names = "--key", paramLabel = "KEY", description = "Only of this delivery key")
  private @Nullable String key;

  @Option(names = "--subscription", paramLabel = "NAME", description = "Default: all")
  private @Nullable String subscription;

  @Option(
      names = "--from",
      paramLabel = "TIME",
      description = "Only what was handled then or later: 2h (ago), 30m, 3d, or '2026-11-26 10:00'")
  private @Nullable String from;

  @Option(
      names = "--before",
      paramLabel = "TIME",
      description = "Only what was handled before that, written as for --from")
  private @Nullable String before;

  @Option(
      names = "--payload",
      description =
          "With the payloads where they were kept, which may be secret; takes pgonce_admin")
  private boolean payload;

  @Mixin private Limit limit = new Limit();

  @Override
  protected int run(Database database) {
    var rows =
        database.read(
            statements ->
                statements.rows(
                    HISTORY,
                    channel,
                    Times.resolve(statements, "--from", from),
                    Times.resolve(statements, "--before", before),
                    limit.text(),
                    key,
                    subscription,
                    String.valueOf(payload)));
    output.print(
        terminal(),
        output.isJson() ? rows : rows.with("took", HistoryCommand::exactly),
        rows.isEmpty() ? none(database) : "",
        payload
            ? new String[] {
              "subscription",
              "id",
              "outcome",
              "handled_at=handled",
              "took",
              "attempts",
              "instance",
              "payload"
            }
            : new String[] {
              "subscription",
              "id",
              "outcome",
              "delivery_key=key",
              "created_at=stored",
              "handled_at=handled",
              "took",
              "attempts",
              "instance"
            });
    return ExitStatus.DONE;
  }

  private String none(Database database) {
    return database.read(statements -> statements.isTrue(KEEPS, channel))
        ? "nothing that fits was handled"
        : "the channel keeps no history (ChannelOptions.withHistory)";
  }

  private static @Nullable Object exactly(@Nullable Object took) {
    return took instanceof Duration duration ? Durations.exactly(duration) : took;
  }
}
