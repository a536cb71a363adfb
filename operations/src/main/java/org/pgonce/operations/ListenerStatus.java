package org.pgonce.operations;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.pgonce.PgOnceBuilder;

/**
 * One process that listens: a row of the view {@code pgonce.listener_status}.
 *
 * @param id of this start of it
 * @param instance its name, see {@link PgOnceBuilder#instance}
 * @param listensBy the wake-up source that listens, or {@code polling}
 * @param role the database's role that it works as
 * @param seenAt its last sign of life, by the database's clock
 * @param alive whether that is recent enough
 * @param channels what it handles, a name for each subscription, in their order
 * @param firstFor of these the channels whose wake-ups it answers at once, while others wait a
 *     moment
 */
public record ListenerStatus(
    UUID id,
    String instance,
    String listensBy,
    String role,
    Instant startedAt,
    Instant seenAt,
    boolean alive,
    List<String> channels,
    List<String> firstFor) {

  // Arrays as texts: a channel's name has no space.
  static final String SQL =
      """
      SELECT l.id::text, l.instance, l.listens_by, l.role, (1000000 * extract(epoch FROM l.started_at))::bigint,
             (1000000 * extract(epoch FROM l.seen_at))::bigint, l.alive, array_to_string(l.channels, ' '), array_to_string(l.first_for, ' ')
        FROM pgonce.listener_status AS l ORDER BY l.started_at, l.id
      """;

  static ListenerStatus read(ResultSet row) throws SQLException {
    return new ListenerStatus(
        UUID.fromString(row.getString(1)),
        row.getString(2),
        row.getString(3),
        row.getString(4),
        Operator.instant(row, 5),
        Operator.instant(row, 6),
        row.getBoolean(7),
        names(row.getString(8)),
        names(row.getString(9)));
  }

  private static List<String> names(String all) {
    return all.isEmpty() ? List.of() : List.of(all.split(" ", -1));
  }
}
