package org.pgonce.internal.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;

/**
 * How a channel and one of its subscriptions are installed.
 *
 * @param subscription its id, 0 if there is none of that name: then the filter says nothing
 * @param maxRate 0 is none
 * @param maxPerKey 0 is none
 * @param epoch what tells this installation from an earlier one of the same database
 * @param encoding the database's, by PostgreSQL's name
 */
public record Definition(
    int subscription,
    String mode,
    String feed,
    Map<String, String> filter,
    Duration keyMemory,
    String order,
    int maxDepth,
    int maxRate,
    int maxPerKey,
    String wakeUps,
    String epoch,
    String encoding) {

  /** What {@link #read} reads, of {@code pgonce.installed} or {@code pgonce.poll} as i. */
  public static final String COLUMNS =
      "i.subscription, i.mode, i.feed, i.filter, i.key_memory_ms, i.key_order, i.max_depth, i.max_rate, i.max_per_key, i.wake_ups, i.epoch, i.encoding";

  /**
   * Reads it from a row.
   *
   * @param first where {@link #COLUMNS} begin, from 1
   */
  public static Definition read(ResultSet row, int first) throws SQLException {
    return new Definition(
        row.getInt(first),
        row.getString(first + 1),
        row.getString(first + 2),
        SubscriptionFilters.fromJson(row.getString(first + 3)),
        Duration.ofMillis(row.getLong(first + 4)),
        row.getString(first + 5),
        row.getInt(first + 6),
        row.getInt(first + 7),
        row.getInt(first + 8),
        row.getString(first + 9),
        row.getString(first + 10),
        row.getString(first + 11));
  }
}
