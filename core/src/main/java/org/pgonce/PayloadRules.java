package org.pgonce;

import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.PayloadCodec;

/**
 * Which version of a channel's payload this code writes, and how it reads other versions. Immutable
 * and safe for use by several threads; the {@code with…} methods return changed copies.
 *
 * <pre>{@code
 * // Version 1 was record Order(long id, String item).
 * record Order(long id, List<String> items) {}
 *
 * static final Channel<Order> ORDERS =
 *     Channel.of("orders", Order.class, Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withPayload(
 *         PayloadRules.DEFAULT.withVersion(2).withUpcaster(1, ObjectNode.class, order -> {
 *           order.putArray("items").add(order.remove("item"));
 *           return order;
 *         })));
 * }</pre>
 *
 * <p>Each stored notification keeps the version of the definition that made it, through retries,
 * dead letters and their redrive: that of the {@link Publisher}'s channel, of the installed
 * trigger, or of {@code pgonce.publish(…, version => 2)}; SQL that says none is of version 1.
 *
 * <p>An earlier version goes through the upcasters, one after the other, before it is decoded. If
 * one of them throws, the notification becomes a dead letter with the reason {@code UNREADABLE}, as
 * any that cannot be decoded. A later version is put back, uncounted, for listeners that know it:
 * for half a second to a second at first, then for an eighth to a quarter of the time that it has
 * been waiting, a minute at most. A {@link Mode#BROADCAST} is dropped and logged.
 *
 * @param version which one this code writes: 1 to 32,767, default 1
 * @param oldest the oldest that it still reads: 1 to {@code version}, default 1. What is older
 *     becomes a dead letter
 * @param upcasters by the version that they begin with; each leads to the next one
 * @param unknownFields default {@link UnknownFields#IGNORE}
 * @param missingFields default {@link MissingFields#NULL}
 */
public record PayloadRules(
    int version,
    int oldest,
    Map<Integer, Step<?>> upcasters,
    UnknownFields unknownFields,
    MissingFields missingFields) {

  /** Version 1, and fields as the codec has them. */
  public static final PayloadRules DEFAULT =
      new PayloadRules(1, 1, Map.of(), UnknownFields.IGNORE, MissingFields.NULL);

  /** Makes a payload of one version into one of the next. */
  @FunctionalInterface
  public interface Upcaster<P> {

    /**
     * Returns the payload as the next version has it, to be written by the channel's codec: for a
     * channel of row changes, one row. It is called once for each, by several threads, and each
     * time the notification is tried; so it depends on nothing but the payload.
     *
     * @param payload its to change
     * @throws Exception if it cannot: the dead letter tells the kind of the exception and not its
     *     message, which may quote what is secret, except for an {@link
     *     PayloadCodec.UnreadablePayloadException}
     */
    Object upcast(P payload) throws Exception;
  }

  /**
   * An upcaster, and what it is given.
   *
   * @param reads what the channel's codec reads for it: a record of that version, a Map, or a tree
   *     of the codec's library
   */
  public record Step<P>(Class<P> reads, Upcaster<P> upcaster) {

    public Step {
      Objects.requireNonNull(reads, "reads");
      Objects.requireNonNull(upcaster, "upcaster");
    }

    /**
     * The next version's JSON of a payload.
     *
     * @throws Exception whatever the upcaster throws, and the codec
     */
    public String upcast(String json, PayloadCodec codec) throws Exception {
      @Nullable Object next = upcaster.upcast(codec.decode(json, reads));
      if (next == null) {
        throw new PayloadCodec.UnreadablePayloadException("it returned null");
      }
      return encoded(next, next.getClass(), codec);
    }

    private static <N> String encoded(Object next, Class<N> type, PayloadCodec codec) {
      return codec.encode(type.cast(next), type);
    }
  }

  /** What becomes of a payload with a field that its type does not have. */
  public enum UnknownFields {
    /** The field is let pass: a column may be added before the record knows it. */
    IGNORE,
    /** The notification becomes a dead letter. */
    FAIL
  }

  /**
   * What becomes of a payload that lacks a field of a record, or of what has a
   * {@code @JsonCreator}. Null is no missing field. In a class with setters, a missing field always
   * leaves what the constructor has set: null, 0 or false by default.
   */
  public enum MissingFields {
    /** The field is null. A primitive cannot be: the notification becomes a dead letter. */
    NULL,
    /** The field is null, of a primitive 0 or false. */
    NULL_OR_ZERO,
    /** The notification becomes a dead letter. */
    FAIL
  }

  public PayloadRules {
    OptionRanges.require("version", version, 1, 32_767);
    if (oldest < 1) {
      throw new IllegalArgumentException("oldest version " + oldest + " is below 1");
    }
    upcasters =
        Collections.unmodifiableMap(new TreeMap<>(Objects.requireNonNull(upcasters, "upcasters")));
    upcasters.forEach((from, upcaster) -> Objects.requireNonNull(upcaster, "upcaster"));
    Objects.requireNonNull(unknownFields, "unknownFields");
    Objects.requireNonNull(missingFields, "missingFields");
  }

  public PayloadRules withVersion(int version) {
    return new PayloadRules(version, oldest, upcasters, unknownFields, missingFields);
  }

  /** For when no payloads of earlier versions are left, and their upcasters are gone. */
  public PayloadRules withOldest(int oldest) {
    return new PayloadRules(version, oldest, upcasters, unknownFields, missingFields);
  }

  /**
   * One more upcaster, from a version to the next one.
   *
   * @param reads what it is given, see {@link Step}
   * @throws IllegalArgumentException if there is one from that version already
   */
  public <P> PayloadRules withUpcaster(int from, Class<P> reads, Upcaster<P> upcaster) {
    var all = new TreeMap<>(upcasters);
    if (all.put(from, new Step<>(reads, upcaster)) != null) {
      throw new IllegalArgumentException("there are two upcasters from version " + from);
    }
    return new PayloadRules(version, oldest, all, unknownFields, missingFields);
  }

  public PayloadRules withUnknownFields(UnknownFields unknownFields) {
    return new PayloadRules(version, oldest, upcasters, unknownFields, missingFields);
  }

  public PayloadRules withMissingFields(MissingFields missingFields) {
    return new PayloadRules(version, oldest, upcasters, unknownFields, missingFields);
  }

  /** Each step from the oldest version to this one has its upcaster, and there is no other. */
  void requireWhole() {
    if (oldest > version) {
      throw new IllegalArgumentException(
          "the oldest version that is read, " + oldest + ", is above the version, " + version);
    }
    for (var from = oldest; from < version; from++) {
      if (!upcasters.containsKey(from)) {
        throw new IllegalArgumentException(
            "payloads of version %d could not be read: version %d has no upcaster from %d to %d; give withUpcaster(%d, …), or withOldest(%d) if no such payloads are left"
                .formatted(oldest, version, from, from + 1, from, from + 1));
      }
    }
    for (var from : upcasters.keySet()) {
      if (from < oldest || from >= version) {
        throw new IllegalArgumentException(
            "the upcaster from version %d to %d leads nowhere: versions %d to %d are read"
                .formatted(from, from + 1, oldest, version));
      }
    }
  }
}
