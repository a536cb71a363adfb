package org.pgonce.triggers;

import java.util.ArrayList;
import java.util.List;

/**
 * What is to be done so that the database is as the channels are defined, for a reviewer. {@link
 * #toString} is the readable form.
 *
 * @param changes in the order in which they are made; empty if there is nothing to do
 * @param obstacles what must be mended before, one line each
 * @param warnings what works otherwise than one may expect, one line each
 */
public record Plan(List<Change> changes, List<String> obstacles, List<String> warnings) {

  public Plan {
    changes = List.copyOf(changes);
    obstacles = List.copyOf(obstacles);
    warnings = List.copyOf(warnings);
  }

  /**
   * One change.
   *
   * @param channel the channel's name
   * @param summary for example {@code create trigger "pgonce_author_inserted" on public.author}
   * @param diff lines that go, with a minus, and lines that come, with a plus; around them a few
   *     that stay, with a blank, and three dots for those between that are left out
   */
  public record Change(String channel, String summary, List<String> diff) {

    public Change {
      diff = List.copyOf(diff);
    }
  }

  /** Whether the database is as defined, and nothing stands against it. */
  public boolean isEmpty() {
    return changes.isEmpty() && obstacles.isEmpty();
  }

  @Override
  public String toString() {
    var lines = new ArrayList<String>();
    for (var change : changes) {
      lines.add("channel " + change.channel() + ": " + change.summary());
      change.diff().forEach(line -> lines.add("  " + line));
    }
    obstacles.forEach(obstacle -> lines.add("obstacle: " + obstacle));
    warnings.forEach(warning -> lines.add("warning: " + warning));
    if (isEmpty()) {
      lines.add("nothing to do");
    }
    return String.join("\n", lines) + "\n";
  }
}
