package org.pgonce;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.Objects;
import org.pgonce.internal.store.ContextJson;

/**
 * What a writer says of itself: a tenant, a user, a request. Each notification that the writer's
 * transaction publishes, by {@link Publisher}, SQL or a trigger, is stored with it. The handler
 * gets it ({@link Notification#context()}), what the handler publishes in its transaction inherits
 * it (see also {@link BatchHandler}), and subscriptions may have a filter for it ({@link
 * ChannelOptions#subscriptions()}). A broadcast carries none.
 *
 * <p>It is kept in the setting {@code pgonce.context} as a JSON object of texts, which any role may
 * set: it is no protection. Numbers and booleans are taken as their text; a setting that is not
 * such an object is taken for no context, and never fails the writer.
 */
public final class WriterContext {

  private static final String SET = "SELECT pg_catalog.set_config('pgonce.context', ?, true)";
  private static final String SET_FOR_SESSION =
      "SELECT pg_catalog.set_config('pgonce.context', ?, false)";

  private WriterContext() {}

  /**
   * Sets the context until the transaction ends, instead of what was set; no entries: none.
   *
   * @throws IllegalStateException if the connection is in autocommit, where it would end with this
   *     very statement
   * @throws IllegalArgumentException if a key is empty, if there is text that PostgreSQL cannot
   *     store (NUL, lone surrogate), or if it is longer than 10,000 characters as JSON; before any
   *     SQL runs
   */
  public static void set(Connection transaction, Map<String, String> context) throws SQLException {
    Objects.requireNonNull(transaction, "transaction");
    var json = ContextJson.of(context);
    if (transaction.getAutoCommit()) {
      throw new IllegalStateException(
          "the context of a transaction needs one: call setAutoCommit(false), or setForSession");
    }
    set(transaction, json, SET);
  }

  /**
   * Sets the context for as long as the session lasts, or until it is set again; no entries: none.
   * Where the connection comes from a pool, the next user of the session has it too: clear it
   * before the connection is closed. In a transaction that is rolled back, it was not set.
   *
   * @throws IllegalArgumentException as for {@link #set}
   */
  public static void setForSession(Connection connection, Map<String, String> context)
      throws SQLException {
    Objects.requireNonNull(connection, "connection");
    set(connection, ContextJson.of(context), SET_FOR_SESSION);
  }

  private static void set(Connection connection, String json, String sql) throws SQLException {
    try (var statement = connection.prepareStatement(sql)) {
      statement.setString(1, json);
      statement.execute();
    }
  }
}
