package org.pgonce.triggers.internal.install;

import com.github.difflib.DiffUtils;
import com.github.difflib.UnifiedDiffUtils;
import java.util.List;

/** What changes from one text to the next, as lines. */
final class LineDiff {

  private static final int CONTEXT = 2;

  private LineDiff() {}

  /**
   * Lines that go with a minus, lines that come with a plus, and a few that stay around them; three
   * dots for those that are left out between.
   */
  static List<String> between(List<String> before, List<String> after) {
    return UnifiedDiffUtils.generateUnifiedDiff(
            "", "", before, DiffUtils.diff(before, after), CONTEXT)
        .stream()
        .skip(3) // the head, and where the first change is
        .map(line -> line.startsWith("@@") ? "..." : line.charAt(0) + " " + line.substring(1))
        .toList();
  }
}
