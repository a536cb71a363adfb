package org.pgonce.cli.look;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.Json;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.Rows;
import org.pgonce.operations.internal.text.CellText;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** What fails and what is done, as it happens. What is handled well leaves no trace to follow. */
@Command(
    name = "tail",
    description = {
      "Follows failures, dead letters and operations, until Ctrl-C. With -o json: one document a line.",
      "It looks at the last 1,000 of each, once a second, or less often where a look takes long; what is handled well leaves no trace."
    })
public final class TailCommand extends DatabaseCommand {

  private static final String EVENTS =
      """
      SELECT * FROM (
        (SELECT d.died_at AS at, 'DEAD' AS event, d.channel, d.subscription, d.id, d.attempts, NULL::text AS person, d.reason || ': ' || d.error AS detail
           FROM pgonce.dead_letter_status d WHERE d.channel = coalesce(?, d.channel) ORDER BY d.died_at DESC, d.id DESC LIMIT 1000)
        UNION ALL
        (SELECT NULL, 'FAILED', r.channel, r.subscription, r.id, r.attempts, NULL, r.last_error
           FROM pgonce.retry_status r WHERE r.channel = coalesce(?, r.channel) ORDER BY r.id DESC LIMIT 1000)
        UNION ALL
        (SELECT o.at, o.what, o.channel, o.subscription, o.id, o.concerned, coalesce(o.operator, o.role), concat_ws('; ', o.reason, o.detail)
           FROM pgonce.operation_log o WHERE ?::text IS NULL OR o.channel IN (?, '*') ORDER BY o.at DESC, o.id DESC LIMIT 1000)) e
       ORDER BY coalesce(e.at, clock_timestamp()), e.event, e.id
      """;

  /** A look reads all dead letters and retries: it shall take a twentieth of one CPU. */
  private static final int RESTS = 20;

  private static final Duration SHORTEST_REST = Duration.ofSeconds(1);
  private static final Duration LONGEST_REST = Duration.ofMinutes(1);

  private static final String INSTALLED =
      "SELECT s.channel FROM pgonce.channel_status s WHERE s.channel = ?";

  @Parameters(arity = "0..1", paramLabel = "CHANNEL", description = "Default: all")
  private @Nullable String channel;

  private @Nullable Look before;
  private Duration rest = SHORTEST_REST;

  @Override
  protected int run(Database database) throws InterruptedException {
    var out = terminal().out();
    if (before == null) { // else it has lost its connection, and goes on from there
      before = new Look(events(database));
      sayIfNotInstalled(database);
    }
    while (!out.checkError()) {
      TimeUnit.MILLISECONDS.sleep(rest.toMillis());
      var events = events(database);
      for (var event : events.objects()) {
        var row = event.values().stream().toList();
        if (before.isNew(row)) {
          out.println(output.isJson() ? Json.of(event) : line(row));
        }
      }
      before = new Look(events);
    }
    return ExitStatus.DONE; // a closed pipe: who read has enough
  }

  /** It may come yet; but nobody shall wait for what a mistyped name will never show. */
  private void sayIfNotInstalled(Database database) {
    if (channel != null && database.read(INSTALLED, channel).objects().isEmpty()) {
      terminal()
          .err()
          .println("channel %s is not installed: nothing is shown until it is".formatted(channel));
    }
  }

  @Override
  public boolean endsWithItsReader() {
    return true;
  }

  private Rows events(Database database) {
    var began = System.nanoTime();
    var events = database.read(EVENTS, channel, channel, channel, channel);
    rest = restAfter(Duration.ofNanos(System.nanoTime() - began));
    return events;
  }

  static Duration restAfter(Duration look) {
    var rest = look.multipliedBy(RESTS);
    return rest.compareTo(SHORTEST_REST) < 0
        ? SHORTEST_REST
        : rest.compareTo(LONGEST_REST) > 0 ? LONGEST_REST : rest;
  }

  private static String line(List<? extends @Nullable Object> event) {
    var line = new StringBuilder();
    for (var value : event) {
      if (value != null) {
        line.append(line.isEmpty() ? "" : " ").append(CellText.of(value));
      }
    }
    return line.toString();
  }
}
