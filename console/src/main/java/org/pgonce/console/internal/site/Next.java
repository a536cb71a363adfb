package org.pgonce.console.internal.site;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section.Link;
import org.pgonce.operations.internal.sql.Rows;

/** The link to the rows behind those of a page: they begin where these end, whatever came since. */
final class Next {

  private Next() {}

  /**
   * Null if no row was found beyond the page.
   *
   * @param kept what else the link says, by parameter
   * @param after the column by which the rows are sorted
   * @param of by which those are that have the same; null: none has
   */
  static @Nullable Link of(
      Rows rows,
      String path,
      Map<String, ? extends @Nullable String> kept,
      String after,
      @Nullable String of) {
    if (rows.values().size() <= Queries.PAGE) {
      return null;
    }
    var last = rows.objects().get(Queries.PAGE - 1);
    var parameters = new LinkedHashMap<String, @Nullable String>(kept);
    parameters.put("after", String.valueOf(last.get(after)));
    if (of != null) {
      parameters.put("of", String.valueOf(last.get(of)));
    }
    return Link.to("Next " + Queries.PAGE, Paths.with(path, parameters));
  }
}
