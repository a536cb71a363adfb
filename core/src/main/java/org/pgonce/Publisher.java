package org.pgonce;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import org.pgonce.internal.store.PublishStatements;
import org.pgonce.internal.store.StorableText;
import org.pgonce.spi.JacksonCodec;
import org.pgonce.spi.PayloadCodec;

/**
 * Publishes to channels in the caller's transaction: the notification and its wake-up exist if and
 * only if that transaction commits. With autocommit on, each call is a transaction of its own.
 *
 * <p>Immutable and safe for use by several threads; needs no listener and holds nothing open. The
 * connection's role needs {@code pgonce_publisher}.
 */
public final class Publisher {

  private static final Publisher STANDARD = new Publisher(new JacksonCodec());

  private final PayloadCodec codec;

  private Publisher(PayloadCodec codec) {
    this.codec = codec;
  }

  /** A publisher with the standard codec, {@link JacksonCodec}. */
  public static Publisher standard() {
    return STANDARD;
  }

  /**
   * A publisher that encodes payloads with the given codec; listeners of its channels need one that
   * reads them.
   */
  public static Publisher with(PayloadCodec codec) {
    return new Publisher(Objects.requireNonNull(codec, "codec"));
  }

  /**
   * Publishes one notification.
   *
   * @return its id
   * @throws IllegalArgumentException if the payload cannot be encoded, or holds text that
   *     PostgreSQL cannot store (NUL, lone surrogate); before any SQL runs
   * @throws NullPointerException if the payload is null; before any SQL runs
   * @throws SQLException if the database refuses, for example because the channel is not installed
   */
  public <T> long publish(Connection transaction, Channel<T> channel, T payload)
      throws SQLException {
    Objects.requireNonNull(transaction, "transaction");
    return PublishStatements.publish(transaction, channel.name(), encode(channel, payload));
  }

  /**
   * Publishes one notification per payload, in their order, in one statement and with one wake-up.
   *
   * @return their ids, in the order of the payloads
   * @throws IllegalArgumentException as for {@link #publish}; none is published then
   * @throws NullPointerException if a payload is null; none is published then
   */
  public <T> List<Long> publishAll(Connection transaction, Channel<T> channel, List<T> payloads)
      throws SQLException {
    Objects.requireNonNull(transaction, "transaction");
    if (payloads.isEmpty()) {
      return List.of();
    }
    var encoded = payloads.stream().map(payload -> encode(channel, payload)).toList();
    return PublishStatements.publishAll(transaction, channel.name(), encoded);
  }

  private <T> String encode(Channel<T> channel, T payload) {
    Objects.requireNonNull(
        payload,
        () -> "a payload for channel " + channel.name() + " is null; nothing could read it later");
    return StorableText.requireStorable(codec.encode(payload, channel.payloadType()));
  }
}
