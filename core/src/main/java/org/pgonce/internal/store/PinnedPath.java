package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import org.pgonce.internal.jdbc.Statements;

/**
 * Makes names lead to pg_catalog, whatever search_path the session has. A role may own a function,
 * an operator or a type in a schema of that path that PostgreSQL takes for the better match: it
 * would run with the rights of the role that installs.
 *
 * <p>A transaction that installs, plans or checks is pinned from its beginning to its end. A table
 * whose definition names no schema is looked for where the session would look: {@link #SCHEMAS}.
 */
public final class PinnedPath {

  /** The schemas of the session's own path, as an array of names; while this is pinned. */
  public static final String SCHEMAS =
      "CAST(pg_catalog.current_setting('pgonce.schemas') AS pg_catalog.name[])";

  // What decides how names and texts are read, and how PostgreSQL prints them. Each name is full,
  // and no operator is needed.
  private static final String PIN =
      """
      SELECT pg_catalog.set_config('pgonce.schemas', own.schemas, true),
             pg_catalog.set_config('pgonce.own_path', own.path, true),
             pg_catalog.set_config('pgonce.own_quotes', own.quotes, true),
             pg_catalog.set_config('pgonce.own_strings', own.strings, true),
             pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
             pg_catalog.set_config('quote_all_identifiers', 'off', true),
             pg_catalog.set_config('standard_conforming_strings', 'on', true)
        FROM (SELECT CAST(pg_catalog.current_schemas(false) AS pg_catalog.text),
                     pg_catalog.current_setting('search_path'),
                     pg_catalog.current_setting('quote_all_identifiers'),
                     pg_catalog.current_setting('standard_conforming_strings') OFFSET 0) AS own (schemas, path, quotes, strings)
      """;
  private static final String UNPIN =
      """
      SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.own_path'), true),
             pg_catalog.set_config('quote_all_identifiers', pg_catalog.current_setting('pgonce.own_quotes'), true),
             pg_catalog.set_config('standard_conforming_strings', pg_catalog.current_setting('pgonce.own_strings'), true)
      """;

  private PinnedPath() {}

  /** From now on, until the transaction ends or is unpinned. */
  public static void pin(Connection transaction) throws SQLException {
    Statements.execute(transaction, PIN);
  }

  /** Gives a pinned transaction the session's own settings back. */
  public static void unpin(Connection transaction) throws SQLException {
    Statements.execute(transaction, UNPIN);
  }
}
