package org.pgonce.console.internal.site;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.act.Verb;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Cell;
import org.pgonce.console.internal.page.Section.Field;
import org.pgonce.console.internal.page.Section.Filter;
import org.pgonce.console.internal.page.Section.Link;
import org.pgonce.console.internal.page.Section.Row;
import org.pgonce.console.internal.page.Section.Table;
import org.pgonce.console.internal.page.Words;

/** What waits in a channel: new, scheduled and retrying, the oldest first. */
final class WaitingTable {

  private static final List<String> STATES = List.of("", "waiting", "scheduled", "retrying");

  private WaitingTable() {}

  static List<Section> of(Visit visit, String channel) {
    var subscription = visit.parameter("subscription");
    var state = visit.parameter("state");
    var key = visit.parameter("key");
    var after = visit.number("after");
    var rows =
        visit.rows(
            Queries.WAITING,
            Arrays.<@Nullable String>asList(
                channel,
                subscription,
                state,
                state,
                key,
                key,
                key,
                after == null ? String.valueOf(Long.MIN_VALUE) : after,
                visit.orEmpty("of")));
    var shown = Visit.first(rows, Queries.PAGE);
    var lines = new ArrayList<Row>();
    for (var one : shown) {
      var id = String.valueOf(one.get("id"));
      lines.add(
          new Row(
              one.get("subscription") + "/" + id,
              "notification " + id,
              List.of(
                  Cell.link(id, visit.paths().notification(channel, id)),
                  Cell.of(one.get("subscription")),
                  Cell.of(one.get("state")),
                  Cell.of(one.get("attempts")),
                  Cell.of(one.get("due_at")),
                  Cell.of(one.get("created_at")),
                  Cell.of(one.get("delivery_key")),
                  Cell.of(one.get("order_key")),
                  Cell.of(one.get("last_error")))));
    }
    var path = visit.paths().channel(channel);
    Link more = null;
    if (rows.values().size() > Queries.PAGE) {
      var last = shown.get(Queries.PAGE - 1);
      var parameters = new LinkedHashMap<String, @Nullable String>();
      parameters.put("show", "waiting");
      parameters.put("subscription", subscription);
      parameters.put("state", state);
      parameters.put("key", key);
      parameters.put("after", String.valueOf(last.get("id")));
      parameters.put("of", String.valueOf(last.get("subscription")));
      more = Link.to("Next " + Queries.PAGE, Paths.with(path, parameters));
    }
    return List.of(
        new Filter(
            path,
            List.of(
                new Field("state", "State", visit.orEmpty("state"), STATES),
                new Field("subscription", "Subscription", visit.orEmpty("subscription"), null),
                new Field("key", "Delivery or order key", visit.orEmpty("key"), null)),
            List.of(new Field("show", "", "waiting", null))),
        new Table(
            "waiting-rows",
            "What waits, the oldest first; of the first %s in line"
                .formatted(Words.count(Queries.FIRST_IN_LINE)),
            List.of(
                "Id",
                "Subscription",
                "State",
                "Attempts",
                "Due",
                "Created",
                "Delivery key",
                "Order key",
                "Last error"),
            lines,
            "Nothing waits that fits.",
            more,
            Chosen.of(visit, channel, subscription, Verb.RETRY_NOW, Verb.CANCEL)));
  }
}
