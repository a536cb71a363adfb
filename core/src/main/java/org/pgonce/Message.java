package org.pgonce;

import java.util.Objects;

/**
 * One of several notifications that are published together, each with options of its own.
 *
 * @param payload not null
 * @param options not null; default {@link PublishOptions#DEFAULT}
 */
public record Message<T>(T payload, PublishOptions options) {

  public Message {
    Objects.requireNonNull(payload, "payload");
    Objects.requireNonNull(options, "options");
  }

  public Message(T payload) {
    this(payload, PublishOptions.DEFAULT);
  }

  /** The payload stays out of messages: it may be secret. */
  @Override
  public String toString() {
    return "message with " + options;
  }
}
