package org.pgonce.console.internal.site;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.page.Section.Cell;
import org.pgonce.console.internal.page.Section.Row;

/** Rows of notifications of one channel: a link by the id, then what is known of each. */
final class NotificationRows {

  private NotificationRows() {}

  /**
   * @param thing what a row is, for those who hear it; null: none can be chosen
   * @param columns of what was found, beside the id
   */
  static List<Row> of(
      Visit visit,
      String channel,
      @Nullable String thing,
      List<Map<String, @Nullable Object>> found,
      List<String> columns) {
    return found.stream().map(one -> row(visit.paths(), channel, thing, one, columns)).toList();
  }

  private static Row row(
      Paths paths,
      String channel,
      @Nullable String thing,
      Map<String, @Nullable Object> one,
      List<String> columns) {
    var id = String.valueOf(one.get("id"));
    var cells = new ArrayList<Cell>();
    cells.add(Cell.link(id, paths.notification(channel, id)));
    for (var column : columns) {
      cells.add(column.equals("last_sql") ? Cell.code(one.get(column)) : Cell.of(one.get(column)));
    }
    return thing == null
        ? new Row(null, id, cells)
        : new Row(one.get("subscription") + "/" + id, thing + " " + id, cells);
  }
}
