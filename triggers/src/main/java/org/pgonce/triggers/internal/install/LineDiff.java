package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.List;

/** What changes from one text to the next, as lines: the few that a function has. */
final class LineDiff {

  private static final int CONTEXT = 2;

  private LineDiff() {}

  /**
   * Lines that go with a minus, lines that come with a plus, and a few that stay around them; three
   * dots for those that are left out between.
   */
  static List<String> between(List<String> before, List<String> after) {
    var all = all(before, after);
    var diff = new ArrayList<String>();
    var last = -1;
    for (var at = 0; at < all.size(); at++) {
      if (isNearAChange(all, at)) {
        if (last >= 0 && last < at - 1) {
          diff.add("...");
        }
        diff.add(all.get(at));
        last = at;
      }
    }
    return diff;
  }

  private static boolean isNearAChange(List<String> lines, int at) {
    return lines
        .subList(Math.max(0, at - CONTEXT), Math.min(lines.size(), at + CONTEXT + 1))
        .stream()
        .anyMatch(line -> !line.startsWith(" "));
  }

  private static List<String> all(List<String> before, List<String> after) {
    var common = commonLengths(before, after);
    var lines = new ArrayList<String>();
    var i = 0;
    var j = 0;
    while (i < before.size() || j < after.size()) {
      if (i < before.size() && j < after.size() && before.get(i).equals(after.get(j))) {
        lines.add("  " + before.get(i));
        i++;
        j++;
      } else if (j == after.size() || (i < before.size() && common[i + 1][j] >= common[i][j + 1])) {
        lines.add("- " + before.get(i));
        i++;
      } else {
        lines.add("+ " + after.get(j));
        j++;
      }
    }
    return lines;
  }

  /** How many lines the rests of both have in common, in their order. */
  private static int[][] commonLengths(List<String> before, List<String> after) {
    var common = new int[before.size() + 1][after.size() + 1];
    for (var i = before.size() - 1; i >= 0; i--) {
      for (var j = after.size() - 1; j >= 0; j--) {
        common[i][j] =
            before.get(i).equals(after.get(j))
                ? common[i + 1][j + 1] + 1
                : Math.max(common[i + 1][j], common[i][j + 1]);
      }
    }
    return common;
  }
}
