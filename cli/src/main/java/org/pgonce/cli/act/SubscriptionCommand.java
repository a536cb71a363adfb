package org.pgonce.cli.act;

import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.sql.Statements;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Pauses or resumes a channel, or one of its subscriptions. */
abstract class SubscriptionCommand extends ChangeCommand {

  @Parameters(paramLabel = "CHANNEL")
  private String channel = "";

  @Option(names = "--subscription", paramLabel = "NAME", description = "Default: all")
  private @Nullable String subscription;

  private final String what;
  private final String participle;

  SubscriptionCommand(String what, String participle) {
    this.what = what;
    this.participle = participle;
  }

  @Override
  final long change(Statements statements, String because) throws SQLException {
    return statements.number(
        "SELECT pgonce.%s(?, ?, ?)".formatted(what), channel, because, subscription);
  }

  @Override
  final void report(long touched) {
    output.print(
        terminal(),
        why.done(what, channel, subscription, touched),
        why.sentence(touched, "subscriptions of channel " + channel, participle));
  }
}
