package org.pgonce.operations;

import static org.pgonce.operations.Operator.requireSubscription;

import java.time.Instant;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.PayloadRules;
import org.pgonce.PgOnceException;

/**
 * The notifications that used up their attempts, were rejected, or could not be read. Reached by
 * {@link Operations#deadLetters()}, whose rules for transactions, failures and the log hold here
 * too. Immutable and safe for use by several threads.
 */
public final class DeadLetters {

  private static final String LIST =
      """
      SELECT d.subscription, d.id, d.reason, d.error, d.attempts, (extract(epoch FROM d.died_at) * 1000000)::bigint, d.version
        FROM pgonce.dead_letter_status AS d WHERE d.channel = ? ORDER BY d.id, d.subscription LIMIT ?
      """;
  private static final String REDRIVE = "SELECT pgonce.redrive(?, ?::text::bigint[], ?, ?)";
  private static final String DISCARD = "SELECT pgonce.discard(?, ?::text::bigint[], ?, ?)";

  private final Operator operator;
  private final @Nullable String reason;

  DeadLetters(Operator operator) {
    this(operator, null);
  }

  private DeadLetters(Operator operator, @Nullable String reason) {
    this.operator = operator;
    this.reason = reason;
  }

  /**
   * The same, for this reason: it stands beside the redrive or discard in {@code
   * pgonce.operation_log}. Default none.
   *
   * @throws IllegalArgumentException if it is blank or longer than 2,000 characters
   */
  public DeadLetters because(String reason) {
    return new DeadLetters(operator, Operator.requireReason(reason));
  }

  /**
   * One dead letter: a notification that a subscription gave up.
   *
   * @param subscription others of the channel may have handled the notification, or given it up
   *     too, and then have a dead letter of the same id
   * @param reason ATTEMPTS_USED_UP, UNREADABLE, REJECTED, OUTCOME_UNKNOWN, TOO_DEEP or NOT_STORABLE
   * @param error the last failure in words
   * @param diedAt by the database's clock
   * @param version of the channel's definition that made it, see {@link PayloadRules}
   */
  public record DeadLetter(
      String subscription,
      long id,
      String reason,
      String error,
      int attempts,
      Instant diedAt,
      int version) {}

  /**
   * The channel's dead letters, by their ids and then by their subscriptions; empty if it has none,
   * or is not installed.
   *
   * @param limit at most so many, 1 to 100,000
   * @throws IllegalArgumentException if the limit is another one
   */
  public List<DeadLetter> of(Channel<?> channel, int limit) {
    Objects.requireNonNull(channel, "channel");
    return operator.all(
        "list the dead letters of",
        LIST,
        row ->
            new DeadLetter(
                row.getString(1),
                row.getLong(2),
                row.getString(3),
                row.getString(4),
                row.getInt(5),
                Operator.instant(row, 6),
                row.getInt(7)),
        channel,
        Operator.requireLimit(limit));
  }

  /**
   * Gives all dead letters of the channel another life, with their attempts counted from zero,
   * under the same delivery keys. Each subscription counts for itself.
   *
   * @return how many
   */
  public long redrive(Channel<?> channel) {
    return change("redrive", REDRIVE, channel, null, null);
  }

  /**
   * As {@link #redrive(Channel)}, for those with the given ids; others are passed over. An id
   * stands for the dead letters of all subscriptions that gave the notification up.
   */
  public long redrive(Channel<?> channel, List<Long> ids) {
    return change("redrive", REDRIVE, channel, null, array(ids));
  }

  /**
   * As {@link #redrive(Channel)}, for one subscription: those of the others stay where they are.
   *
   * @throws IllegalArgumentException if that is no name of a subscription
   * @throws PgOnceException also if the channel is installed without such a subscription
   */
  public long redrive(Channel<?> channel, String subscription) {
    return change("redrive", REDRIVE, channel, requireSubscription(subscription), null);
  }

  /** As {@link #redrive(Channel, String)}, for those with the given ids; others are passed over. */
  public long redrive(Channel<?> channel, String subscription, List<Long> ids) {
    return change("redrive", REDRIVE, channel, requireSubscription(subscription), array(ids));
  }

  /**
   * Deletes all dead letters of the channel for good.
   *
   * @return how many
   */
  public long discard(Channel<?> channel) {
    return change("discard", DISCARD, channel, null, null);
  }

  /** As {@link #discard(Channel)}, for those with the given ids, as {@link #redrive} takes them. */
  public long discard(Channel<?> channel, List<Long> ids) {
    return change("discard", DISCARD, channel, null, array(ids));
  }

  /** As {@link #discard(Channel)}, for one subscription, as {@link #redrive} takes it. */
  public long discard(Channel<?> channel, String subscription) {
    return change("discard", DISCARD, channel, requireSubscription(subscription), null);
  }

  /** As {@link #discard(Channel, String)}, for those with the given ids; others are passed over. */
  public long discard(Channel<?> channel, String subscription, List<Long> ids) {
    return change("discard", DISCARD, channel, requireSubscription(subscription), array(ids));
  }

  private static String array(List<Long> ids) {
    return Operator.array("an id", Objects.requireNonNull(ids, "ids"));
  }

  private long change(
      String what,
      String sql,
      Channel<?> channel,
      @Nullable String subscription,
      @Nullable String ids) {
    Objects.requireNonNull(channel, "channel");
    return operator.one(
        what + " the dead letters of",
        sql,
        row -> row.getLong(1),
        channel,
        ids,
        reason,
        subscription);
  }
}
