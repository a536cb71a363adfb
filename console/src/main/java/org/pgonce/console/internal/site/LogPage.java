package org.pgonce.console.internal.site;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section.Cell;
import org.pgonce.console.internal.page.Section.Field;
import org.pgonce.console.internal.page.Section.Filter;
import org.pgonce.console.internal.page.Section.Row;
import org.pgonce.console.internal.page.Section.Table;

/** Who did what, when and why. */
final class LogPage {

  private LogPage() {}

  static Content of(Visit visit) {
    var channel = visit.parameter("channel");
    var before = visit.number("after");
    var rows =
        visit.rows(
            Queries.LOG,
            channel,
            channel,
            before == null ? String.valueOf(Long.MAX_VALUE) : before);
    return Content.live(
        "Operation log",
        "log",
        List.of(
            new Filter(
                visit.paths().page("log"),
                List.of(new Field("channel", "Channel", visit.orEmpty("channel"), null)),
                List.of()),
            new Table(
                "log",
                "Operations of the last year, the newest first",
                List.of(
                    "At",
                    "What",
                    "Channel",
                    "Subscription",
                    "Concerned",
                    "Role",
                    "By",
                    "Why",
                    "Detail"),
                Visit.first(rows, Queries.PAGE).stream().map(LogPage::row).toList(),
                "Nothing was done.",
                Next.of(
                    rows,
                    visit.paths().page("log"),
                    Map.of("channel", visit.orEmpty("channel")),
                    "id",
                    null),
                null)));
  }

  private static Row row(Map<String, @Nullable Object> one) {
    return new Row(
        null,
        String.valueOf(one.get("id")),
        List.of(
            Cell.of(one.get("at")),
            Cell.of(one.get("what")),
            Cell.of(one.get("channel")),
            Cell.of(one.get("subscription")),
            Cell.of(one.get("concerned")),
            Cell.of(one.get("role")),
            Cell.of(one.get("operator")),
            Cell.of(one.get("reason")),
            Cell.of(one.get("detail"))));
  }
}
