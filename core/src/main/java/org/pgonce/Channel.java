package org.pgonce;

import java.util.Objects;
import org.pgonce.internal.store.ChannelNames;
import org.pgonce.spi.ChannelFeed;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/**
 * A named, typed stream of notifications, defined once in code, usually as a constant. Immutable
 * and safe for use by several threads.
 *
 * <p>{@link #of} makes a channel that code publishes to, with {@link Publisher} or {@code select
 * pgonce.publish(…)}. A trigger channel (module {@code pgonce-triggers}) is fed by a table instead.
 *
 * @param <T> what a notification carries: a record, or whatever the payload codec reads
 */
public interface Channel<T> {

  /**
   * The name: 1 to 48 characters, a lower-case letter first, then lower-case letters, digits,
   * {@code _}, {@code .} or {@code -}. Names are compared to the letter, and the alphabet leaves no
   * two that PostgreSQL could confuse (it folds case and cuts at 63 bytes).
   */
  String name();

  /** What the channel promises; it is part of the installed definition. */
  Mode mode();

  /** The type that payloads are decoded to. */
  Class<T> payloadType();

  /**
   * Decodes a stored payload.
   *
   * @throws UnreadablePayloadException if it cannot be read: the notification becomes a dead letter
   */
  default T decode(PayloadCodec codec, String json) throws UnreadablePayloadException {
    return codec.decode(json, payloadType());
  }

  /**
   * Asks the codec for what {@link #decode} asks it for.
   *
   * @throws IllegalArgumentException if nothing could be read, see {@link
   *     PayloadCodec#requireDecodable}
   */
  default void requireDecodable(PayloadCodec codec) {
    codec.requireDecodable(payloadType());
  }

  /**
   * Encodes a payload, as {@link #decode} reads it.
   *
   * @throws IllegalArgumentException if it cannot be written
   */
  default String encode(PayloadCodec codec, T payload) {
    return codec.encode(payload, payloadType());
  }

  /** What it is installed with beside. */
  default ChannelOptions options() {
    return ChannelOptions.DEFAULT;
  }

  /** What feeds the channel, to be installed and checked with it. Default: code that publishes. */
  default ChannelFeed feed() {
    return ChannelFeed.PUBLISHED;
  }

  /** As {@link #of(String, Class, Mode)}, with {@link Mode#EXACTLY_ONCE}. */
  static <T> Channel<T> of(String name, Class<T> payloadType) {
    return of(name, payloadType, Mode.EXACTLY_ONCE);
  }

  /** As {@link #of(String, Class, Mode, ChannelOptions)}, with {@link ChannelOptions#DEFAULT}. */
  static <T> Channel<T> of(String name, Class<T> payloadType, Mode mode) {
    return of(name, payloadType, mode, ChannelOptions.DEFAULT);
  }

  /**
   * A channel with the given mode and options that code publishes to.
   *
   * @throws IllegalArgumentException if the name is not as {@link #name()} says, or the mode has no
   *     such option: {@link Mode#BROADCAST}, which stores nothing, has none but the names of its
   *     subscriptions, its payload rules and how many handlers may lead to one another
   */
  static <T> Channel<T> of(String name, Class<T> payloadType, Mode mode, ChannelOptions options) {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(payloadType, "payloadType");
    Objects.requireNonNull(mode, "mode");
    Objects.requireNonNull(options, "options");
    record PublishedChannel<P>(String name, Mode mode, Class<P> payloadType, ChannelOptions options)
        implements Channel<P> {}
    return new PublishedChannel<>(
        ChannelNames.requireValid("channel", name), mode, payloadType, options.requireFitFor(mode));
  }
}
