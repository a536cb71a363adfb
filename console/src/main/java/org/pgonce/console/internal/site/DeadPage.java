package org.pgonce.console.internal.site;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.act.Target;
import org.pgonce.console.internal.act.Verb;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Cell;
import org.pgonce.console.internal.page.Section.Field;
import org.pgonce.console.internal.page.Section.Filter;
import org.pgonce.console.internal.page.Section.Row;
import org.pgonce.console.internal.page.Section.Table;
import org.pgonce.console.internal.page.Words;

/** Dead letters of all channels, grouped by their error. */
final class DeadPage {

  private DeadPage() {}

  static Content of(Visit visit) {
    var rows = visit.rows(Queries.DEAD_GROUPS, visit.parameter("channel"));
    var heads =
        new ArrayList<>(
            List.of("Dead letters", "Channel", "Subscription", "Reason", "First", "Last", "Error"));
    var may = List.of(Verb.REDRIVE, Verb.DISCARD).stream().filter(visit.may()::contains).toList();
    may.forEach(verb -> heads.add(verb.label()));
    return Content.live(
        "Dead letters",
        "dead",
        List.<Section>of(
            new Filter(
                visit.paths().page("dead"),
                List.of(new Field("channel", "Channel", visit.orEmpty("channel"), null)),
                List.of()),
            new Table(
                "groups",
                "The 100 largest groups of %s dead letters at most, by error"
                    .formatted(Words.count(Queries.GROUPED)),
                heads,
                rows.objects().stream().map(one -> row(visit, may, one)).toList(),
                visit.parameter("channel") == null
                    ? "There are no dead letters."
                    : "No dead letter fits.",
                null,
                null)));
  }

  private static Row row(Visit visit, List<Verb> may, Map<String, @Nullable Object> one) {
    var channel = String.valueOf(one.get("channel"));
    var target =
        new Target(
            channel,
            String.valueOf(one.get("subscription")),
            List.of(),
            String.valueOf(one.get("reason")),
            null,
            String.valueOf(one.get("group")),
            null,
            null);
    var list = new LinkedHashMap<String, String>(target.fields());
    list.remove("channel");
    list.put("show", "dead");
    var count = one.get("dead_letters") instanceof Number number ? number.longValue() : 0;
    var cells = new ArrayList<Cell>();
    cells.add(
        new Cell(Words.count(count), Paths.with(visit.paths().channel(channel), list), "number"));
    cells.add(Cell.link(channel, visit.paths().channel(channel)));
    cells.add(Cell.of(one.get("subscription")));
    cells.add(Cell.of(one.get("reason")));
    cells.add(Cell.of(one.get("first_died_at")));
    cells.add(Cell.of(one.get("last_died_at")));
    cells.add(Cell.of(one.get("error")));
    for (var verb : may) {
      cells.add(
          Cell.link(
              "%s %s of %s…".formatted(verb.label(), Words.count(count), channel),
              AllThatFit.act(visit, verb, target)));
    }
    return new Row(null, channel, cells);
  }
}
