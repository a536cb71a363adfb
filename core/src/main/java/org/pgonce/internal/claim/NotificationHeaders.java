package org.pgonce.internal.claim;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * What is stored with a notification beside its payload.
 *
 * @param deliveryKey the publisher's own key
 * @param orderKey the key of an order or a limit, where its channel has one
 * @param context the writer's context as JSON
 * @param depth how many handlers led to it
 * @param version of the channel's definition that made it
 */
public record NotificationHeaders(
    @Nullable String deliveryKey,
    @Nullable String orderKey,
    @Nullable String context,
    int depth,
    int version) {

  /**
   * Columns that set depth and context of what is published in the transaction from there on; the
   * parameters are those of {@link #bind}.
   */
  public static final String COLUMNS =
      "pg_catalog.set_config('pgonce.depth', ?, true), pg_catalog.set_config('pgonce.context', ?, true)";

  /**
   * The same from the claimed row c; the parameter is whether the session may have a context. Most
   * rows have neither, and each function costs the server its look-up with each claim.
   */
  static final String COLUMNS_OF_ROW =
      """
      pg_catalog.set_config('pgonce.depth', CASE WHEN c.stamp IS NULL THEN '1'
        ELSE ((c.stamp OPERATOR(pg_catalog.&) 65535) OPERATOR(pg_catalog.+) 1)::pg_catalog.text END, true),
      CASE WHEN ? OR c.context IS NOT NULL THEN pg_catalog.set_config('pgonce.context', COALESCE(c.context::pg_catalog.text, ''), true) END
      """;

  /** With depth and version packed as the tables have them: see pgonce.stamp. */
  static NotificationHeaders stamped(
      @Nullable String deliveryKey,
      @Nullable String orderKey,
      @Nullable String context,
      int stamp) {
    return new NotificationHeaders(
        deliveryKey, orderKey, context, stamp & 0xFFFF, (stamp >>> 16) + 1);
  }

  /** Binds the parameters of {@link #COLUMNS}, of which the first one has this number. */
  public void bind(PreparedStatement statement, int first) throws SQLException {
    statement.setString(first, String.valueOf(depth + 1));
    statement.setString(first + 1, context == null ? "" : context);
  }
}
