package org.pgonce.cli.act;

import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.sql.Rows;
import org.pgonce.operations.internal.sql.Statements;
import org.pgonce.operations.internal.text.CellText;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Pauses or resumes a channel, or one of its subscriptions. */
abstract class SubscriptionCommand extends ChangeCommand {

  private static final String PAUSE =
      """
      SELECT g.paused_by, g.pause_reason FROM pgonce.channel_gauges g
       WHERE g.channel = ? AND g.subscription = coalesce(?, g.subscription) AND g.paused ORDER BY g.paused_since DESC LIMIT 1
      """;

  @Parameters(paramLabel = "CHANNEL")
  private String channel = "";

  @Option(names = "--subscription", paramLabel = "NAME", description = "Default: all")
  private @Nullable String subscription;

  private String nothing = "";

  private final String what;
  private final String participle;

  SubscriptionCommand(String what, String participle) {
    this.what = what;
    this.participle = participle;
  }

  @Override
  final long change(Statements statements, String because) throws SQLException {
    var touched =
        statements.number(
            "SELECT pgonce.%s(?, ?, ?)".formatted(what), channel, because, subscription);
    if (touched == 0) {
      nothing = nothing(statements.rows(PAUSE, channel, subscription));
    }
    return touched;
  }

  private String nothing(Rows pauses) {
    var pause = pauses.isEmpty() ? null : pauses.values().get(0);
    return "%schannel %s is %s; nothing was changed"
        .formatted(
            subscription == null ? "" : "subscription " + subscription + " of ",
            channel,
            pause == null
                ? "not paused"
                : "paused already, by %s: %s".formatted(CellText.of(pause.get(0)), pause.get(1)));
  }

  @Override
  final void report(long touched) {
    output.print(
        terminal(),
        why.done(what, channel, subscription, touched),
        touched == 0
            ? nothing
            : why.sentence(touched, "subscriptions of channel " + channel, participle));
  }
}
