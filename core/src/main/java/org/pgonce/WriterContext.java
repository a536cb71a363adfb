package org.pgonce;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.ContextJson;

/**
 * What a writer says of itself: a tenant, a user, a request. Each notification that the writer's
 * transaction publishes, by {@link Publisher}, SQL or a trigger, is stored with it. The handler
 * gets it ({@link Notification#context()}), what the handler publishes in its transaction inherits
 * it (see also {@link BatchHandler}), and subscriptions may have a filter for it ({@link
 * ChannelOptions#subscriptions()}). A broadcast carries none. One message may add to it ({@link
 * PublishOptions#withContext}).
 *
 * <p>It is kept in the setting {@code pgonce.context} as a JSON object of texts, which any role may
 * set: it is no protection. Numbers and booleans are taken as their text; a setting that is not
 * such an object is taken for no context, and never fails the writer.
 */
public final class WriterContext {

  private static final String SET = "SELECT pg_catalog.set_config('pgonce.context', ?, true)";
  // One round trip where there is nothing to add to. In SQL alone a text that is no JSON would fail
  // the writer.
  private static final String SET_IF_NONE =
      """
      SELECT CASE WHEN s.context = '' THEN NULLIF(pg_catalog.set_config('pgonce.context', ?, true), ?) ELSE s.context END
        FROM (SELECT coalesce(pg_catalog.current_setting('pgonce.context', true), '') OFFSET 0) AS s (context)
      """;
  private static final String SET_FOR_SESSION =
      "SELECT pg_catalog.set_config('pgonce.context', ?, false)";

  private WriterContext() {}

  /**
   * Adds to the context that the transaction has, of its own or of its session, until it ends. A
   * key that is there gets the new value. To replace all of it, {@link #clear} first.
   *
   * @throws IllegalStateException if the connection is in autocommit, where it would end with this
   *     very statement
   * @throws IllegalArgumentException if a key is empty, or if there is text that PostgreSQL cannot
   *     store (NUL, lone surrogate), before any SQL runs; or if the context would be longer than
   *     10,000 characters as JSON. Nothing is set then
   */
  public static void set(Connection transaction, Map<String, String> context) throws SQLException {
    Objects.requireNonNull(transaction, "transaction");
    var json = ContextJson.of(context);
    requireTransaction(transaction);
    if (json.isEmpty()) {
      return;
    }
    @Nullable String before =
        Statements.row(transaction, SET_IF_NONE, row -> row.getString(1), json, json);
    if (before != null) {
      var merged = new HashMap<>(ContextJson.readSetting(before));
      merged.putAll(context);
      Statements.execute(transaction, SET, ContextJson.of(merged));
    }
  }

  /**
   * Takes the whole context from the transaction, that of its session too, until it ends.
   *
   * @throws IllegalStateException as for {@link #set}
   */
  public static void clear(Connection transaction) throws SQLException {
    Objects.requireNonNull(transaction, "transaction");
    requireTransaction(transaction);
    Statements.execute(transaction, SET, "");
  }

  private static void requireTransaction(Connection connection) throws SQLException {
    if (connection.getAutoCommit()) {
      throw new IllegalStateException(
          "the context of a transaction needs one: call setAutoCommit(false), or setForSession");
    }
  }

  /**
   * Sets the context for as long as the session lasts, or until it is set again, instead of what
   * was set; no entries: none. Where the connection comes from a pool, the next user of the session
   * has it too: clear it before the connection is closed. In a transaction that is rolled back, it
   * was not set.
   *
   * @throws IllegalArgumentException as for {@link #set}
   */
  public static void setForSession(Connection connection, Map<String, String> context)
      throws SQLException {
    Objects.requireNonNull(connection, "connection");
    Statements.execute(connection, SET_FOR_SESSION, ContextJson.of(context));
  }
}
