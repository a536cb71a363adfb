package org.pgonce.triggers.internal.definition;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What beside the payload comes from a row.
 *
 * @param delivery the delivery key
 * @param order the order key
 * @param due when it is due: SQL over old and new; null: now
 * @param dueAfterUs or how long after it is stored, microseconds; 0: at once
 */
public record Keys(Key delivery, Key order, @Nullable String due, long dueAfterUs) {

  public static final Keys NONE = new Keys(Key.NONE, Key.NONE, null, 0);

  /**
   * How a key is made.
   *
   * @param columns of their values, as DeliveryKey.of does; empty: none
   * @param expression or by SQL over old and new
   */
  public record Key(List<String> columns, @Nullable String expression) {

    static final Key NONE = new Key(List.of(), null);

    public Key {
      columns = List.copyOf(columns);
    }

    public boolean isEmpty() {
      return columns.isEmpty() && expression == null;
    }
  }

  public Keys withDelivery(Key key) {
    return new Keys(key, order, due, dueAfterUs);
  }

  public Keys withOrder(Key key) {
    return new Keys(delivery, key, due, dueAfterUs);
  }

  public Keys withDue(@Nullable String expression, long afterUs) {
    return new Keys(delivery, order, expression, afterUs);
  }

  public boolean isEmpty() {
    return equals(NONE);
  }

  boolean hasDue() {
    return due != null || dueAfterUs > 0;
  }

  /** Whether a row is stored without a look at others, and at once. */
  boolean arePlain() {
    return delivery.isEmpty() && !hasDue();
  }

  boolean isByDeliveryAlone() {
    return !delivery.isEmpty() && order.isEmpty();
  }

  /** Each expression, by what it makes. */
  public Map<String, String> expressions() {
    var expressions = new LinkedHashMap<String, String>();
    put(expressions, "delivery key", delivery.expression());
    put(expressions, "order key", order.expression());
    put(expressions, "due time", due);
    return expressions;
  }

  private static void put(Map<String, String> to, String what, @Nullable String expression) {
    if (expression != null) {
      to.put(what, expression);
    }
  }

  /** Each column that is used, with what for. */
  public Map<String, String> uses() {
    var uses = new LinkedHashMap<String, String>();
    delivery.columns().forEach(column -> uses.put(column, "delivery key"));
    order
        .columns()
        .forEach(column -> uses.merge(column, "order key", (one, other) -> one + " and " + other));
    return uses;
  }
}
