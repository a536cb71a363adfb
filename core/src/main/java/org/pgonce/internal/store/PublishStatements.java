package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.pgonce.Channel;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import tools.jackson.databind.json.JsonMapper;

/** The statements that store notifications from Java. */
public final class PublishStatements {

  private static final String PUBLISH = "SELECT pgonce.publish(?, ?::json, version => ?)";
  // One text parameter, a JSON array: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9, and
  // executeBatch breaks its protocol.
  private static final String PUBLISH_ALL = "SELECT * FROM pgonce.publish_all(?, ?::json, ?)";
  private static final String PUBLISH_EACH =
      "SELECT p.id, p.stored FROM pgonce.publish_each(?, ?::json, ?::json, ?) AS p";
  private static final JsonMapper MAPPER = JsonMapper.builder().build();

  private PublishStatements() {}

  public static long publish(Connection transaction, Channel<?> channel, String payload)
      throws SQLException {
    return publish(transaction, PUBLISH, channel, payload).get(0);
  }

  public static List<Long> publishAll(
      Connection transaction, Channel<?> channel, List<String> payloads) throws SQLException {
    return publish(transaction, PUBLISH_ALL, channel, array(payloads));
  }

  private static List<Long> publish(
      Connection transaction, String sql, Channel<?> channel, String json) throws SQLException {
    try (var statement = transaction.prepareStatement(sql)) {
      statement.setString(1, channel.name());
      statement.setString(2, json);
      statement.setInt(3, version(channel));
      var ids = new ArrayList<Long>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          ids.add(row.getLong(1));
        }
      }
      return ids;
    }
  }

  /** Payloads with the options of each, in one order. */
  public static List<Published> publishEach(
      Connection transaction,
      Channel<?> channel,
      List<String> payloads,
      List<PublishOptions> options)
      throws SQLException {
    try (var statement = transaction.prepareStatement(PUBLISH_EACH)) {
      statement.setString(1, channel.name());
      statement.setString(2, array(payloads));
      statement.setString(
          3, MAPPER.writeValueAsString(options.stream().map(PublishStatements::entries).toList()));
      statement.setInt(4, version(channel));
      var published = new ArrayList<Published>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          published.add(new Published(row.getLong(1), row.getBoolean(2)));
        }
      }
      return published;
    }
  }

  /** The publisher's own, whatever the database has by now: it wrote the payload. */
  private static int version(Channel<?> channel) {
    return channel.options().payload().version();
  }

  private static String array(List<String> payloads) {
    return "[" + String.join(",", payloads) + "]";
  }

  /** As pgonce.publish_each names them. */
  private static Map<String, Object> entries(PublishOptions options) {
    var entries = new HashMap<String, Object>();
    var delay = options.delay();
    if (delay != null) {
      entries.put("delay_us", delay.isNegative() ? 0 : micros(delay));
    }
    var dueAt = options.dueAt();
    if (dueAt != null) {
      var past = dueAt.isBefore(Instant.EPOCH);
      entries.put("due_us", past ? 0 : micros(Duration.between(Instant.EPOCH, dueAt)));
    }
    var deliveryKey = options.deliveryKey();
    if (deliveryKey != null) {
      entries.put("delivery_key", deliveryKey);
      entries.put("same_payload", options.samePayload());
    }
    var orderKey = options.orderKey();
    if (orderKey != null) {
      entries.put("order_key", orderKey);
    }
    return entries;
  }

  /** Rounded up: never too early. */
  private static long micros(Duration length) {
    return length.getSeconds() * 1_000_000 + (length.getNano() + 999) / 1_000;
  }
}
