package org.pgonce.spi;

import java.util.Objects;
import org.pgonce.PayloadRules.MissingFields;
import org.pgonce.PayloadRules.UnknownFields;

/** Turns payloads into JSON text and back. Implementations are safe for use by several threads. */
public interface PayloadCodec {

  /**
   * The codec where none is given: what a {@link CodecProvider} makes, one for all. The module
   * pgonce-jackson brings a provider.
   *
   * @throws IllegalStateException if there is no provider, or several, or it cannot be loaded, or
   *     finds no library that it can use, saying which
   */
  static PayloadCodec standard() {
    return StandardCodec.get();
  }

  /**
   * Encodes a payload as one JSON value that PostgreSQL can store.
   *
   * @throws IllegalArgumentException if it cannot, saying where and why but not with what value
   */
  <T> String encode(T payload, Class<T> type);

  /**
   * Decodes a stored payload.
   *
   * @throws UnreadablePayloadException if it is not a value of the type: the notification becomes a
   *     dead letter with this reason
   */
  <T> T decode(String json, Class<T> type) throws UnreadablePayloadException;

  /**
   * Refuses a type that no payload could be decoded as: else each would become a dead letter.
   * Called before a listener starts. By default nothing is refused.
   *
   * @throws IllegalArgumentException saying why, and what to do
   */
  default void requireDecodable(Class<?> type) {}

  /**
   * The same codec, with the channel's rules for fields that are unknown or missing. By default
   * there is none but for the default rules, {@link UnknownFields#IGNORE} and {@link
   * MissingFields#NULL}: with these it is taken as it is, whatever it does itself.
   *
   * @throws IllegalArgumentException if it has no such rules: no listener starts then
   */
  default PayloadCodec with(UnknownFields unknown, MissingFields missing) {
    if (unknown == UnknownFields.IGNORE && missing == MissingFields.NULL) {
      return this;
    }
    throw new IllegalArgumentException(
        "the codec %s cannot be told what to do with unknown fields (%s) and missing ones (%s): leave the rules at their defaults, or have it implement PayloadCodec.with"
            .formatted(getClass().getName(), unknown, missing));
  }

  /**
   * A stored payload that cannot be read. Its message becomes the dead letter's reason, so it names
   * places, never values.
   */
  class UnreadablePayloadException extends Exception {

    private static final long serialVersionUID = 1L;

    public UnreadablePayloadException(String message) {
      super(Objects.requireNonNull(message, "message"));
    }
  }
}
