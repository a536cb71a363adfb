package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.List;

/** What changes from one text to the next, as lines: the few that a function has. */
final class LineDiff {

  private LineDiff() {}

  /**
   * The lines between the first and the last that differ: those that go with a minus, those that
   * come with a plus.
   */
  static List<String> between(List<String> before, List<String> after) {
    var same = 0;
    var shorter = Math.min(before.size(), after.size());
    while (same < shorter && before.get(same).equals(after.get(same))) {
      same++;
    }
    var sameAtEnd = 0;
    while (sameAtEnd < shorter - same
        && before
            .get(before.size() - 1 - sameAtEnd)
            .equals(after.get(after.size() - 1 - sameAtEnd))) {
      sameAtEnd++;
    }
    var diff = new ArrayList<String>();
    before.subList(same, before.size() - sameAtEnd).forEach(line -> diff.add("- " + line));
    after.subList(same, after.size() - sameAtEnd).forEach(line -> diff.add("+ " + line));
    return diff;
  }
}
