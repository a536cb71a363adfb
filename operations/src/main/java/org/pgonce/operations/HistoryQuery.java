package org.pgonce.operations;

import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Which entries of a channel's history {@link Operations#history} returns: the latest ones that fit
 * all that is given. Immutable; each method returns a changed copy.
 *
 * <pre>{@code
 * var query = HistoryQuery.latest(100).withDeliveryKey("mail:1");
 * }</pre>
 *
 * @param limit at most so many, 1 to 100,000; one or the other more where the same notification was
 *     handled for several subscriptions in the same microsecond
 * @param since handled then or later, by the database's clock; of the years 1 to 9999; null for any
 * @param before handled before that; of the years 1 to 9999; null for any
 * @param beforeId of those handled at {@code before}, these with a lower id too; null for none
 * @param deliveryKey which its publisher gave; null for any
 * @param payloads whether to return the payloads, where they were kept
 */
public record HistoryQuery(
    int limit,
    @Nullable Instant since,
    @Nullable Instant before,
    @Nullable Long beforeId,
    @Nullable String deliveryKey,
    boolean payloads) {

  private static final Instant FIRST = Instant.parse("0001-01-01T00:00:00Z");
  private static final Instant LAST = Instant.parse("9999-12-31T23:59:59.999999Z");

  public HistoryQuery {
    Operator.requireLimit(limit);
    requireTime("since", since);
    requireTime("before", before);
  }

  /** What PostgreSQL reads as {@link Instant} writes it. */
  private static void requireTime(String name, @Nullable Instant time) {
    if (time != null && (time.isBefore(FIRST) || time.isAfter(LAST))) {
      throw new IllegalArgumentException(
          "%s %s is not within the years 1 to 9999: leave it out for any".formatted(name, time));
    }
  }

  /**
   * The latest entries.
   *
   * @throws IllegalArgumentException if the limit is not between 1 and 100,000
   */
  public static HistoryQuery latest(int limit) {
    return new HistoryQuery(limit, null, null, null, null, false);
  }

  /** Only what was handled then or later. */
  public HistoryQuery since(Instant time) {
    Objects.requireNonNull(time, "time");
    return new HistoryQuery(limit, time, before, beforeId, deliveryKey, payloads);
  }

  /** Only what was handled before that. */
  public HistoryQuery before(Instant time) {
    Objects.requireNonNull(time, "time");
    return new HistoryQuery(limit, since, time, null, deliveryKey, payloads);
  }

  /** The next page: what comes behind the last entry of a page. */
  public HistoryQuery behind(HistoryEntry last) {
    Objects.requireNonNull(last, "last");
    return new HistoryQuery(limit, since, last.handledAt(), last.id(), deliveryKey, payloads);
  }

  /** Only of this key. */
  public HistoryQuery withDeliveryKey(String key) {
    Objects.requireNonNull(key, "key");
    return new HistoryQuery(limit, since, before, beforeId, key, payloads);
  }

  /** With the payloads, which may be secret: the role must be a member of pgonce_admin. */
  public HistoryQuery withPayloads() {
    return new HistoryQuery(limit, since, before, beforeId, deliveryKey, true);
  }
}
