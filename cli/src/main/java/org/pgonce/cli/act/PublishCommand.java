package org.pgonce.cli.act;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.Times;
import org.pgonce.cli.terminal.FailedException;
import org.pgonce.cli.terminal.Json;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.operations.internal.sql.Statements;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code pgonce.publish}. */
@Command(
    name = "publish",
    description = {
      "Publishes one notification.",
      "Publishing leaves no entry in the operation log: reason and person are in the notification's context, as because and operator."
    })
public final class PublishCommand extends ChangeCommand {

  private static final int LONGEST_PAYLOAD = 64 << 20;
  private static final String NO_JSON = "22P02";
  // pgonce.publish does not say whether it has stored anything.
  private static final String PUBLISH =
      """
      SELECT p.id, p.stored FROM pgonce.publish_each(?, json_build_array(?::text::json), json_build_array(json_build_object(
        'due_us', (1000000 * extract(epoch FROM ?::text::timestamptz))::bigint, 'delivery_key', ?::text, 'order_key', ?::text, 'context', ?::text::json))) p
      """;

  @Parameters(index = "0", paramLabel = "CHANNEL")
  private String channel = "";

  @Parameters(index = "1", paramLabel = "PAYLOAD", description = "JSON; - reads it from stdin")
  private String payload = "";

  @Option(names = "--delay", paramLabel = "INTERVAL", description = "Due so much later: '2 hours'")
  private @Nullable String delay;

  @Option(names = "--at", paramLabel = "TIME", description = "Due then: '2026-11-26 10:00'")
  private @Nullable String at;

  @Option(names = "--key", paramLabel = "KEY", description = "Its delivery key")
  private @Nullable String key;

  @Option(names = "--order-key", paramLabel = "KEY", description = "Its order key")
  private @Nullable String orderKey;

  private @Nullable Object id;

  @Override
  void prepare() throws IOException {
    if (at != null && delay != null) {
      throw new UsageException("both --at and --delay are given: give one");
    }
    if (payload.equals("-")) {
      var read = terminal().in().readNBytes(LONGEST_PAYLOAD + 1);
      if (read.length > LONGEST_PAYLOAD) {
        throw new FailedException(
            "the payload on stdin is longer than %,d bytes".formatted(LONGEST_PAYLOAD));
      }
      payload = new String(read, StandardCharsets.UTF_8);
    }
  }

  @Override
  long change(Statements statements, String because) throws SQLException {
    var context = Json.of(Map.of("because", because, "operator", why.person(terminal())));
    var due =
        delay == null
            ? Times.at(statements, "--at", at)
            : Times.after(statements, "--delay", delay);
    try {
      var row =
          statements.rows(PUBLISH, channel, payload, due, key, orderKey, context).values().get(0);
      id = row.get(0);
      return Boolean.TRUE.equals(row.get(1)) ? 1 : 0;
    } catch (SQLException e) {
      if (NO_JSON.equals(e.getSQLState())) {
        // Without the cause, which quotes the payload.
        throw new UsageException(
            "PAYLOAD is no JSON: quote it for the shell, as '{\"id\": 42}' or '\"text\"', or give - and pipe it");
      }
      throw e;
    }
  }

  @Override
  void report(long stored) {
    var done = why.done("publish", channel, null, stored);
    // The id of a dry run is given up with it.
    done.put("id", why.dryRun() && stored > 0 ? null : id);
    output.print(terminal(), done, sentence(stored));
  }

  private String sentence(long stored) {
    if (stored == 0) {
      return "nothing %s published to channel %s: notification %s has that delivery key already"
          .formatted(why.dryRun() ? "would be" : "was", channel, id);
    }
    return why.dryRun()
        ? "1 notification would be published to channel %s; nothing was changed".formatted(channel)
        : "notification %s published to channel %s".formatted(id, channel);
  }
}
