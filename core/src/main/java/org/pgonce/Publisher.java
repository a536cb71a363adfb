package org.pgonce;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import org.pgonce.internal.store.PublishStatements;
import org.pgonce.internal.store.StorableText;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;

/**
 * Publishes to channels in the caller's transaction: the notification and its wake-up exist if and
 * only if that transaction commits. With autocommit on, each call is a transaction of its own.
 *
 * <p>Each call that publishes throws, before any SQL runs, a {@link NullPointerException} if a
 * payload is null, and an {@link IllegalArgumentException} if one cannot be encoded or holds text
 * that PostgreSQL cannot store (NUL, lone surrogate). It throws an {@link SQLException} if the
 * database refuses, for example because the channel is not installed. On a handler's thread it
 * counts for {@link ChannelOptions#maxDepth()}.
 *
 * <p>Immutable and safe for use by several threads; needs no listener and holds nothing open. The
 * connection's role needs {@code pgonce_publisher}.
 */
public class Publisher {

  private final PayloadCodec codec;
  private final Observer observer;

  Publisher(PayloadCodec codec, Observer observer) {
    this.codec = codec;
    this.observer = observer;
  }

  /**
   * For a subclass that does more around each call, such as making a span. It has the codec and the
   * observer of the other. No method here calls one that a subclass could override.
   */
  protected Publisher(Publisher other) {
    this(other.codec, other.observer);
  }

  /** A publisher with {@link PayloadCodec#standard()}, which says what it throws. */
  public static Publisher standard() {
    return with(PayloadCodec.standard());
  }

  /** With this codec; listeners of its channels need one that reads what it writes. */
  public static Publisher with(PayloadCodec codec) {
    return new Publisher(Objects.requireNonNull(codec, "codec"), Observer.NONE);
  }

  /**
   * Publishes one notification.
   *
   * @return its id
   */
  public <T> long publish(Connection transaction, Channel<T> channel, T payload)
      throws SQLException {
    Objects.requireNonNull(transaction, "transaction");
    var id = PublishStatements.publish(transaction, channel, encode(channel, payload));
    report(channel, id, true);
    return id;
  }

  /**
   * Publishes one notification per payload, in their order, in one statement and with one wake-up.
   *
   * @return their ids, in the order of the payloads
   */
  public <T> List<Long> publishAll(Connection transaction, Channel<T> channel, List<T> payloads)
      throws SQLException {
    Objects.requireNonNull(transaction, "transaction");
    if (payloads.isEmpty()) {
      return List.of();
    }
    var encoded = payloads.stream().map(payload -> encode(channel, payload)).toList();
    var ids = PublishStatements.publishAll(transaction, channel, encoded);
    ids.forEach(id -> report(channel, id, true));
    return ids;
  }

  /**
   * Publishes one notification with options.
   *
   * <p>Delivery keys are unique, as by a unique index. This waits for another transaction that has
   * published the key and not yet ended. Transactions that publish the same keys in different
   * orders and in several calls can deadlock (SQLState 40P01). At REPEATABLE READ or SERIALIZABLE a
   * key that another transaction has changed since the snapshot is refused (40001). Run the
   * transaction again then.
   *
   * @return its id and whether it was stored: not if its delivery key is there already
   * @throws IllegalArgumentException also if the channel has no such option, see {@link
   *     PublishOptions}; before any SQL runs
   * @throws SQLException also, with SQLState PO004, if {@link PublishOptions#samePayload()} is
   *     asked for and the key was given to another payload
   */
  public <T> Published publish(
      Connection transaction, Channel<T> channel, T payload, PublishOptions options)
      throws SQLException {
    Objects.requireNonNull(transaction, "transaction");
    Objects.requireNonNull(options, "options").requireFitFor(channel);
    var encoded = encode(channel, payload);
    return publishEncoded(transaction, channel, List.of(encoded), List.of(options)).get(0);
  }

  /**
   * Publishes notifications with options of their own, in their order, in one statement. Of several
   * with the same delivery key the first is stored. Keys are taken in one order, whatever that of
   * the messages is: two such calls do not deadlock.
   *
   * @return for each what {@link #publish(Connection, Channel, Object, PublishOptions)} returns, in
   *     the order of the messages
   * @throws IllegalArgumentException as there; none is published then
   */
  public <T> List<Published> publishEach(
      Connection transaction, Channel<T> channel, List<Message<T>> messages) throws SQLException {
    Objects.requireNonNull(transaction, "transaction");
    if (messages.isEmpty()) {
      return List.of();
    }
    var encoded = messages.stream().map(message -> encode(channel, message.payload())).toList();
    var options =
        messages.stream().map(message -> message.options().requireFitFor(channel)).toList();
    return publishEncoded(transaction, channel, encoded, options);
  }

  /**
   * Adds to the {@link WriterContext} what this publisher adds to the context of each notification,
   * so that what this transaction's triggers and SQL store from now on has it too. Here that is
   * nothing, and no SQL runs; in {@code ObservedPublisher} of pgonce-micrometer it is the current
   * trace.
   */
  public void propagate(Connection transaction) throws SQLException {}

  private List<Published> publishEncoded(
      Connection transaction,
      Channel<?> channel,
      List<String> payloads,
      List<PublishOptions> options)
      throws SQLException {
    var published = PublishStatements.publishEach(transaction, channel, payloads, options);
    published.forEach(one -> report(channel, one.id(), one.stored()));
    return published;
  }

  private void report(Channel<?> channel, long id, boolean isNew) {
    observer.on(new Event.Published(channel.name(), id, isNew));
  }

  private <T> String encode(Channel<T> channel, T payload) {
    Objects.requireNonNull(
        payload,
        () -> "a payload for channel " + channel.name() + " is null; nothing could read it later");
    return StorableText.requireJson("the payload", channel.encode(codec, payload));
  }
}
