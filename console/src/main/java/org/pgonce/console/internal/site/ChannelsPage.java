package org.pgonce.console.internal.site;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import org.pgonce.console.internal.look.Counts;
import org.pgonce.console.internal.look.Counts.Subscription;
import org.pgonce.console.internal.look.History;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Cell;
import org.pgonce.console.internal.page.Section.Field;
import org.pgonce.console.internal.page.Section.Filter;
import org.pgonce.console.internal.page.Section.Link;
import org.pgonce.console.internal.page.Section.Note;
import org.pgonce.console.internal.page.Section.Row;
import org.pgonce.console.internal.page.Section.Table;
import org.pgonce.console.internal.page.Words;

/** All channels: what waits, how old it is, what is paused, outdated, or heard by nobody. */
final class ChannelsPage {

  static final int PAGE = 100;
  private static final int MOST_NOTES = 5;
  private static final List<String> HEADS =
      List.of(
          "Channel",
          "Subscription",
          "Backlog",
          "Scheduled",
          "Retrying",
          "Dead",
          "Oldest",
          "Listeners",
          "State");

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
    var sections = new ArrayList<Section>(pauses(counts.subscriptions()));
    sections.addAll(Plots.ofAll(history));
    sections.add(
        new Filter(
            visit.paths().channels(),
            List.of(
                new Field("name", "Name contains", name, null),
                new Field("show", "Show", trouble ? "trouble" : "", List.of("", "trouble"))),
            List.of()));
    sections.add(
        new Table(
            "channels",
            "%s subscriptions of channels".formatted(Words.count(counts.subscriptions().size())),
            HEADS,
            shown.stream().map(one -> row(visit.paths(), one)).toList(),
            counts.subscriptions().isEmpty()
                ? "No channel is installed."
                : "No channel fits the filter.",
            fitting.size() > PAGE ? more(visit, shown.get(PAGE - 1)) : null,
            null));
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

  static List<Note> pauses(List<Subscription> subscriptions) {
    var paused = subscriptions.stream().filter(Subscription::isPaused).toList();
    var notes = new ArrayList<Note>();
    for (var one : paused.subList(0, Math.min(MOST_NOTES, paused.size()))) {
      notes.add(
          new Note(
              "Paused: channel %s, subscription %s, by %s since %s: %s"
                  .formatted(
                      one.channel(),
                      one.name(),
                      Words.of(one.pausedBy()),
                      Words.of(one.pausedSince()),
                      Words.of(one.pauseReason())),
              "warn"));
    }
    if (paused.size() > MOST_NOTES) {
      notes.add(new Note("%,d subscriptions are paused in all.".formatted(paused.size()), "warn"));
    }
    return notes;
  }

  static Row row(Paths paths, Subscription one) {
    return new Row(
        null,
        one.channel(),
        List.of(
            Cell.link(one.channel(), paths.channel(one.channel())),
            Cell.of(one.name()),
            count(one.backlog()),
            count(one.scheduled()),
            count(one.retrying()),
            new Cell(
                Words.counted(one.dead()),
                one.dead() == 0 ? null : Paths.with(paths.channel(one.channel()), "show", "dead"),
                "number"),
            Cell.of(one.backlog() + one.scheduled() == 0 ? null : one.oldest()),
            count(one.listeners()),
            state(one)));
  }

  private static Cell count(long count) {
    return new Cell(Words.counted(count), null, "number");
  }

  private static Cell state(Subscription one) {
    var words = new ArrayList<String>();
    if (one.isPaused()) {
      words.add("paused");
    }
    if (one.outdated() > 0) {
      words.add("%,d outdated".formatted(one.outdated()));
    }
    if (one.isUnheard()) {
      words.add("nobody listens");
    }
    if (words.isEmpty()) {
      return Cell.of(one.dead() > 0 ? "dead letters" : "");
    }
    return Cell.badge(String.join(", ", words), one.isUnheard() ? "bad" : "warn");
  }
}
