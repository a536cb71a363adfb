package org.pgonce.spi;

import java.util.Objects;

/** Turns payloads into JSON text and back. Implementations are safe for use by several threads. */
public interface PayloadCodec {

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
