package org.pgonce.operations;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;
import org.pgonce.History;

/**
 * A notification that was handled for a subscription: see {@link History}. Times are by the
 * database's clock.
 *
 * @param deliveryKey the one that its publisher gave; null if none
 * @param storedAt when it was stored
 * @param dueAt since when it was due
 * @param claimedAt when the attempt that handled it began
 * @param handledAt when it was deleted, right before the commit
 * @param took how long the handler took; of a batch, the whole batch
 * @param attempts the number of the attempt that handled it, from 1
 * @param instance whose handler it was: {@code PgOnceBuilder.instance}
 * @param payload as JSON; null where it was not kept, or not asked for
 */
public record HistoryEntry(
    String subscription,
    long id,
    Outcome outcome,
    @Nullable String deliveryKey,
    Instant storedAt,
    Instant dueAt,
    Instant claimedAt,
    Instant handledAt,
    Duration took,
    int attempts,
    String instance,
    @Nullable String payload) {

  /** What became of it. */
  public enum Outcome {
    /** Its handler ran. */
    HANDLED,
    /** The handler's condition did not hold, so it did not run. */
    SKIPPED
  }

  /** Columns in the order of {@link #read}, of {@code pgonce.history_of} as h. */
  static final String COLUMNS =
      """
      h.subscription, h.id, h.outcome, h.delivery_key,
      (1000000 * extract(epoch FROM h.created_at))::bigint, (1000000 * extract(epoch FROM h.due_at))::bigint,
      (1000000 * extract(epoch FROM h.claimed_at))::bigint, (1000000 * extract(epoch FROM h.handled_at))::bigint,
      (1000000 * extract(epoch FROM h.took))::bigint, h.attempts, h.instance, h.payload::text""";

  static HistoryEntry read(ResultSet row) throws SQLException {
    return new HistoryEntry(
        row.getString(1),
        row.getLong(2),
        Outcome.valueOf(row.getString(3)),
        row.getString(4),
        Operator.instant(row, 5),
        Operator.instant(row, 6),
        Operator.instant(row, 7),
        Operator.instant(row, 8),
        Duration.of(row.getLong(9), ChronoUnit.MICROS),
        row.getInt(10),
        row.getString(11),
        row.getString(12));
  }

  /** Subscription, id, outcome and time; never the payload, which may be secret. */
  @Override
  public String toString() {
    return "notification %d for subscription %s, %s at %s"
        .formatted(id, subscription, outcome, handledAt);
  }
}
