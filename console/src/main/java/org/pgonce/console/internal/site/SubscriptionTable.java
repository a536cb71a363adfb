package org.pgonce.console.internal.site;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.look.Counts.Subscription;
import org.pgonce.console.internal.page.Section.Cell;
import org.pgonce.console.internal.page.Section.Link;
import org.pgonce.console.internal.page.Section.Note;
import org.pgonce.console.internal.page.Section.Row;
import org.pgonce.console.internal.page.Section.Table;
import org.pgonce.console.internal.page.Words;

/** How subscriptions stand: what waits, how old it is, who listens; and who paused them. */
final class SubscriptionTable {

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

  private SubscriptionTable() {}

  static Table of(
      Paths paths,
      String caption,
      List<Subscription> subscriptions,
      String none,
      @Nullable Link more) {
    return new Table(
        "channels",
        caption,
        HEADS,
        subscriptions.stream().map(one -> row(paths, one)).toList(),
        none,
        more,
        null);
  }

  /** A note for each that is paused, up to {@value #MOST_NOTES}, and how many there are. */
  static List<Note> pauses(List<Subscription> subscriptions) {
    var paused = subscriptions.stream().filter(Subscription::isPaused).toList();
    var notes = new ArrayList<Note>();
    for (var one : paused.subList(0, Math.min(MOST_NOTES, paused.size()))) {
      notes.add(
          new Note(
              "paused-" + notes.size(),
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
      notes.add(
          new Note(
              "paused-all",
              "%s subscriptions are paused in all.".formatted(Words.count(paused.size())),
              "warn"));
    }
    return notes;
  }

  private static Row row(Paths paths, Subscription one) {
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
      words.add("%s outdated".formatted(Words.count(one.outdated())));
    }
    if (one.isUnheard()) {
      words.add("nobody listens");
    }
    if (one.hint() != null) {
      words.add(one.hint());
    }
    if (words.isEmpty()) {
      return Cell.of(one.dead() > 0 ? "dead letters" : "");
    }
    return Cell.badge(String.join(", ", words), one.isUnheard() ? "bad" : "warn");
  }
}
