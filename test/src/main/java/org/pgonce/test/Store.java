package org.pgonce.test;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.List;
import javax.sql.DataSource;
import org.pgonce.PgOnceException;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.jdbc.Transactions;

/** What the kit reads of pgonce's tables, and writes: as their owner, in short transactions. */
final class Store {

  private static final Duration LONGEST_CALL = Duration.ofSeconds(30);

  private static final String AS_OWNER =
      "SELECT pg_catalog.set_config('role', 'pgonce_owner', true), pg_catalog.set_config('lock_timeout', '5s', true)";

  // Rows of subscription 0 are planner padding, which is due at infinity.
  private static final String ALL =
      """
      SELECT c.name AS channel, s.name AS subscription, r.id, r.payload, r.delivery_key, r.due_at,
             (extract(epoch FROM r.delay) * 1000000)::bigint AS delay_us, r.attempts, r.dead, r.error
        FROM (
          SELECT subscription_id, id, payload::text, delivery_key, created_at AS due_at, interval '0' AS delay, 0 AS attempts, NULL AS dead, NULL AS error
            FROM pgonce.notification WHERE subscription_id <> 0
          UNION ALL
          SELECT subscription_id, id, payload::text, delivery_key, due_at, CASE WHEN attempts = 0 THEN due_at - created_at ELSE interval '0' END, attempts, NULL, last_error
            FROM pgonce.scheduled WHERE subscription_id <> 0
          UNION ALL
          SELECT subscription_id, id, payload::text, delivery_key, died_at, interval '0', attempts, reason, error
            FROM pgonce.dead_letter) AS r
        JOIN pgonce.subscription s ON s.id = r.subscription_id
        JOIN pgonce.channel c ON c.id = s.channel_id
       ORDER BY c.name, r.id, s.id
      """;

  // The first new row and the first scheduled one that is due: which was due first. A new row was
  // due when it was stored.
  private static final String FIRST =
      """
      SELECT f.due FROM (
        (SELECT false AS due, created_at AS due_at, id FROM pgonce.notification WHERE subscription_id = ? ORDER BY id LIMIT 1)
        UNION ALL
        (SELECT true, due_at, id FROM pgonce.scheduled WHERE subscription_id = ? AND due_at <= clock_timestamp() ORDER BY due_at, id LIMIT 1)) AS f
       ORDER BY f.due_at, f.id
      """;

  // All that is stored becomes older, so that each row keeps its delay. A key whose notification
  // was cancelled or discarded has 'infinity' until housekeeping begins its time: here that is now.
  private static final List<String> ADVANCE =
      List.of(
          "UPDATE pgonce.notification SET created_at = created_at - ?::interval WHERE subscription_id <> 0",
          """
          UPDATE pgonce.scheduled AS s SET due_at = s.due_at - i.by, created_at = s.created_at - i.by, key_permit_until = s.key_permit_until - i.by
            FROM (SELECT ?::interval) AS i (by) WHERE s.subscription_id <> 0
          """,
          "UPDATE pgonce.delivery_key SET done_at = least(done_at, clock_timestamp()) - ?::interval WHERE done_at IS NOT NULL");

  // The planner padding stays.
  private static final List<String> CLEAR =
      List.of(
          "DELETE FROM pgonce.notification WHERE subscription_id <> 0",
          "DELETE FROM pgonce.scheduled WHERE subscription_id <> 0",
          "DELETE FROM pgonce.dead_letter",
          "DELETE FROM pgonce.delivery_key",
          "DELETE FROM pgonce.handled");

  private static final String MAKE_FIRST =
      """
      UPDATE pgonce.scheduled
         SET due_at = least(clock_timestamp(), (SELECT min(n.created_at) FROM pgonce.notification n WHERE n.subscription_id = ?),
                            (SELECT min(s.due_at) FROM pgonce.scheduled s WHERE s.subscription_id = ?)) - interval '1 second'
       WHERE subscription_id = ? AND id = ?
      """;

  private static final String PAUSED =
      "SELECT paused_by || ': ' || pause_reason FROM pgonce.subscription WHERE id = ? AND paused_at IS NOT NULL";

  private static final String INSTALLED = "SELECT to_regclass('pgonce.schema_version') IS NOT NULL";

  private final Transactions transactions;

  Store(DataSource dataSource) {
    this.transactions = new Transactions(dataSource, LONGEST_CALL);
  }

  /**
   * All rows of all channels, in the order of channels and ids; none where nothing is installed.
   */
  List<Stored> all() {
    return asOwner(
        "look into pgonce's tables",
        transaction -> Statements.rows(transaction, ALL, Store::stored));
  }

  private static Stored stored(ResultSet row) throws SQLException {
    return new Stored(
        row.getString("channel"),
        row.getString("subscription"),
        row.getLong("id"),
        row.getString("payload"),
        row.getString("delivery_key"),
        row.getObject("due_at", OffsetDateTime.class).toInstant(),
        Duration.of(row.getLong("delay_us"), ChronoUnit.MICROS),
        row.getInt("attempts"),
        row.getString("dead"),
        row.getString("error"));
  }

  /**
   * Where the subscription has rows that are due: among the scheduled ones, or the new ones, or
   * both. First where that is which was due first.
   */
  List<Boolean> due(int subscription) {
    return asOwner(
        "look into pgonce's tables",
        transaction ->
            Statements.rows(
                transaction, FIRST, row -> row.getBoolean("due"), subscription, subscription));
  }

  /** By whom the subscription is paused, and why; empty if it is not. */
  List<String> paused(int subscription) {
    return asOwner(
        "look into pgonce's tables",
        transaction -> Statements.rows(transaction, PAUSED, row -> row.getString(1), subscription));
  }

  void advance(Duration time) {
    var unused =
        asOwner(
            "advance the due times",
            transaction -> {
              for (var sql : ADVANCE) {
                Statements.execute(transaction, sql, time.toString());
              }
              return List.of();
            });
  }

  void clear() {
    var unused =
        asOwner(
            "clear pgonce's tables",
            transaction -> {
              for (var sql : CLEAR) {
                Statements.execute(transaction, sql);
              }
              return List.of();
            });
  }

  /** Makes a scheduled notification the first that is due of its subscription. */
  void makeFirst(int subscription, long id) {
    var unused =
        asOwner(
            "make a notification due",
            transaction -> {
              Statements.execute(
                  transaction, MAKE_FIRST, subscription, subscription, subscription, id);
              return List.of();
            });
  }

  private <R> List<R> asOwner(String what, Transactions.Work<List<R>> work) {
    try {
      return transactions.run(
          transaction -> {
            if (!Statements.row(transaction, INSTALLED, row -> row.getBoolean(1))) {
              return List.of();
            }
            Statements.execute(transaction, AS_OWNER);
            return work.on(transaction);
          });
    } catch (SQLException e) {
      var advice =
          "42501".equals(e.getSQLState())
              ? ". It acts as pgonce_owner: its login must be a superuser, or the one that installed pgonce"
              : "";
      throw new PgOnceException(
          "PgOnceTester cannot " + what + ": " + Failures.inWords(e) + advice, e);
    }
  }
}
