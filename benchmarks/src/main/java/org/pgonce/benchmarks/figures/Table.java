package org.pgonce.benchmarks.figures;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A table for people: the first column is a name, the others are figures. */
public final class Table {

  private final List<List<String>> rows = new ArrayList<>();

  public Table(String... headings) {
    rows.add(List.of(headings));
  }

  /** As many cells as there are headings. */
  public Table row(String... cells) {
    if (cells.length != rows.get(0).size()) {
      throw new IllegalArgumentException(
          cells.length + " cells for " + rows.get(0).size() + " columns");
    }
    rows.add(List.of(cells));
    return this;
  }

  /** Thousands apart, no fraction. */
  public static String whole(double figure) {
    return String.format(Locale.ROOT, "%,.0f", figure);
  }

  /** Two digits behind the point. */
  public static String fine(double figure) {
    return String.format(Locale.ROOT, "%.2f", figure);
  }

  /** Median and spread, in whole figures. */
  public static String[] whole(Turns turns) {
    return new String[] {whole(turns.median()), whole(turns.min()) + " .. " + whole(turns.max())};
  }

  /** Median and spread, in fine ones. */
  public static String[] fine(Turns turns) {
    return new String[] {fine(turns.median()), fine(turns.min()) + " .. " + fine(turns.max())};
  }

  public List<String> lines() {
    var widths = new int[rows.get(0).size()];
    for (var row : rows) {
      for (var column = 0; column < widths.length; column++) {
        widths[column] = Math.max(widths[column], row.get(column).length());
      }
    }
    return rows.stream().map(row -> line(row, widths)).toList();
  }

  private static String line(List<String> row, int[] widths) {
    var line = new StringBuilder(String.format(Locale.ROOT, "%-" + widths[0] + "s", row.get(0)));
    for (var column = 1; column < widths.length; column++) {
      line.append("   ");
      line.append(
          String.format(Locale.ROOT, "%" + Math.max(1, widths[column]) + "s", row.get(column)));
    }
    return line.toString();
  }
}
