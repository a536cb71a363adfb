package org.pgonce.internal.handle;

import java.util.Objects;
import org.pgonce.Channel;
import org.pgonce.PayloadRules;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/** Decodes what was stored for a channel by any version of its definition. */
public final class PayloadReader<T> {

  private final Channel<T> channel;
  private final PayloadRules rules;
  private final PayloadCodec codec;

  public PayloadReader(Channel<T> channel, PayloadCodec codec) {
    this.channel = channel;
    this.rules = channel.options().payload();
    this.codec = codec.with(rules.unknownFields(), rules.missingFields());
  }

  public T read(long id, int version, String json)
      throws UnreadablePayloadException, NewerVersionException {
    if (version > rules.version()) {
      throw new NewerVersionException(
          "notification %d of channel %s was made by version %d of its definition and this listener knows version %d: deploy listeners that know more"
              .formatted(id, channel.name(), version, rules.version()));
    }
    if (version < rules.oldest()) {
      throw new UnreadablePayloadException(
          "notification %d of channel %s was made by version %d of its definition, and versions %d to %d are read: give the upcaster back, and redrive it"
              .formatted(id, channel.name(), version, rules.oldest(), rules.version()));
    }
    return channel.decode(version == rules.version() ? codec : raising(id, version), json);
  }

  /** Brings each part that it decodes to this version first: a change has two rows. */
  private PayloadCodec raising(long id, int version) {
    return new PayloadCodec() {

      @Override
      public <P> String encode(P payload, Class<P> type) {
        return codec.encode(payload, type);
      }

      @Override
      public <P> P decode(String json, Class<P> type) throws UnreadablePayloadException {
        var raised = json;
        for (var from = version; from < rules.version(); from++) {
          raised = upcast(id, version, raised, from);
        }
        return codec.decode(raised, type);
      }
    };
  }

  private String upcast(long id, int version, String json, int from)
      throws UnreadablePayloadException {
    try {
      return Objects.requireNonNull(rules.upcasters().get(from)).upcast(json, codec);
    } catch (Exception e) {
      var why =
          e instanceof UnreadablePayloadException
              ? String.valueOf(e.getMessage())
              : e.getClass().getName();
      var unreadable =
          new UnreadablePayloadException(
              "notification %d of channel %s was made by version %d of its definition, and its upcaster from version %d to %d failed: %s"
                  .formatted(id, channel.name(), version, from, from + 1, why));
      unreadable.initCause(e);
      throw unreadable;
    }
  }
}
