package org.pgonce.triggers;

import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/** How a channel's payloads are read and written. */
sealed interface PayloadForm<T> {

  Class<T> type();

  /** What the codec is asked for. */
  Class<?> reads();

  T decode(PayloadCodec codec, String json) throws UnreadablePayloadException;

  String encode(PayloadCodec codec, T payload);

  /** As the codec has it. */
  record Plain<T>(Class<T> type) implements PayloadForm<T> {

    @Override
    public Class<?> reads() {
      return type;
    }

    @Override
    public T decode(PayloadCodec codec, String json) throws UnreadablePayloadException {
      return codec.decode(json, type);
    }

    @Override
    public String encode(PayloadCodec codec, T payload) {
      return codec.encode(payload, type);
    }
  }

  /** What happened, around the rows as the codec has them. */
  record Change<R>(Class<R> row) implements PayloadForm<RowChange<R>> {

    @Override
    public Class<?> reads() {
      return row;
    }

    @Override
    @SuppressWarnings("unchecked") // There is no class of RowChange<R> but that of RowChange.
    public Class<RowChange<R>> type() {
      return (Class<RowChange<R>>) (Class<?>) RowChange.class;
    }

    @Override
    public RowChange<R> decode(PayloadCodec codec, String json) throws UnreadablePayloadException {
      var document = ChangeDocument.read(json);
      return switch (document.op()) {
        case "INSERT" -> new RowChange.Inserted<>(codec.decode(document.after(), row));
        case "UPDATE" ->
            new RowChange.Updated<>(
                codec.decode(document.before(), row), codec.decode(document.after(), row));
        case "DELETE" -> new RowChange.Deleted<>(codec.decode(document.before(), row));
        case "TRUNCATE" -> new RowChange.Truncated<>();
        default -> throw new UnreadablePayloadException("not readable as a change: its op is none");
      };
    }

    @Override
    public String encode(PayloadCodec codec, RowChange<R> change) {
      if (change instanceof RowChange.Inserted<R> inserted) {
        return "{\"op\":\"INSERT\",\"new\":" + codec.encode(inserted.row(), row) + "}";
      }
      if (change instanceof RowChange.Updated<R> updated) {
        return "{\"op\":\"UPDATE\",\"old\":%s,\"new\":%s}"
            .formatted(codec.encode(updated.before(), row), codec.encode(updated.after(), row));
      }
      if (change instanceof RowChange.Deleted<R> deleted) {
        return "{\"op\":\"DELETE\",\"old\":" + codec.encode(deleted.row(), row) + "}";
      }
      return "{\"op\":\"TRUNCATE\"}";
    }
  }
}
