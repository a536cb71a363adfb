package org.pgonce.console.internal.page;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.text.CellText;

/** Values of the database as people read them. */
public final class Words {

  private static final int LONGEST = 2_000;
  private static final int MOST = 50;

  private Words() {}

  /** Control and bidirectional characters are shown escaped; a long text or list is cut. */
  public static String of(@Nullable Object value) {
    if (value instanceof List<?> list) {
      var first = CellText.of(list.subList(0, Math.min(MOST, list.size())));
      return list.size() > MOST ? "%s… (%s in all)".formatted(first, count(list.size())) : first;
    }
    return cut(CellText.of(value));
  }

  /** A count, with its thousands apart. */
  public static String count(long count) {
    return String.format(Locale.ROOT, "%,d", count);
  }

  /** The same of what channel_gauges counts, which goes to 100,000 and no further. */
  public static String counted(long count) {
    return count(count) + (count >= 100_000 ? "+" : "");
  }

  public static String cut(String text) {
    return text.length() <= LONGEST
        ? text
        : text.substring(0, LONGEST) + "… (%s characters)".formatted(count(text.length()));
  }
}
