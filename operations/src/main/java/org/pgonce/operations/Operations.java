package org.pgonce.operations;

import static org.pgonce.operations.Operator.requireReason;
import static org.pgonce.operations.Operator.requireSubscription;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.PayloadRules;
import org.pgonce.PgOnceBuilder;
import org.pgonce.PgOnceException;
import org.pgonce.spi.ChannelFeed;

/**
 * What the person on call does to channels. Needs no listener.
 *
 * <pre>{@code
 * var operations = Operations.over(dataSource).by("Ada");
 * operations.pause(MAILS, "mail server is down");
 * operations.deadLetters().redrive(MAILS);
 * }</pre>
 *
 * <p>The same functions are there in SQL: {@code pgonce.explain}, {@code pause}, {@code resume},
 * {@code cancel}, {@code retry_now}, {@code peek}, {@code history_of}, {@code drop_channel}, {@code
 * drop_subscription}, {@code adopt}, {@code redrive}, {@code discard}.
 *
 * <p>Each method takes a connection from the data source, runs one transaction, and has committed
 * it when it returns. The view {@code pgonce.operation_log} keeps each change for a year: when,
 * what, by which role and person, why, and how many notifications. Each method throws a {@link
 * PgOnceException} if the channel is not installed, the database refuses (the role is not a member
 * of {@code pgonce_admin}; {@link #explain}, {@link #peek} and {@link #history} need {@code
 * pgonce_monitor} only), or it cannot be reached; then nothing was changed, unless the connection
 * ended in the commit. A reason is 1 to 2,000 characters, not blank, else an {@link
 * IllegalArgumentException} is thrown before any SQL runs.
 *
 * <p>Immutable and safe for use by several threads.
 */
public final class Operations {

  private static final String PAUSE = "SELECT pgonce.pause(?, ?, ?)";
  private static final String RESUME = "SELECT pgonce.resume(?, ?, ?)";
  private static final String CANCEL =
      """
      SELECT c.cancelled, c.being_handled
        FROM pgonce.cancel(?, ?::text::bigint[], ?::text::text[], ?) AS c
      """;
  // A time of PostgreSQL's last years is beyond a bigint.
  private static final String PEEK =
      """
      SELECT p.subscription, p.id, p.attempts,
             least(1000000 * extract(epoch FROM p.due_at), 9223372036854775807)::bigint, (1000000 * extract(epoch FROM p.created_at))::bigint,
             p.last_error, p.delivery_key, p.order_key, p.context::text, p.version, p.payload::text
        FROM pgonce.peek(?, ?, NULL, ?) AS p
      """;
  private static final String EXPLAIN =
      "SELECT " + Explanation.COLUMNS + " FROM pgonce.explain(?, ?::text::bigint) AS e ORDER BY 1";
  private static final String HISTORY =
      "SELECT "
          + HistoryEntry.COLUMNS
          + """

        FROM pgonce.history_of(?, ?::text::timestamptz, ?::text::timestamptz, ?::text::bigint, ?, ?, NULL, ?) AS h
       ORDER BY h.handled_at DESC, h.id DESC, h.subscription
      """;
  private static final String RETRY_NOW = "SELECT pgonce.retry_now(?, ?::text::bigint[], ?)";
  private static final String DROP_CHANNEL = "SELECT pgonce.drop_channel(?, ?)";
  private static final String DROP_SUBSCRIPTION = "SELECT pgonce.drop_subscription(?, ?, ?)";
  private static final String ADOPT = "SELECT pgonce.adopt(?)";

  private final Operator operator;

  private Operations(Operator operator) {
    this.operator = operator;
  }

  /** Operations by this process, named by its id. Opens no connection. */
  public static Operations over(DataSource dataSource) {
    return new Operations(Operator.over(dataSource));
  }

  /**
   * The same, done by this person.
   *
   * @param person 1 to 200 characters, not blank
   * @throws IllegalArgumentException if the name is another one
   */
  public Operations by(String person) {
    return new Operations(operator.by(person));
  }

  /** What could not be handled, and the way back; done by the same person. */
  public DeadLetters deadLetters() {
    return new DeadLetters(operator);
  }

  /**
   * How each subscription of each installed channel stands, in the order of their names: what
   * waits, what failed, who listens, whether it is paused. Counts what waits: its cost grows with
   * it.
   *
   * @throws PgOnceException also if the role is a member of none of {@code pgonce_monitor}, {@code
   *     pgonce_admin} and {@code pgonce_listener}
   */
  public List<ChannelStatus> channels() {
    return operator.call(
        "tell how the channels stand", ChannelStatus.SQL, ChannelStatus::read, List.of());
  }

  /**
   * The processes that listen, in the order of their starts; those that ended without saying so for
   * a while, too.
   *
   * @throws PgOnceException as for {@link #channels}
   */
  public List<ListenerStatus> listeners() {
    return operator.call("tell who listens", ListenerStatus.SQL, ListenerStatus::read, List.of());
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
    return pauseOrResume("pause", PAUSE, channel, null, reason);
  }

  /** As {@link #pause(Channel, String)}, for one subscription. */
  public long pause(Channel<?> channel, String subscription, String reason) {
    return pauseOrResume("pause", PAUSE, channel, requireSubscription(subscription), reason);
  }

  /**
   * Ends the pause of all subscriptions of a channel: what has waited is handled from now on.
   *
   * @return how many were paused
   */
  public long resume(Channel<?> channel, String reason) {
    return pauseOrResume("resume", RESUME, channel, null, reason);
  }

  /** As {@link #resume(Channel, String)}, for one subscription. */
  public long resume(Channel<?> channel, String subscription, String reason) {
    return pauseOrResume("resume", RESUME, channel, requireSubscription(subscription), reason);
  }

  private long pauseOrResume(
      String what, String sql, Channel<?> channel, @Nullable String subscription, String reason) {
    Objects.requireNonNull(channel, "channel");
    return operator.one(
        what, sql, row -> row.getLong(1), channel, requireReason(reason), subscription);
  }

  /**
   * The result of {@link #cancel}. Each subscription counts for itself.
   *
   * @param cancelled removed for good
   * @param beingHandled left alone, since a handler had them at that moment: they may end well, or
   *     fail and wait again
   */
  public record Cancelled(long cancelled, long beingHandled) {}

  /**
   * Removes the notifications with these ids, due or not, from all subscriptions for good; ids that
   * do not wait are passed over. Dead letters are for {@link DeadLetters#discard}.
   */
  public Cancelled cancel(Channel<?> channel, List<Long> ids, String reason) {
    Objects.requireNonNull(ids, "ids");
    return cancel(channel, Operator.array("an id", ids), null, reason);
  }

  /** As {@link #cancel}, by the delivery keys that their publishers gave. */
  public Cancelled cancelByKey(Channel<?> channel, List<String> deliveryKeys, String reason) {
    Objects.requireNonNull(deliveryKeys, "deliveryKeys");
    return cancel(channel, null, Operator.array("a delivery key", deliveryKeys), reason);
  }

  private Cancelled cancel(
      Channel<?> channel, @Nullable String ids, @Nullable String keys, String reason) {
    Objects.requireNonNull(channel, "channel");
    return operator.one(
        "cancel notifications of",
        CANCEL,
        row -> new Cancelled(row.getLong(1), row.getLong(2)),
        channel,
        ids,
        keys,
        requireReason(reason));
  }

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

    private static Waiting read(ResultSet row) throws SQLException {
      return new Waiting(
          row.getString(1),
          row.getLong(2),
          row.getInt(3),
          Operator.instant(row, 4),
          Operator.instant(row, 5),
          row.getString(6),
          row.getString(7),
          row.getString(8),
          row.getString(9),
          row.getInt(10),
          row.getString(11));
    }

    /** Subscription, id, attempts and due time; never the payload, which may be secret. */
    @Override
    public String toString() {
      return "notification %d for subscription %s (%d attempts, due at %s)"
          .formatted(id, subscription, attempts, dueAt);
    }
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
    return operator.all(
        "look into", PEEK, Waiting::read, channel, Operator.requireLimit(limit), payloads);
  }

  /**
   * Why a notification is not moving, and what to do about it. It takes no lock, so it waits for
   * nobody and holds nobody up.
   *
   * @return one answer for each subscription of the channel, by its name
   */
  public List<Explanation> explain(Channel<?> channel, long id) {
    return explain(channel, String.valueOf(id));
  }

  /**
   * Why the first notification in line is not moving; where none waits, why nothing comes. Else as
   * {@link #explain(Channel, long)}.
   */
  public List<Explanation> explain(Channel<?> channel) {
    return explain(channel, (String) null);
  }

  private List<Explanation> explain(Channel<?> channel, @Nullable String id) {
    Objects.requireNonNull(channel, "channel");
    return operator.all("explain", EXPLAIN, Explanation::read, channel, id);
  }

  /**
   * What was handled in a channel that keeps a history ({@link ChannelOptions#withHistory}), the
   * latest first; empty if it keeps none.
   *
   * <pre>{@code
   * var query = HistoryQuery.latest(100);
   * var page = operations.history(MAILS, query);
   * var next = operations.history(MAILS, query.behind(page.get(page.size() - 1)));
   * }</pre>
   */
  public List<HistoryEntry> history(Channel<?> channel, HistoryQuery query) {
    Objects.requireNonNull(channel, "channel");
    Objects.requireNonNull(query, "query");
    return operator.all(
        "tell the history of",
        HISTORY,
        HistoryEntry::read,
        channel,
        text(query.since()),
        text(query.before()),
        text(query.beforeId()),
        query.limit(),
        query.deliveryKey(),
        query.payloads());
  }

  private static @Nullable String text(@Nullable Object value) {
    return value == null ? null : value.toString();
  }

  /**
   * Makes notifications with these ids due now that wait for their time or for their next attempt,
   * in all subscriptions. What is at work, or was when its process died, is passed over; so is what
   * is due already or not there.
   *
   * @return how many; each subscription counts for itself
   */
  public long retryNow(Channel<?> channel, List<Long> ids, String reason) {
    Objects.requireNonNull(channel, "channel");
    Objects.requireNonNull(ids, "ids");
    return operator.one(
        "retry notifications of",
        RETRY_NOW,
        row -> row.getLong(1),
        channel,
        Operator.array("an id", ids),
        requireReason(reason));
  }

  /**
   * Removes a channel with everything that waits in it, dead letters included, for good. A handler
   * at work is not waited for and ends as usual; others may begin until their listeners have heard
   * of the drop, by a wake-up or within a second. What waits then is deleted by the housekeeping of
   * any listener in the database, ten thousand rows at a time; it begins when a listener hears of
   * the drop, else within some minutes. So is what a transaction at REPEATABLE READ or above whose
   * snapshot is older still stores. Delivery keys of what waits are taken until then. Waits some 16
   * s for transactions that have published or settled something in any channel, in tries that make
   * others wait for 2.5 s at most, and gives up then.
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
    return operator.one(
        "drop", DROP_CHANNEL, row -> row.getBoolean(1), channel, requireReason(reason));
  }

  /**
   * As {@link #drop(Channel, String)}, for one subscription, however the channel is fed. Waits for
   * nobody who publishes or handles: what an open transaction has stored for it is deleted too.
   */
  public boolean drop(Channel<?> channel, String subscription, String reason) {
    Objects.requireNonNull(channel, "channel");
    var name = requireSubscription(subscription);
    return operator.one(
        "drop a subscription of",
        DROP_SUBSCRIPTION,
        row -> row.getBoolean(1),
        channel,
        name,
        requireReason(reason));
  }

  /**
   * Lets listeners start in this database though it is a copy: restored from a dump, or made from
   * another as its template. What waits in it is handled from then on, under the delivery keys that
   * it has in the original too; what is published from then on gets ids, and so keys, that the
   * original has not given. Also after a restore to a point in time, and after a failover that lost
   * commits, which pgonce does not notice. Stop the listeners of this database before.
   */
  public void adopt(String reason) {
    var unused =
        operator.call("adopt the database", ADOPT, row -> true, List.of(requireReason(reason)));
  }
}
