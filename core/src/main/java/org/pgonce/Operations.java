package org.pgonce;

import java.time.Instant;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.operate.OperateStatements;
import org.pgonce.internal.operate.OperatorTransactions;
import org.pgonce.internal.operate.SqlArray;
import org.pgonce.internal.store.ChannelNames;
import org.pgonce.spi.ChannelFeed;

/**
 * What the person on call does to channels; dead letters have {@link DeadLetters} for themselves.
 * The same functions are there in SQL: {@code pgonce.pause}, {@code resume}, {@code cancel}, {@code
 * peek}, {@code drop_channel}, {@code drop_subscription}, {@code adopt}.
 *
 * <p>Each method takes a connection from the data source, is one transaction there, and has
 * committed it when it returns. What changes something is remembered for a year in the view {@code
 * pgonce.operation_log}: when, what, by which role and person, why, and how many. Each throws a
 * {@link PgOnceException} if the channel is not installed, or the database refuses, for example
 * because the role is not a member of {@code pgonce_admin}, or cannot be reached; then nothing was
 * changed, but for the case that the connection ended in the commit. A reason is 1 to 2,000
 * characters, not blank, else an {@link IllegalArgumentException} is thrown before any SQL runs.
 *
 * <p>Immutable and safe for use by several threads.
 */
public final class Operations {

  private static final int MOST = 100_000;

  private final OperatorTransactions transactions;

  Operations(OperatorTransactions transactions) {
    this.transactions = transactions;
  }

  /**
   * What {@link #cancel} has come to. Each subscription counts for itself.
   *
   * @param cancelled removed for good
   * @param beingHandled left alone, since a handler had them at that moment: they may end well, or
   *     fail and wait again
   */
  public record Cancelled(long cancelled, long beingHandled) {}

  /**
   * A notification that waits for a subscription.
   *
   * @param attempts that have begun and been counted
   * @param dueAt from when on it may be handled, by the database's clock
   * @param createdAt when it was stored
   * @param lastError why the last attempt failed, or why it was put back (see {@link
   *     PayloadRules}); null if neither has happened
   * @param deliveryKey the one that its publisher gave; null if none
   * @param orderKey null if it has none
   * @param context what its writer said of itself, as JSON; null if nothing
   * @param version of the channel's definition that made it, see {@link PayloadRules}
   * @param payload as JSON; null where it was not asked for
   */
  public record Waiting(
      String subscription,
      long id,
      int attempts,
      Instant dueAt,
      Instant createdAt,
      @Nullable String lastError,
      @Nullable String deliveryKey,
      @Nullable String orderKey,
      @Nullable String context,
      int version,
      @Nullable String payload) {

    /** Subscription, id, attempts and due time; never the payload, which may be secret. */
    @Override
    public String toString() {
      return "notification %d for subscription %s (%d attempts, due at %s)"
          .formatted(id, subscription, attempts, dueAt);
    }
  }

  /** The same, done by this person and not by the instance ({@link PgOnceBuilder#instance}). */
  public Operations by(String person) {
    return new Operations(transactions.by(person));
  }

  /**
   * Pauses all subscriptions of a channel, in every process and until somebody resumes it, restarts
   * included. Running listeners hear of it and claim nothing more; handlers that run go on to their
   * end; what is stored waits. A listener that is disconnected claims on until its next poll:
   * {@link PgOnceBuilder#pollInterval}, 1 s by default.
   *
   * @return how many subscriptions it has paused: those that were paused already stay as they are,
   *     with their time and reason
   * @throws PgOnceException also if the channel is a BROADCAST, which stores nothing that could
   *     wait
   */
  public long pause(Channel<?> channel, String reason) {
    return pauseOrResume("pause", OperateStatements.PAUSE, channel, null, reason);
  }

  /** As {@link #pause(Channel, String)}, for one subscription. */
  public long pause(Channel<?> channel, String subscription, String reason) {
    return pauseOrResume("pause", OperateStatements.PAUSE, channel, valid(subscription), reason);
  }

  /**
   * Ends the pause of all subscriptions of a channel: what has waited is handled from now on.
   *
   * @return how many were paused
   */
  public long resume(Channel<?> channel, String reason) {
    return pauseOrResume("resume", OperateStatements.RESUME, channel, null, reason);
  }

  /** As {@link #resume(Channel, String)}, for one subscription. */
  public long resume(Channel<?> channel, String subscription, String reason) {
    return pauseOrResume("resume", OperateStatements.RESUME, channel, valid(subscription), reason);
  }

  private long pauseOrResume(
      String what, String sql, Channel<?> channel, @Nullable String subscription, String reason) {
    Objects.requireNonNull(channel, "channel");
    var why = OperatorTransactions.requireReason(reason);
    return transactions.run(
        what,
        channel,
        transaction ->
            OperateStatements.pauseOrResume(transaction, sql, channel.name(), why, subscription));
  }

  /**
   * Removes the notifications with these ids, due or not, from all subscriptions for good; ids that
   * do not wait are passed over. Dead letters are for {@link DeadLetters#discard}.
   */
  public Cancelled cancel(Channel<?> channel, List<Long> ids, String reason) {
    Objects.requireNonNull(ids, "ids");
    return cancel(channel, SqlArray.of("an id", ids), null, reason);
  }

  /** As {@link #cancel}, by the delivery keys that their publishers gave. */
  public Cancelled cancelByKey(Channel<?> channel, List<String> deliveryKeys, String reason) {
    Objects.requireNonNull(deliveryKeys, "deliveryKeys");
    return cancel(channel, null, SqlArray.of("a delivery key", deliveryKeys), reason);
  }

  private Cancelled cancel(
      Channel<?> channel, @Nullable String ids, @Nullable String keys, String reason) {
    Objects.requireNonNull(channel, "channel");
    var why = OperatorTransactions.requireReason(reason);
    return transactions.run(
        "cancel notifications of",
        channel,
        transaction -> OperateStatements.cancel(transaction, channel.name(), ids, keys, why));
  }

  /**
   * What waits in a channel, the oldest first, due or not; without the payloads.
   *
   * @param limit at most so many, 1 to 100,000
   * @throws IllegalArgumentException if the limit is another one
   */
  public List<Waiting> peek(Channel<?> channel, int limit) {
    return peek(channel, limit, false);
  }

  /** As {@link #peek}, with the payloads, which may be secret. */
  public List<Waiting> peekWithPayloads(Channel<?> channel, int limit) {
    return peek(channel, limit, true);
  }

  private List<Waiting> peek(Channel<?> channel, int limit, boolean payloads) {
    Objects.requireNonNull(channel, "channel");
    if (limit < 1 || limit > MOST) {
      throw new IllegalArgumentException("limit " + limit + " is not between 1 and 100,000");
    }
    return transactions.run(
        "look into",
        channel,
        transaction -> OperateStatements.peek(transaction, channel.name(), limit, payloads));
  }

  /**
   * Removes a channel with everything that waits in it, dead letters included, for good. Waits for
   * handlers that are at work on some of it, while everybody else goes on; then some 16 s for
   * transactions that have published or settled something in any channel, in tries that make others
   * wait for 1.75 s at most, and gives up. A listener that runs gets nothing more of it and says
   * so. What a transaction at REPEATABLE READ or above whose snapshot is older still stores for it
   * the housekeeping of any listener in the database deletes, unless one that has not heard of the
   * drop handles it before.
   *
   * @return false if it was not installed
   * @throws IllegalArgumentException if something else than code feeds the channel: a trigger is
   *     dropped with it, by {@code Triggers.drop}
   */
  public boolean drop(Channel<?> channel, String reason) {
    Objects.requireNonNull(channel, "channel");
    if (channel.feed() != ChannelFeed.PUBLISHED) {
      throw new IllegalArgumentException(
          "channel %s is fed by «%s», which would feed nothing then: what made that drops both (Triggers.drop for a trigger channel)"
              .formatted(channel.name(), channel.feed().description()));
    }
    var why = OperatorTransactions.requireReason(reason);
    return transactions.run(
        "drop",
        channel,
        transaction -> OperateStatements.dropChannel(transaction, channel.name(), why));
  }

  /** As {@link #drop(Channel, String)}, for one subscription, however the channel is fed. */
  public boolean drop(Channel<?> channel, String subscription, String reason) {
    Objects.requireNonNull(channel, "channel");
    var name = valid(subscription);
    var why = OperatorTransactions.requireReason(reason);
    return transactions.run(
        "drop a subscription of",
        channel,
        transaction -> OperateStatements.dropSubscription(transaction, channel.name(), name, why));
  }

  /**
   * Has listeners start in this database though it is a copy: restored from a dump, or made from
   * another as its template. What waits in it is handled from then on, under the delivery keys that
   * it has in the original too; what is published from then on gets ids, and so keys, that the
   * original has not given. Also after a restore to a point in time, and after a failover that lost
   * commits, which pgonce does not notice. Stop the listeners of this database before.
   */
  public void adopt(String reason) {
    var why = OperatorTransactions.requireReason(reason);
    var unused =
        transactions.run(
            "adopt the database",
            transaction -> {
              OperateStatements.adopt(transaction, why);
              return true;
            });
  }

  // Not only those of the definition: what is to be dropped is often no longer in it.
  private static String valid(String subscription) {
    Objects.requireNonNull(subscription, "subscription");
    return ChannelNames.requireValid("subscription", subscription);
  }
}
