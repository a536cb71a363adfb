package org.pgonce.console.internal.site;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.act.Target;
import org.pgonce.console.internal.act.Verb;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Field;
import org.pgonce.console.internal.page.Section.Filter;
import org.pgonce.console.internal.page.Section.Table;
import org.pgonce.console.internal.page.Words;
import org.pgonce.operations.internal.sql.LookStatements;

/** Dead letters of a channel, the newest ids first. */
final class DeadTable {

  /** The first: any. */
  private static final List<String> REASONS =
      Stream.concat(Stream.of(""), LookStatements.DEAD_LETTER_REASONS.stream()).toList();

  private static final List<String> COLUMNS =
      List.of("subscription", "reason", "attempts", "died_at", "created_at", "error");

  private DeadTable() {}

  static List<Section> of(Visit visit, String channel) {
    var target =
        new Target(
            channel,
            visit.parameter("subscription"),
            List.of(),
            visit.parameter("reason"),
            visit.parameter("error"),
            visit.parameter("group"),
            null,
            null);
    var after = visit.number("after");
    var before = after == null ? String.valueOf(Long.MAX_VALUE) : after;
    var parameters = new ArrayList<@Nullable String>();
    parameters.add(channel);
    parameters.add(before);
    parameters.addAll(target.deadLetters());
    parameters.addAll(List.of(before, visit.orEmpty("of")));
    var filtered = target.reason() != null || target.error() != null || target.group() != null;
    var rows = visit.rows(filtered ? Queries.DEAD_FILTERED : Queries.DEAD, parameters);
    var bound =
        filtered ? ", of %s in each subscription".formatted(Words.count(Queries.FILTERED)) : "";
    var path = visit.paths().channel(channel);
    var kept = new LinkedHashMap<String, @Nullable String>(target.fields());
    kept.put("show", "dead");
    kept.remove("channel");
    var sections = new ArrayList<Section>();
    sections.add(
        new Filter(
            path,
            List.of(
                new Field("reason", "Reason", visit.orEmpty("reason"), REASONS),
                new Field("error", "Error contains", visit.orEmpty("error"), null),
                new Field("subscription", "Subscription", visit.orEmpty("subscription"), null)),
            List.of(new Field("show", "", "dead", null))));
    sections.addAll(AllThatFit.of(visit, target, "all that fit", Verb.REDRIVE, Verb.DISCARD));
    sections.add(
        new Table(
            "dead-rows",
            "Dead letters, the newest notifications first" + bound,
            List.of("Id", "Subscription", "Reason", "Attempts", "Died", "Created", "Error"),
            NotificationRows.of(
                visit, channel, "dead letter", Visit.first(rows, Queries.PAGE), COLUMNS),
            "No dead letter fits" + bound + ".",
            Next.of(rows, path, kept, "id", "subscription"),
            Chosen.of(visit, channel, target.subscription(), Verb.REDRIVE, Verb.DISCARD)));
    return sections;
  }
}
