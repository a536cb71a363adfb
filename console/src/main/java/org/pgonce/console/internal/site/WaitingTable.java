package org.pgonce.console.internal.site;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.act.Target;
import org.pgonce.console.internal.act.Verb;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Field;
import org.pgonce.console.internal.page.Section.Filter;
import org.pgonce.console.internal.page.Section.Table;
import org.pgonce.console.internal.page.Words;

/** What is in a channel: waiting, at work, scheduled and retrying, the oldest first. */
final class WaitingTable {

  private static final List<String> STATES =
      List.of("", "waiting", "at work", "scheduled", "retrying");
  private static final List<String> COLUMNS =
      List.of(
          "subscription",
          "state",
          "attempts",
          "due_at",
          "created_at",
          "delivery_key",
          "order_key",
          "last_error");

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
                channel,
                state,
                state,
                key,
                key,
                key,
                after == null ? String.valueOf(Long.MIN_VALUE) : after,
                visit.orEmpty("of")));
    var path = visit.paths().channel(channel);
    var kept = new LinkedHashMap<String, @Nullable String>();
    kept.put("show", "waiting");
    kept.put("subscription", subscription);
    kept.put("state", state);
    kept.put("key", key);
    var sections = new ArrayList<Section>();
    sections.add(
        new Filter(
            path,
            List.of(
                new Field("state", "State", visit.orEmpty("state"), STATES),
                new Field("subscription", "Subscription", visit.orEmpty("subscription"), null),
                new Field("key", "Delivery or order key", visit.orEmpty("key"), null)),
            List.of(new Field("show", "", "waiting", null))));
    var failed = new Target(channel, subscription, List.of(), null, null, null, null, null);
    sections.addAll(AllThatFit.of(visit, failed, "all that failed", Verb.RETRY_NOW));
    sections.add(
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
            NotificationRows.of(
                visit, channel, "notification", Visit.first(rows, Queries.PAGE), COLUMNS),
            "Nothing waits that fits, of the first %s in line."
                .formatted(Words.count(Queries.FIRST_IN_LINE)),
            Next.of(rows, path, kept, "id", "subscription"),
            Chosen.of(visit, channel, subscription, Verb.RETRY_NOW, Verb.CANCEL)));
    return sections;
  }
}
