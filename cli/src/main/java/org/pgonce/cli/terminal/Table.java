package org.pgonce.cli.terminal;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.sql.Rows;
import org.pgonce.operations.internal.text.CellText;
import org.pgonce.operations.internal.text.Printable;

/** Aligned columns; numbers to the right. Nothing is cut: the longest column stands last. */
public final class Table {

  private static final String GAP = "  ";

  private Table() {}

  public static String of(Rows rows) {
    var lines = new ArrayList<List<String>>();
    lines.add(rows.columns().stream().map(name -> name.toUpperCase(Locale.ROOT)).toList());
    rows.values().forEach(row -> lines.add(row.stream().map(CellText::of).toList()));
    var widths = new ArrayList<Integer>();
    for (var column = 0; column < rows.columns().size(); column++) {
      var at = column;
      widths.add(lines.stream().mapToInt(line -> width(line.get(at))).max().orElse(0));
    }
    var right = new ArrayList<Boolean>();
    for (var column = 0; column < rows.columns().size(); column++) {
      var at = column;
      right.add(rows.values().stream().anyMatch(row -> row.get(at) instanceof Number));
    }
    var table = new StringBuilder();
    for (var line : lines) {
      var text = new StringBuilder();
      for (var column = 0; column < line.size(); column++) {
        var cell = line.get(column);
        var blanks = " ".repeat(widths.get(column) - width(cell));
        text.append(right.get(column) ? blanks + cell : cell + blanks).append(GAP);
      }
      table.append(text.toString().stripTrailing()).append('\n');
    }
    return table.toString();
  }

  /** Each row as lines of name and value; what is null is left out. */
  public static String upright(Rows rows) {
    var width = rows.columns().stream().mapToInt(String::length).max().orElse(0);
    var text = new ArrayList<String>();
    for (var row : rows.values()) {
      var lines = new StringBuilder();
      for (var column = 0; column < row.size(); column++) {
        if (row.get(column) != null) {
          var name = rows.columns().get(column);
          lines
              .append(name)
              .append(" ".repeat(width - name.length()))
              .append(GAP)
              .append(lines(row.get(column), width + GAP.length()))
              .append('\n');
        }
      }
      text.add(lines.toString());
    }
    return String.join("\n", text);
  }

  /** Line breaks of a text stay, indented: it cannot pass for another value. */
  private static String lines(@Nullable Object value, int indent) {
    return value instanceof String text && !CellText.isUnnamed(text)
        ? text.strip()
            .lines()
            .map(Printable::line)
            .collect(Collectors.joining("\n" + " ".repeat(indent)))
        : CellText.of(value);
  }

  private static int width(String cell) {
    return cell.codePointCount(0, cell.length());
  }
}
