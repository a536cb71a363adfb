package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.pgonce.internal.store.Schema;
import org.pgonce.triggers.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.Quoted;

/**
 * Tables that fed a channel as partitions of its table, and were detached. PostgreSQL drops their
 * copies of the triggers, and keeps no trace; so what the table had is kept when it is installed.
 */
final class DetachedPartitions {

  private static final String DETACHED =
      "SELECT d FROM pgonce.detached_partitions(?, CAST(CAST(? AS bigint) AS oid)) AS d";
  private static final int FEW = 5;

  private DetachedPartitions() {}

  /** One line, or none. Detaching is what partitions are made for: so nothing is refused for it. */
  static List<String> warnings(Connection connection, Capture capture, WatchedTable table)
      throws SQLException {
    if (!table.form().kind().equals("p") || !Schema.exists(connection)) {
      return List.of();
    }
    var detached = CatalogLines.of(connection, DETACHED, capture.channel(), table.oid());
    if (detached.isEmpty()) {
      return List.of();
    }
    var few = String.join(", ", detached.subList(0, Math.min(FEW, detached.size())));
    var more = detached.size() > FEW ? " and %d more".formatted(detached.size() - FEW) : "";
    return List.of(
        "no longer partitions of table %s: %s%s; what is written to them makes no notification. If they are still in use, give them channels of their own; if that is meant: SELECT pgonce.forget_partitions(%s)"
            .formatted(table.name(), few, more, Quoted.literal(capture.channel())));
  }
}
