package org.pgonce.cli.look;

import static org.pgonce.operations.internal.sql.LookStatements.DEAD_LETTER_FITS;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.database.DeadLetterFilter;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.FailedException;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.Statements;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The view {@code pgonce.dead_letter_status}. */
@Command(name = "dead", description = "Dead letters, with what they died of; the newest last.")
public final class DeadCommand extends DatabaseCommand {

  private static final String LIST =
      """
      SELECT d.channel, d.subscription, d.id, d.reason, d.attempts, d.created_at, d.died_at, d.version, d.error, d.order_key, PAYLOAD AS payload
        FROM (SELECT d.* FROM pgonce.dead_letter_status d WHERE %s ORDER BY d.died_at DESC, d.id DESC LIMIT ?::int) d ORDER BY d.died_at, d.id, d.subscription
      """
          .formatted(DEAD_LETTER_FITS);

  /** It takes the right to read the table: the view has no payloads. */
  private static final String OF_ROW =
      "(SELECT l.payload FROM pgonce.dead_letter l WHERE l.subscription_id = d.subscription_id AND l.id = d.id)";

  private static final String GROUPS =
      """
      SELECT d.channel, d.subscription, d.reason, count(*) AS dead_letters, min(d.died_at) AS first_died_at, max(d.died_at) AS last_died_at, d.error
        FROM pgonce.dead_letter_status d WHERE %s GROUP BY d.channel, d.subscription, d.reason, d.error ORDER BY 4 DESC, 1, 2, 3, 7 LIMIT ?::int
      """
          .formatted(DEAD_LETTER_FITS);

  /** A channel and a subscription, each null for any. */
  static final String IS_INSTALLED =
      "SELECT EXISTS (SELECT FROM pgonce.channel_settings s WHERE s.channel = coalesce(?, s.channel) AND s.subscription = coalesce(?, s.subscription))";

  @Parameters(index = "0", arity = "0..1", paramLabel = "CHANNEL", description = "Default: all")
  private @Nullable String channel;

  @Parameters(index = "1..*", arity = "0..*", paramLabel = "ID", description = "Only these")
  private List<Long> ids = List.of();

  @Mixin private DeadLetterFilter filter = new DeadLetterFilter();

  @Option(names = "--group", description = "How many of each reason and error")
  private boolean groups;

  @Option(
      names = "--payload",
      description = "With the payloads, which may be secret; takes pgonce_admin")
  private boolean payload;

  @Mixin private Limit limit = new Limit();

  @Override
  protected int run(Database database) {
    if (groups && payload) {
      throw new UsageException("--payload shows that of each dead letter: leave --group out");
    }
    var list = LIST.replace("PAYLOAD", payload ? OF_ROW : "NULL::json");
    var rows =
        database.read(
            statements -> {
              filter.resolve(statements);
              requireInstalled(statements);
              var parameters =
                  new ArrayList<@Nullable String>(Arrays.asList(filter.parameters(channel, ids)));
              parameters.add(limit.text());
              return statements.rows(
                  groups ? GROUPS : list, parameters.toArray(new @Nullable String[0]));
            });
    var none = ids.isEmpty() && filter.isAll() ? "no dead letters" : "no dead letter fits";
    output.print(terminal(), rows, none, columns());
    return ExitStatus.DONE;
  }

  /** A name that was mistyped has no dead letters either. */
  private void requireInstalled(Statements statements) throws SQLException {
    var subscription = filter.subscription();
    if ((channel != null || subscription != null)
        && !statements.isTrue(IS_INSTALLED, channel, subscription)) {
      throw new FailedException(
          "%s%s is not installed: look for its name in pgonce channels"
              .formatted(
                  channel == null ? "any channel" : "channel \"" + channel + "\"",
                  subscription == null ? "" : " with a subscription \"" + subscription + "\""));
    }
  }

  private String[] columns() {
    if (groups) {
      return new String[] {
        "channel", "subscription", "reason", "dead_letters=dead", "last_died_at=last", "error"
      };
    }
    var columns =
        new ArrayList<>(
            List.of("channel", "subscription", "id", "reason", "attempts", "died_at=died"));
    columns.addAll(payload ? List.of("error", "payload") : List.of("order_key=order", "error"));
    return columns.toArray(new String[0]);
  }
}
