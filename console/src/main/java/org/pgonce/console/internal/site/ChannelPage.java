package org.pgonce.console.internal.site;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.act.Verb;
import org.pgonce.console.internal.look.Counts;
import org.pgonce.console.internal.look.History;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Fact;
import org.pgonce.console.internal.page.Section.Facts;
import org.pgonce.console.internal.page.Section.Link;
import org.pgonce.console.internal.page.Section.Links;
import org.pgonce.operations.internal.sql.LookStatements;

/** One channel: how it is installed, what waits in it, what is at work, what died. */
final class ChannelPage {

  private static final int MOST_EXPLAINED = 5;
  private static final List<String> SHOWN = List.of("waiting", "work", "dead");

  private ChannelPage() {}

  static Content of(Visit visit, String channel, History history) {
    var settings = visit.rows(Queries.SETTINGS_OF, channel);
    if (settings.isEmpty()) {
      return Content.failed(404, "No such channel", "Channel " + channel + " is not installed.");
    }
    if (settings.column("subscription").contains(null)) {
      return Content.failed(
          404,
          "No subscription",
          "Channel "
              + channel
              + " has no subscription any more, so nothing that is published to it is stored: install it again, with one (PgOnce.install), or drop it (pgonce.drop_channel).");
    }
    var subscriptions = visit.database().read(statements -> Counts.of(statements, channel));
    history.saw(channel, subscriptions);
    var shown = Objects.requireNonNullElse(visit.parameter("show"), "waiting");
    var sections = new ArrayList<Section>(SubscriptionTable.pauses(subscriptions));
    sections.add(
        SubscriptionTable.of(
            visit.paths(), "Subscriptions", subscriptions, "Nothing is known of them yet.", null));
    sections.addAll(hints(visit, channel, subscriptions));
    sections.addAll(buttons(visit, channel, subscriptions));
    sections.add(Plots.ofChannel(history, channel));
    sections.add(
        Links.tabs(
            "What the channel holds",
            SHOWN.stream()
                .map(
                    one ->
                        new Link(
                            label(one),
                            Paths.with(visit.paths().channel(channel), "show", one),
                            one.equals(shown)))
                .toList()));
    sections.addAll(
        switch (shown) {
          case "work" -> WorkTable.of(visit, channel);
          case "dead" -> DeadTable.of(visit, channel);
          case "waiting" -> WaitingTable.of(visit, channel);
          default -> throw new Visit.BadRequestException("show is waiting, work or dead");
        });
    for (var one : Visit.first(settings, 100)) {
      sections.add(settings(one));
    }
    return Content.live("Channel " + channel, "channels", sections);
  }

  private static String label(String shown) {
    return switch (shown) {
      case "work" -> "At work";
      case "dead" -> "Dead letters";
      default -> "Waiting";
    };
  }

  /** What explain says of the first ones that may look idle and are not. */
  private static List<Section> hints(
      Visit visit, String channel, List<Counts.Subscription> subscriptions) {
    return subscriptions.stream()
        .filter(one -> one.hint() != null)
        .limit(MOST_EXPLAINED)
        .flatMap(
            one -> visit.rows(LookStatements.EXPLAIN, channel, null, one.name()).objects().stream())
        .<Section>map(answer -> NotificationPage.why(visit, channel, answer, "Why nothing comes"))
        .toList();
  }

  /** For all its subscriptions, and for each where there are several. */
  private static List<Section> buttons(
      Visit visit, String channel, List<Counts.Subscription> subscriptions) {
    var links = new ArrayList<Link>();
    if (subscriptions.stream().anyMatch(one -> !one.isPaused())) {
      add(links, visit, Verb.PAUSE, channel, null);
    }
    if (subscriptions.stream().anyMatch(Counts.Subscription::isPaused)) {
      add(links, visit, Verb.RESUME, channel, null);
    }
    if (subscriptions.size() > 1) {
      for (var one : subscriptions) {
        add(links, visit, one.isPaused() ? Verb.RESUME : Verb.PAUSE, channel, one.name());
      }
    }
    return links.isEmpty()
        ? List.of()
        : List.of(Links.actions("actions", "What can be done", links));
  }

  private static void add(
      List<Link> links, Visit visit, Verb verb, String channel, @Nullable String subscription) {
    if (visit.may().contains(verb)) {
      var parameters = new LinkedHashMap<String, @Nullable String>();
      parameters.put("do", verb.word());
      parameters.put("channel", channel);
      parameters.put("subscription", subscription);
      links.add(
          Link.to(
              verb.label() + (subscription == null ? "" : " " + subscription) + "…",
              Paths.with(visit.paths().page("act"), parameters)));
    }
  }

  private static Facts settings(Map<String, @Nullable Object> one) {
    var facts = new ArrayList<Fact>();
    one.forEach(
        (name, value) -> {
          if (!name.equals("channel") && !name.equals("subscription")) {
            facts.add(Fact.of(name.replace('_', ' '), value));
          }
        });
    return new Facts("Definition of subscription " + one.get("subscription"), facts);
  }
}
