package org.pgonce.console.internal.look;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.sql.Rows;
import org.pgonce.operations.internal.sql.Statements;

/**
 * How the channels stood at one moment.
 *
 * @param takenNanos of this process's clock: only ever compared with another one
 * @param stored how many notifications were stored, since some time
 * @param finished how many were handled, discarded or cancelled, since some time
 * @param standby whether the server is one
 */
public record Counts(
    long takenNanos,
    List<Subscription> subscriptions,
    long stored,
    long finished,
    boolean standby) {

  /** What waits is counted to 100,000. */
  public record Subscription(
      String channel,
      String name,
      long backlog,
      long scheduled,
      long retrying,
      long dead,
      Duration oldest,
      long listeners,
      long outdated,
      @Nullable Instant pausedSince,
      @Nullable String pausedBy,
      @Nullable String pauseReason,
      @Nullable String hint) {

    public boolean isPaused() {
      return pausedSince != null;
    }

    public boolean isUnheard() {
      return listeners == 0 && backlog + scheduled > 0;
    }

    public boolean isTroubled() {
      return isPaused() || isUnheard() || dead > 0 || outdated > 0 || hint != null;
    }
  }

  public static Counts read(Statements statements) throws SQLException {
    var turnover = statements.rows(Queries.TURNOVER).values().get(0);
    return new Counts(
        System.nanoTime(),
        subscriptions(statements.rows(Queries.COUNTS)),
        number(turnover.get(0)),
        number(turnover.get(1)),
        Boolean.TRUE.equals(turnover.get(2)));
  }

  /** The subscriptions of one channel. */
  public static List<Subscription> of(Statements statements, String channel) throws SQLException {
    return subscriptions(statements.rows(Queries.COUNTS_OF, channel));
  }

  private static List<Subscription> subscriptions(Rows rows) {
    var subscriptions = new ArrayList<Subscription>();
    for (var row : rows.values()) {
      subscriptions.add(
          new Subscription(
              String.valueOf(row.get(0)),
              String.valueOf(row.get(1)),
              number(row.get(2)),
              number(row.get(3)),
              number(row.get(4)),
              number(row.get(5)),
              Duration.ofMillis(
                  row.get(6) instanceof Number age ? (long) (age.doubleValue() * 1_000) : 0),
              number(row.get(7)),
              number(row.get(8)),
              row.get(9) instanceof Instant since ? since : null,
              text(row.get(10)),
              text(row.get(11)),
              text(row.get(12))));
    }
    return List.copyOf(subscriptions);
  }

  private static long number(@Nullable Object value) {
    return value instanceof Number number ? number.longValue() : 0;
  }

  private static @Nullable String text(@Nullable Object value) {
    return value == null ? null : value.toString();
  }

  /** Of all channels. */
  long waiting() {
    return waiting(subscriptions);
  }

  static long waiting(List<Subscription> some) {
    return some.stream().mapToLong(one -> one.backlog() + one.scheduled()).sum();
  }
}
