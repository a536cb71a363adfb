package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a session that would make the next handler on a pooled connection do something
 * else, as they were at one moment. Read along with the savepoint, so with the claim or before a
 * handler's first statement, and with its release; equal means nothing to do. It finds what the
 * text of a handler's SQL does not show: {@code set_config(…, false)} and functions that SET.
 *
 * <p>In it is what changes
 *
 * <ul>
 *   <li>who one is and what a name means: session_authorization, role, search_path, row_security;
 *   <li>what a transaction is: the default_transaction_ settings; synchronous_commit, on which
 *       rests what the server acknowledges;
 *   <li>whether triggers fire: session_replication_role;
 *   <li>how values read as text, and text as values: TimeZone, DateStyle, IntervalStyle,
 *       bytea_output, extra_float_digits, standard_conforming_strings;
 *   <li>what pgonce's own functions go by: the pgonce. settings;
 *   <li>what fails: the timeouts.
 * </ul>
 *
 * RowsBehind out is what only makes a query slower or faster. RowsBehind out are also settings of
 * an application's own, as the server lists them nowhere: those that a handler's own SQL sets for
 * good are found by its text, those that a function of the database sets for good stay.
 */
public record SessionState(String settings) {

  // Those of the server's version, and of pgonce, may be unknown to it: they are empty then. The
  // order is that of restoring, where session_authorization takes role with it; the last one is
  // bounded by the claim.
  private static final List<String> ALWAYS_THERE =
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
          "lock_timeout");
  private static final List<String> MAY_BE_THERE =
      List.of("transaction_timeout", "pgonce.operator", "pgonce.context", "pgonce.depth");
  public static final List<String> NAMES =
      Stream.of(ALWAYS_THERE, MAY_BE_THERE, List.of("idle_in_transaction_session_timeout"))
          .flatMap(List::stream)
          .toList();

  // Of ASCII, the separator of units: values may hold what people write. An array would do, and
  // cost the server more.
  private static final String SEPARATOR = "\u001f";

  public static final String COLUMN =
      NAMES.stream()
          .map(
              name ->
                  MAY_BE_THERE.contains(name)
                      ? "COALESCE(pg_catalog.current_setting('" + name + "', true), '')"
                      : "pg_catalog.current_setting('" + name + "')")
          .collect(Collectors.joining(",\n  ", "pg_catalog.concat_ws(E'\\x1f',\n  ", "\n)\n"));

  private static final String READ = "SELECT " + COLUMN;

  // Each setting is looked at again just before it is set: what was SET LOCAL is gone by now, and
  // session_authorization takes role with it. What the server's configuration says was changed by
  // nobody here, but loaded anew meanwhile.
  private static final String RESTORE =
      """
      SELECT pg_catalog.set_config(s.name, s.value, false)
      FROM (SELECT pg_catalog.string_to_array(?::pg_catalog.text, E'\\x1f')) AS known (at_first), ROWS FROM (
        pg_catalog.unnest(ARRAY[%s]),
        pg_catalog.unnest(
          pg_catalog.array_append(pg_catalog.trim_array(known.at_first, 1),
            COALESCE(?::pg_catalog.text, known.at_first[pg_catalog.array_upper(known.at_first, 1)])))
      ) AS s (name, value)
      WHERE COALESCE(pg_catalog.current_setting(s.name, true), '') OPERATOR(pg_catalog.<>) s.value
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_settings AS p
                         WHERE p.name OPERATOR(pg_catalog.=) s.name AND p.source OPERATOR(pg_catalog.=) 'configuration file')
      """
          .formatted(NAMES.stream().collect(Collectors.joining("', '", "'", "'")));

  /** Whether the setting is among those. */
  public static boolean isSetBack(String name) {
    return NAMES.stream().anyMatch(name::equalsIgnoreCase);
  }

  /** Null, which is the session's default, where the values cannot be told apart. */
  public @Nullable String value(String name) {
    var values = settings.split(SEPARATOR, -1);
    return values.length == NAMES.size() ? values[NAMES.indexOf(name)] : null;
  }

  public static SessionState of(Connection transaction) throws SQLException {
    try (var statement = transaction.prepareStatement(READ);
        var row = statement.executeQuery()) {
      row.next();
      return new SessionState(row.getString(1));
    }
  }

  /**
   * Sets back whatever differs, for good: in a transaction of its own, which it commits. Call it
   * after the commit that followed a difference, never in between.
   *
   * @param idleTimeout the idle_in_transaction_session_timeout outside the transaction, where a
   *     claim has set another one in it, which was read here; else null
   * @throws SQLException if a setting cannot be set back; close the connection then, and do not let
   *     the pool hand it out again
   */
  public void restore(Connection connection, @Nullable String idleTimeout) throws SQLException {
    if (settings.split(SEPARATOR, -1).length != NAMES.size()) {
      throw new SQLException(
          "one of the session's settings, such as search_path, holds the character U+001F");
    }
    try (var statement = connection.prepareStatement(RESTORE)) {
      statement.setString(1, settings);
      statement.setString(2, idleTimeout);
      statement.execute();
    }
    connection.commit();
  }
}
