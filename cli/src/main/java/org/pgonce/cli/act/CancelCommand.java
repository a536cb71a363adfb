package org.pgonce.cli.act;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.operations.internal.sql.ArrayText;
import org.pgonce.operations.internal.sql.Statements;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code pgonce.cancel}. */
@Command(
    name = "cancel",
    description = "Removes for good what waits, due or not. What is being handled is left alone.")
public final class CancelCommand extends ChangeCommand {

  private static final String CANCEL =
      "SELECT c.cancelled, c.being_handled FROM pgonce.cancel(?, ?::text::bigint[], ?::text::text[], ?, ?) c";
  // Without a lock, which would leave a mark in the row.
  private static final String WOULD_CANCEL =
      "SELECT c.cancelled, c.being_handled FROM pgonce.would_cancel(?, ?::text::bigint[], ?::text::text[], ?) c";

  @Parameters(index = "0", paramLabel = "CHANNEL")
  private String channel = "";

  @Parameters(index = "1..*", arity = "0..*", paramLabel = "ID")
  private List<Long> ids = List.of();

  @Option(
      names = "--key",
      paramLabel = "KEY",
      description = "By the delivery key that its publisher gave; more than once for several")
  private List<String> keys = List.of();

  @Option(names = "--subscription", paramLabel = "NAME", description = "Default: all")
  private @Nullable String subscription;

  private long beingHandled;

  @Override
  void prepare() {
    if (ids.isEmpty() && keys.isEmpty()) {
      throw new UsageException(
          "what of channel %s is to be cancelled? Give ids, or --key; pgonce peek lists them"
              .formatted(channel));
    }
  }

  @Override
  long change(Statements statements, String because) throws SQLException {
    var wanted = ids.isEmpty() ? null : ArrayText.of(ids);
    var named = keys.isEmpty() ? null : ArrayText.of(keys);
    var rows =
        why.dryRun()
            ? statements.rows(WOULD_CANCEL, channel, wanted, named, subscription)
            : statements.rows(CANCEL, channel, wanted, named, because, subscription);
    var row = rows.values().get(0);
    beingHandled = row.get(1) instanceof Number number ? number.longValue() : 0;
    return row.get(0) instanceof Number number ? number.longValue() : 0;
  }

  @Override
  void report(long touched) {
    var done = why.done("cancel", channel, subscription, touched);
    done.put("being_handled", beingHandled);
    output.print(
        terminal(),
        done,
        why.sentence(touched, "notifications of channel " + channel, "cancelled")
            + (beingHandled == 0 ? "" : "; %,d are being handled".formatted(beingHandled)));
  }
}
