package org.pgonce.triggers.internal.definition;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Which columns the keys of a row are made of, by their names in the database. Empty: none.
 *
 * @param delivery those of the delivery key
 * @param order those of the order key
 */
public record KeyColumns(List<String> delivery, List<String> order) {

  public static final KeyColumns NONE = new KeyColumns(List.of(), List.of());

  public KeyColumns {
    delivery = List.copyOf(delivery);
    order = List.copyOf(order);
  }

  public boolean isEmpty() {
    return delivery.isEmpty() && order.isEmpty();
  }

  /** Each column that is used, with what for. */
  public Map<String, String> uses() {
    var uses = new LinkedHashMap<String, String>();
    delivery.forEach(column -> uses.put(column, "delivery key"));
    order.forEach(column -> uses.merge(column, "order key", (one, other) -> one + " and " + other));
    return uses;
  }

  /** The expression over a row n that gives the key of these columns; null where there are none. */
  static String expression(List<String> columns) {
    if (columns.isEmpty()) {
      return "NULL::text";
    }
    var parts = new ArrayList<String>();
    for (var column : columns) {
      // As the payload writes it, whatever the session has set. Not by a cast to text, which a role
      // could have made for a type of its own, and which would run with the rights of pgonce_owner.
      parts.add("to_json(n." + Quoted.identifier(column) + ") #>> '{}'");
    }
    return "pgonce.row_key(" + String.join(", ", parts) + ")";
  }
}
