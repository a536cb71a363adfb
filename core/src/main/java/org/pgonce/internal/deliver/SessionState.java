package org.pgonce.internal.deliver;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Origin;

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
 *   <li>what fails: the timeouts.
 * </ul>
 *
 * Left out is what only makes a query slower or faster, and settings of an application's own.
 */
record SessionState(String settings) {

  private static final int COUNT = 18;

  // Of ASCII, the separator of units: values may hold what people write. An array would do, and
  // cost the server more.
  private static final String SEPARATOR = "\u001f";

  static final String COLUMN =
      """
      pg_catalog.concat_ws(E'\\x1f',
        pg_catalog.current_setting('session_authorization'),
        pg_catalog.current_setting('role'),
        pg_catalog.current_setting('search_path'),
        pg_catalog.current_setting('row_security'),
        pg_catalog.current_setting('default_transaction_isolation'),
        pg_catalog.current_setting('default_transaction_read_only'),
        pg_catalog.current_setting('default_transaction_deferrable'),
        pg_catalog.current_setting('synchronous_commit'),
        pg_catalog.current_setting('session_replication_role'),
        pg_catalog.current_setting('TimeZone'),
        pg_catalog.current_setting('DateStyle'),
        pg_catalog.current_setting('IntervalStyle'),
        pg_catalog.current_setting('bytea_output'),
        pg_catalog.current_setting('extra_float_digits'),
        pg_catalog.current_setting('standard_conforming_strings'),
        pg_catalog.current_setting('statement_timeout'),
        pg_catalog.current_setting('lock_timeout'),
        pg_catalog.current_setting('idle_in_transaction_session_timeout')
      )
      """;

  static final String READ = "SELECT " + COLUMN;
  private static final String READ_AND_TELL = "SELECT " + COLUMN + ", " + Origin.COLUMNS;
  private static final String READ_TELL_AND_SET_SAVEPOINT =
      READ_AND_TELL + "; " + GuardedConnection.SET_SAVEPOINT;
  private static final String RELEASE_AND_READ = GuardedConnection.RELEASE + "; " + READ;

  // The same names in the same order.
  // Each setting is looked at again just before it is set: what was SET LOCAL is gone by now, and
  // session_authorization takes role with it.
  private static final String RESTORE =
      """
      SELECT pg_catalog.set_config(s.name, s.value, false)
      FROM (SELECT pg_catalog.string_to_array(?::pg_catalog.text, E'\\x1f')) AS known (at_first), ROWS FROM (
        pg_catalog.unnest(ARRAY[
          'session_authorization',
          'role',
          'search_path',
          'row_security',
          'default_transaction_isolation',
          'default_transaction_read_only',
          'default_transaction_deferrable',
          'synchronous_commit',
          'session_replication_role',
          'TimeZone',
          'DateStyle',
          'IntervalStyle',
          'bytea_output',
          'extra_float_digits',
          'standard_conforming_strings',
          'statement_timeout',
          'lock_timeout',
          'idle_in_transaction_session_timeout'
        ]),
        pg_catalog.unnest(
          pg_catalog.array_append(pg_catalog.trim_array(known.at_first, 1),
            COALESCE(?::pg_catalog.text, known.at_first[pg_catalog.array_upper(known.at_first, 1)])))
      ) AS s (name, value)
      WHERE pg_catalog.current_setting(s.name) IS DISTINCT FROM s.value
      """;

  /**
   * Releases the handler's savepoint and reads the state after it, in one message where the driver
   * can (pgjdbc-ng prepares one command at a time).
   */
  static SessionState afterRelease(Connection transaction) throws SQLException {
    if (PgjdbcNg.made(transaction)) {
      try (var statement = transaction.createStatement()) {
        statement.execute(GuardedConnection.RELEASE);
      }
      return of(transaction);
    }
    try (var statement = transaction.prepareStatement(RELEASE_AND_READ)) {
      statement.execute();
      return second(statement);
    }
  }

  /** What a statement has returned, and the state before it. */
  record Followed<R>(SessionState state, R result) {}

  /**
   * The same, and a statement behind it in the same message. Not for pgjdbc-ng.
   *
   * @param behind what follows that
   */
  static <R> Followed<R> afterRelease(
      LastStatement<R> last, Following behind, Connection transaction) throws SQLException {
    try (var statement =
        transaction.prepareStatement(Message.of(RELEASE_AND_READ, last.sql(), behind.sql()))) {
      last.bind(statement);
      behind.bind(statement, last.parameters() + 1);
      statement.execute();
      var state = second(statement);
      statement.getMoreResults();
      return new Followed<>(state, last.read(statement, behind));
    }
  }

  /** The state is the second result, as the command is the first. */
  private static SessionState second(Statement executed) throws SQLException {
    executed.getMoreResults();
    try (var row = executed.getResultSet()) {
      row.next();
      return new SessionState(row.getString(1));
    }
  }

  /**
   * Reads the state, tells by settings where what is handled comes from, and sets the handler's
   * savepoint, in one message as well.
   */
  static SessionState beforeSavepoint(Origin origin, Connection transaction) throws SQLException {
    var alone = PgjdbcNg.made(transaction);
    try (var statement =
        transaction.prepareStatement(alone ? READ_AND_TELL : READ_TELL_AND_SET_SAVEPOINT)) {
      origin.bind(statement, 1);
      statement.execute();
      SessionState state;
      try (var row = statement.getResultSet()) {
        row.next();
        state = new SessionState(row.getString(1));
      }
      if (alone) {
        try (var then = transaction.createStatement()) {
          then.execute(GuardedConnection.SET_SAVEPOINT);
        }
      }
      return state;
    }
  }

  /** Reads the state, and tells by settings where what is handled next comes from. */
  static SessionState withOrigin(Origin origin, Connection transaction) throws SQLException {
    try (var statement = transaction.prepareStatement(READ_AND_TELL)) {
      origin.bind(statement, 1);
      try (var row = statement.executeQuery()) {
        row.next();
        return new SessionState(row.getString(1));
      }
    }
  }

  static SessionState of(Connection transaction) throws SQLException {
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
  void restore(Connection connection, @Nullable String idleTimeout) throws SQLException {
    if (settings.split(SEPARATOR, -1).length != COUNT) {
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
