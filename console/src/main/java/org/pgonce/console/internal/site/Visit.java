package org.pgonce.console.internal.site;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.Request;
import org.pgonce.console.Visitor;
import org.pgonce.console.internal.act.Verb;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.Rows;

/**
 * One request on its way through a page.
 *
 * @param may what this visitor may do here
 */
record Visit(Request request, Visitor visitor, Paths paths, Database database, Set<Verb> may) {

  /** A page is refused as a browser should not have asked for it. */
  static final class BadRequestException extends RuntimeException {

    BadRequestException(String message) {
      super(message);
    }
  }

  @Nullable String parameter(String name) {
    return request.parameter(name);
  }

  String orEmpty(String name) {
    var value = parameter(name);
    return value == null ? "" : value;
  }

  /** A whole number, as text for a query; null if it is not there. */
  @Nullable String number(String name) {
    var value = parameter(name);
    return value == null ? null : String.valueOf(id(value));
  }

  static long id(String text) {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new BadRequestException("an id is a whole number");
    }
  }

  Rows rows(String sql, @Nullable String... parameters) {
    return database.read(sql, parameters);
  }

  Rows rows(String sql, List<@Nullable String> parameters) {
    return database.read(sql, parameters.toArray(new @Nullable String[0]));
  }

  static List<Map<String, @Nullable Object>> first(Rows rows, int most) {
    var objects = rows.objects();
    return objects.subList(0, Math.min(most, objects.size()));
  }
}
