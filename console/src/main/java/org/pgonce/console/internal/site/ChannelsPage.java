package org.pgonce.console.internal.site;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import org.pgonce.console.internal.look.Counts;
import org.pgonce.console.internal.look.Counts.Subscription;
import org.pgonce.console.internal.look.History;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Field;
import org.pgonce.console.internal.page.Section.Filter;
import org.pgonce.console.internal.page.Section.Link;
import org.pgonce.console.internal.page.Section.Note;
import org.pgonce.console.internal.page.Words;
import org.pgonce.operations.internal.sql.LookStatements;

/** All channels: what waits, how old it is, what is paused, outdated, or heard by nobody. */
final class ChannelsPage {

  private static final int PAGE = 100;

  private ChannelsPage() {}

  static Content of(Visit visit, Counts counts, History history) {
    var name = visit.orEmpty("name");
    var trouble = visit.orEmpty("show").equals("trouble");
    var after = visit.orEmpty("after");
    var fitting =
        counts.subscriptions().stream()
            .filter(one -> name.isEmpty() || one.channel().contains(name))
            .filter(one -> !trouble || one.isTroubled())
            .filter(one -> key(one).compareTo(after) > 0)
            .limit(PAGE + 1)
            .toList();
    var shown = fitting.subList(0, Math.min(PAGE, fitting.size()));
    var sections = new ArrayList<Section>();
    if (counts.standby()) {
      sections.add(new Note("standby", LookStatements.STANDBY, "warn"));
    }
    sections.addAll(SubscriptionTable.pauses(counts.subscriptions()));
    sections.addAll(Plots.ofAll(history));
    sections.add(
        new Filter(
            visit.paths().channels(),
            List.of(
                new Field("name", "Name contains", name, null),
                new Field("show", "Show", trouble ? "trouble" : "", List.of("", "trouble"))),
            List.of()));
    sections.add(
        SubscriptionTable.of(
            visit.paths(),
            "Subscriptions of channels: %s".formatted(Words.count(counts.subscriptions().size())),
            shown,
            counts.subscriptions().isEmpty()
                ? "No channel is installed."
                : "No channel fits the filter.",
            fitting.size() > PAGE ? more(visit, shown.get(PAGE - 1)) : null));
    return Content.live("Channels", "channels", sections);
  }

  /** By code point, as SQL sorts names that are COLLATE "C". A blank is in no name. */
  private static String key(Subscription one) {
    return one.channel() + " " + one.name();
  }

  private static Link more(Visit visit, Subscription last) {
    var parameters = new LinkedHashMap<String, String>();
    parameters.put("name", visit.orEmpty("name"));
    parameters.put("show", visit.orEmpty("show"));
    parameters.put("after", key(last));
    return Link.to("Next " + PAGE, Paths.with(visit.paths().channels(), parameters));
  }
}
