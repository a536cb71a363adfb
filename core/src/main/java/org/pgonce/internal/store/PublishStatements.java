package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.pgonce.Channel;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Tx.RowMapper;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.text.Json;

/**
 * The statements that store notifications from Java, and the depth of what a handler publishes by
 * them on its thread, whatever the connection. For triggers and SQL a setting of the handler's
 * transaction has it.
 */
public final class PublishStatements {

  private static final Sql PUBLISH = Sql.of("pgonce.publish(?, ?::json, version => %s)");
  // One text parameter, a JSON array: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9, and
  // executeBatch breaks its protocol.
  private static final Sql PUBLISH_ALL = Sql.of("pgonce.publish_all(?, ?::json, %s)");
  private static final Sql PUBLISH_EACH = Sql.of("pgonce.publish_each(?, ?::json, ?::json, %s)");

  private static final String INSUFFICIENT_PRIVILEGE = "42501";

  private static final ThreadLocal<Integer> DEPTH = ThreadLocal.withInitial(() -> 0);

  private PublishStatements() {}

  /** Runs the handler of a notification of this depth. */
  public static <R> R inHandler(int depth, Callable<R> handler) throws Exception {
    DEPTH.set(depth + 1);
    try {
      return handler.call();
    } finally {
      DEPTH.remove();
    }
  }

  /** Runs what a handler left to be run behind it. */
  public static void behindHandler(int depth, Runnable callback) {
    DEPTH.set(depth + 1);
    try {
      callback.run();
    } finally {
      DEPTH.remove();
    }
  }

  /** The depth of what is published on this thread; 0 if no handler runs on it. */
  public static int depth() {
    return DEPTH.get();
  }

  /**
   * A call that publishes, and the same on a handler's thread, which sets the handler's depth in
   * the transaction first. It is one statement, since with autocommit that is the whole
   * transaction. The CASE makes the version depend on the setting, so nothing is published before.
   */
  private record Sql(String plain, String inHandler) {

    static Sql of(String call) {
      return new Sql(
          "SELECT p.* FROM " + call.formatted("?") + " AS p",
          """
          SELECT p.* FROM (SELECT pg_catalog.set_config('pgonce.depth', ?, true) OFFSET 0) AS d (depth)
           CROSS JOIN LATERAL %s AS p
          """
              .formatted(call.formatted("CASE WHEN d.depth IS NOT NULL THEN ?::integer END")));
    }

    /** The texts follow the channel, and the version of its payload follows them. */
    <R> List<R> rows(
        Connection transaction, Channel<?> channel, RowMapper<R> mapper, String... texts)
        throws SQLException {
      var depth = depth();
      var parameters = new ArrayList<Object>();
      if (depth > 0) {
        parameters.add(String.valueOf(depth));
      }
      parameters.add(channel.name());
      parameters.addAll(List.of(texts));
      // The publisher's own version, since it wrote the payload.
      parameters.add(channel.options().payload().version());
      try {
        return Statements.rows(
            transaction, depth == 0 ? plain : inHandler, mapper, parameters.toArray());
      } catch (SQLException e) {
        throw INSUFFICIENT_PRIVILEGE.equals(e.getSQLState()) ? explained(e) : e;
      }
    }

    /** PostgreSQL names the function, and no role that may call it. In one line, for a log. */
    private static SQLException explained(SQLException refused) {
      return new SQLException(
          String.valueOf(refused.getMessage()).lines().findFirst().orElse("")
              + ". The connection's role has to be a member of pgonce_publisher to publish (GRANT pgonce_publisher TO that role); pgonce_listener is not enough",
          INSUFFICIENT_PRIVILEGE,
          refused);
    }
  }

  public static long publish(Connection transaction, Channel<?> channel, String payload)
      throws SQLException {
    return PUBLISH.rows(transaction, channel, row -> row.getLong(1), payload).get(0);
  }

  public static List<Long> publishAll(
      Connection transaction, Channel<?> channel, List<String> payloads) throws SQLException {
    return PUBLISH_ALL.rows(transaction, channel, row -> row.getLong(1), array(payloads));
  }

  /** Payloads with the options of each, in one order. */
  public static List<Published> publishEach(
      Connection transaction,
      Channel<?> channel,
      List<String> payloads,
      List<PublishOptions> options)
      throws SQLException {
    var entries = Json.of(options.stream().map(PublishStatements::entries).toList());
    return PUBLISH_EACH.rows(
        transaction,
        channel,
        row -> new Published(row.getLong(1), row.getBoolean(2)),
        array(payloads),
        entries);
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
    if (!options.context().isEmpty()) {
      entries.put("context", options.context());
    }
    return entries;
  }

  /** Rounded up: never too early. */
  private static long micros(Duration length) {
    return length.getSeconds() * 1_000_000 + (length.getNano() + 999) / 1_000;
  }
}
