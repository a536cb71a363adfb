package org.pgonce.console.internal.site;

import java.util.List;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Table;

/** What is being handled: by whom, since when, and its last SQL. */
final class WorkTable {

  private static final List<String> COLUMNS =
      List.of(
          "subscription",
          "attempt",
          "instance",
          "pid",
          "since",
          "leased_until",
          "state",
          "waits_for",
          "last_sql");

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
                "Waits for",
                "Last SQL"),
            NotificationRows.of(visit, channel, null, rows.objects(), COLUMNS),
            "Nothing is at work.",
            null,
            null));
  }
}
