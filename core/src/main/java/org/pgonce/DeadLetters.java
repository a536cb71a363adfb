package org.pgonce;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.operate.OperatorTransactions;
import org.pgonce.internal.operate.SqlArray;
import org.pgonce.internal.store.ChannelNames;

/**
 * The notifications that used up their attempts, were rejected, or could not be read. Each method
 * takes a connection from the data source, is one transaction there, and has committed it when it
 * returns. Each throws a {@link PgOnceException} if the database refuses, for example because the
 * role is not a member of {@code pgonce_admin}, or cannot be reached; then nothing was changed, but
 * for the case that the connection ended in the commit. What changes something is remembered in the
 * view {@code pgonce.operation_log}, as for {@link Operations}. Immutable and safe for use by
 * several threads.
 */
public final class DeadLetters {

  private static final String LIST =
      """
      SELECT d.subscription, d.id, d.reason, d.error, d.attempts, (extract(epoch FROM d.died_at) * 1000000)::bigint, d.version
        FROM pgonce.dead_letter_status AS d WHERE d.channel = ? ORDER BY d.id, d.subscription LIMIT ?
      """;
  private static final String REDRIVE = "SELECT pgonce.redrive(?, ?::text::bigint[], ?, ?)";
  private static final String DISCARD = "SELECT pgonce.discard(?, ?::text::bigint[], ?, ?)";
  private static final String REDRIVING = "redrive the dead letters of";
  private static final String DISCARDING = "discard the dead letters of";

  private final OperatorTransactions transactions;
  private final @Nullable String reason;

  DeadLetters(OperatorTransactions transactions) {
    this(transactions, null);
  }

  private DeadLetters(OperatorTransactions transactions, @Nullable String reason) {
    this.transactions = transactions;
    this.reason = reason;
  }

  /**
   * The same, done by this person, as {@link Operations#by}.
   *
   * @throws IllegalArgumentException if the name is blank or longer than 200 characters
   */
  public DeadLetters by(String person) {
    return new DeadLetters(transactions.by(person), reason);
  }

  /**
   * The same, for this reason: it stands beside the redrive or discard in {@code
   * pgonce.operation_log}. Default none.
   *
   * @throws IllegalArgumentException if it is blank or longer than 2,000 characters
   */
  public DeadLetters because(String reason) {
    return new DeadLetters(transactions, OperatorTransactions.requireReason(reason));
  }

  /**
   * One dead letter: a notification that a subscription gave up.
   *
   * @param subscription which one did; others of the channel may have handled it, or given it up
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
   * @throws PgOnceException if the database refuses or cannot be reached
   */
  public List<DeadLetter> of(Channel<?> channel, int limit) {
    Objects.requireNonNull(channel, "channel");
    if (limit < 1 || limit > 100_000) {
      throw new IllegalArgumentException("limit " + limit + " is not between 1 and 100,000");
    }
    return transactions.run(
        "list the dead letters of",
        channel,
        connection -> {
          try (var statement = connection.prepareStatement(LIST)) {
            statement.setString(1, channel.name());
            statement.setInt(2, limit);
            var letters = new ArrayList<DeadLetter>();
            try (var row = statement.executeQuery()) {
              while (row.next()) {
                letters.add(
                    new DeadLetter(
                        row.getString(1),
                        row.getLong(2),
                        row.getString(3),
                        row.getString(4),
                        row.getInt(5),
                        Instant.EPOCH.plus(row.getLong(6), ChronoUnit.MICROS),
                        row.getInt(7)));
              }
            }
            return letters;
          }
        });
  }

  /**
   * Gives all dead letters of the channel another life, with their attempts counted from zero,
   * under the same delivery keys. Each subscription counts for itself.
   *
   * @return how many
   * @throws PgOnceException if the channel is not installed, or the database refuses or cannot be
   *     reached
   */
  public long redrive(Channel<?> channel) {
    return change(REDRIVING, REDRIVE, channel, null, null);
  }

  /**
   * As {@link #redrive(Channel)}, for those with the given ids; others are passed over. An id
   * stands for the dead letters of all subscriptions that gave the notification up.
   */
  public long redrive(Channel<?> channel, List<Long> ids) {
    return change(REDRIVING, REDRIVE, channel, null, array(ids));
  }

  /**
   * As {@link #redrive(Channel)}, for one subscription: those of the others stay where they are.
   *
   * @throws IllegalArgumentException if that is no name of a subscription
   * @throws PgOnceException also if the channel is installed without such a subscription
   */
  public long redrive(Channel<?> channel, String subscription) {
    return change(REDRIVING, REDRIVE, channel, valid(subscription), null);
  }

  /** As {@link #redrive(Channel, String)}, for those with the given ids; others are passed over. */
  public long redrive(Channel<?> channel, String subscription, List<Long> ids) {
    return change(REDRIVING, REDRIVE, channel, valid(subscription), array(ids));
  }

  /**
   * Deletes all dead letters of the channel for good.
   *
   * @return how many
   * @throws PgOnceException as for {@link #redrive(Channel)}
   */
  public long discard(Channel<?> channel) {
    return change(DISCARDING, DISCARD, channel, null, null);
  }

  /** As {@link #discard(Channel)}, for those with the given ids, as {@link #redrive} takes them. */
  public long discard(Channel<?> channel, List<Long> ids) {
    return change(DISCARDING, DISCARD, channel, null, array(ids));
  }

  /**
   * As {@link #discard(Channel)}, for one subscription: those of the others stay where they are.
   *
   * @throws IllegalArgumentException if that is no name of a subscription
   * @throws PgOnceException also if the channel is installed without such a subscription
   */
  public long discard(Channel<?> channel, String subscription) {
    return change(DISCARDING, DISCARD, channel, valid(subscription), null);
  }

  /** As {@link #discard(Channel, String)}, for those with the given ids; others are passed over. */
  public long discard(Channel<?> channel, String subscription, List<Long> ids) {
    return change(DISCARDING, DISCARD, channel, valid(subscription), array(ids));
  }

  private static String array(List<Long> ids) {
    return SqlArray.of("an id", Objects.requireNonNull(ids, "ids"));
  }

  // Not only those of the definition, which may no longer name what is still installed.
  private static String valid(String subscription) {
    Objects.requireNonNull(subscription, "subscription");
    return ChannelNames.requireValid("subscription", subscription);
  }

  private long change(
      String what,
      String sql,
      Channel<?> channel,
      @Nullable String subscription,
      @Nullable String ids) {
    Objects.requireNonNull(channel, "channel");
    return transactions.run(
        what,
        channel,
        connection -> {
          try (var statement = connection.prepareStatement(sql)) {
            statement.setString(1, channel.name());
            statement.setString(2, ids);
            statement.setString(3, reason);
            statement.setString(4, subscription);
            try (var row = statement.executeQuery()) {
              row.next();
              return row.getLong(1);
            }
          }
        });
  }
}
