package org.pgonce.console.internal.site;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section.Cell;
import org.pgonce.console.internal.page.Section.Row;
import org.pgonce.console.internal.page.Section.Table;

/** How each subscription is installed, and what differs from that. */
final class DefinitionsPage {

  private DefinitionsPage() {}

  static Content of(Visit visit, Examination examination) {
    var rows = visit.rows(Queries.SETTINGS, visit.orEmpty("after"), visit.orEmpty("of"));
    return Content.still(
        "Definitions",
        "definitions",
        List.of(
            examination.table(visit.database(), true),
            new Table(
                "definitions",
                "How each subscription is installed",
                List.of(
                    "Channel",
                    "Subscription",
                    "Mode",
                    "Fed by",
                    "Order",
                    "Per key",
                    "Rate",
                    "Owner",
                    "Installed",
                    "By"),
                Visit.first(rows, Queries.PAGE).stream()
                    .map(one -> row(visit.paths(), one))
                    .toList(),
                "No channel is installed.",
                Next.of(
                    rows, visit.paths().page("definitions"), Map.of(), "channel", "subscription"),
                null)));
  }

  private static Row row(Paths paths, Map<String, @Nullable Object> one) {
    var channel = String.valueOf(one.get("channel"));
    return new Row(
        null,
        channel,
        List.of(
            Cell.link(channel, paths.channel(channel)),
            Cell.of(one.get("subscription")),
            Cell.of(one.get("mode")),
            Cell.of(one.get("feed")),
            Cell.of(one.get("key_order")),
            Cell.of(one.get("max_per_key")),
            Cell.of(one.get("max_rate")),
            Cell.of(one.get("owner")),
            Cell.of(one.get("installed_at")),
            Cell.of(one.get("installed_by"))));
  }
}
