package org.pgonce.console.internal.site;

import java.util.List;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Cell;
import org.pgonce.console.internal.page.Section.Row;
import org.pgonce.console.internal.page.Section.Table;

/** What is being handled: by whom, since when, and its last SQL. */
final class WorkTable {

  private WorkTable() {}

  static List<Section> of(Visit visit, String channel) {
    var rows = visit.rows(Queries.AT_WORK, channel, visit.parameter("subscription"));
    return List.of(
        new Table(
            "work-rows",
            "At work, the longest first; at most 200",
            List.of(
                "Id",
                "Subscription",
                "Attempt",
                "Instance",
                "Server process",
                "Since",
                "Leased until",
                "State",
                "Last SQL"),
            rows.objects().stream()
                .map(
                    one ->
                        new Row(
                            null,
                            String.valueOf(one.get("id")),
                            List.of(
                                Cell.link(
                                    String.valueOf(one.get("id")),
                                    visit
                                        .paths()
                                        .notification(channel, String.valueOf(one.get("id")))),
                                Cell.of(one.get("subscription")),
                                Cell.of(one.get("attempt")),
                                Cell.of(one.get("instance")),
                                Cell.of(one.get("pid")),
                                Cell.of(one.get("since")),
                                Cell.of(one.get("leased_until")),
                                Cell.of(one.get("state")),
                                Cell.code(one.get("last_sql")))))
                .toList(),
            "Nothing is at work.",
            null,
            null));
  }
}
