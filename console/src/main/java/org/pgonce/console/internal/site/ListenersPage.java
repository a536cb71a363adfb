package org.pgonce.console.internal.site;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section.Cell;
import org.pgonce.console.internal.page.Section.Row;
import org.pgonce.console.internal.page.Section.Table;

/** The processes that listen. */
final class ListenersPage {

  private ListenersPage() {}

  static Content of(Visit visit) {
    return Content.live(
        "Listeners",
        "listeners",
        List.of(
            new Table(
                "listeners",
                "Processes that listen, those alive first; at most 500",
                List.of(
                    "Instance",
                    "State",
                    "Listens by",
                    "Role",
                    "Workers",
                    "Started",
                    "Heard from",
                    "Channels",
                    "Answers at once",
                    "Outdated"),
                visit.rows(Queries.LISTENERS).objects().stream().map(ListenersPage::row).toList(),
                "Nobody listens.",
                null,
                null)));
  }

  private static Row row(Map<String, @Nullable Object> one) {
    var alive = Boolean.TRUE.equals(one.get("alive"));
    return new Row(
        null,
        String.valueOf(one.get("instance")),
        List.of(
            Cell.of(one.get("instance")),
            !alive
                ? Cell.badge("silent", "bad")
                : one.get("outdated") != null
                    ? Cell.badge("outdated", "warn")
                    : Cell.badge("alive", "good"),
            Cell.of(one.get("listens_by")),
            Cell.of(one.get("role")),
            Cell.of(one.get("workers")),
            Cell.of(one.get("started_at")),
            Cell.of(one.get("seen_at")),
            Cell.of(one.get("channels")),
            Cell.of(one.get("first_for")),
            Cell.of(one.get("outdated"))));
  }
}
