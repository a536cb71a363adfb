package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a session that would change what the next handler on a pooled connection does.
 * They are read with the savepoint of a handler and again with its release. If they differ, they
 * are set back: so what functions set for good is undone.
 *
 * <p>Settings that only make a query slower or faster are left out. So are an application's own,
 * which the server lists nowhere: {@code HandlerSql} finds those that a handler's SQL sets for
 * good; those that a function sets for good stay.
 */
public record SessionState(String settings) {

  /**
   * In the order of restoring: session_authorization takes role with it. The last one is bounded by
   * the claim.
   */
  public static final List<String> NAMES =
      List.of(
          "session_authorization",
          "role",
          "search_path",
          "row_security",
          "default_transaction_isolation",
          "default_transaction_read_only",
          "default_transaction_deferrable",
          "synchronous_commit",
          "session_replication_role",
          "TimeZone",
          "DateStyle",
          "IntervalStyle",
          "bytea_output",
          "extra_float_digits",
          "standard_conforming_strings",
          "statement_timeout",
          "lock_timeout",
          "transaction_timeout",
          "pgonce.operator",
          "pgonce.context",
          "pgonce.depth",
          "idle_in_transaction_session_timeout");

  // The unit separator of ASCII: values may hold what people write. An array would cost the server
  // more.
  private static final String SEPARATOR = "\u001f";

  public static final String COLUMN =
      NAMES.stream()
          .map(SessionState::column)
          .collect(Collectors.joining(",\n  ", "pg_catalog.concat_ws(E'\\x1f',\n  ", "\n)\n"));

  // Each setting is read again just before it is set: SET LOCAL has ended by now, and
  // session_authorization takes role with it. What comes from the server's configuration was not
  // changed by a handler, but loaded anew meanwhile.
  private static final String RESTORE =
      """
      SELECT pg_catalog.set_config(s.name, s.value, false)
      FROM ROWS FROM (
        pg_catalog.unnest(ARRAY[%s]),
        pg_catalog.unnest(pg_catalog.string_to_array(?::pg_catalog.text, E'\\x1f'))
      ) AS s (name, value)
      WHERE COALESCE(pg_catalog.current_setting(s.name, true), '') OPERATOR(pg_catalog.<>) s.value
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_settings AS p
                         WHERE p.name OPERATOR(pg_catalog.=) s.name AND p.source OPERATOR(pg_catalog.=) 'configuration file')
      """
          .formatted(NAMES.stream().collect(Collectors.joining("', '", "'", "'")));

  private static String column(String name) {
    // Empty where the server, which may be older, or pgonce has not set it.
    return name.startsWith("pgonce.") || name.equals("transaction_timeout")
        ? "COALESCE(pg_catalog.current_setting('" + name + "', true), '')"
        : "pg_catalog.current_setting('" + name + "')";
  }

  /** Null, which is the session's default, if the values cannot be told apart. */
  public @Nullable String value(String name) {
    var values = settings.split(SEPARATOR, -1);
    return values.length == NAMES.size() ? values[NAMES.indexOf(name)] : null;
  }

  /**
   * Sets back for good what differs, and commits that. To be called after the commit of the
   * transaction in which a difference was found.
   *
   * @param idleTimeout the idle_in_transaction_session_timeout outside the transaction: the claim
   *     has set another one in it, which was read here
   * @throws SQLException if a setting cannot be set back: the connection must be closed
   */
  public void restore(Connection connection, String idleTimeout) throws SQLException {
    if (settings.split(SEPARATOR, -1).length != NAMES.size()) {
      throw new SQLException(
          "one of the session's settings, such as search_path, holds the character U+001F");
    }
    var last = settings.lastIndexOf(SEPARATOR) + 1;
    Statements.execute(connection, RESTORE, settings.substring(0, last) + idleTimeout);
    connection.commit();
  }
}
