package org.pgonce.cli.look;

import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.operations.internal.sql.Database;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code pgonce.peek}. */
@Command(name = "peek", description = "What waits in a channel, due or not, the oldest first.")
public final class PeekCommand extends DatabaseCommand {

  private static final String PEEK =
      """
      SELECT p.subscription, p.id, p.attempts, p.due_at, p.created_at, p.last_error, p.delivery_key, p.order_key, p.context, p.version, p.payload
        FROM pgonce.peek(?, ?::int, ?, ?::boolean) p ORDER BY p.id, p.subscription
      """;

  @Parameters(paramLabel = "CHANNEL")
  private String channel = "";

  @Option(names = "--subscription", paramLabel = "NAME", description = "Default: all")
  private @Nullable String subscription;

  @Option(
      names = "--payload",
      description = "With the payloads, which may be secret; takes pgonce_admin")
  private boolean payload;

  @Mixin private Limit limit = new Limit();

  @Override
  protected int run(Database database) {
    output.print(
        terminal(),
        database.read(PEEK, channel, limit.text(), subscription, String.valueOf(payload)),
        "nothing waits",
        payload
            ? new String[] {
              "subscription", "id", "attempts", "due_at=due", "last_error=error", "payload"
            }
            : new String[] {
              "subscription",
              "id",
              "attempts",
              "due_at=due",
              "delivery_key=key",
              "order_key=order",
              "last_error=error"
            });
    return ExitStatus.DONE;
  }
}
