package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * Statements whose names lead to pg_catalog, whatever search_path the session has. A role may own a
 * function, an operator or a type in a schema of that path that PostgreSQL takes for the better
 * match: it would run with the rights of whoever installs.
 *
 * <p>The installer's connection is pinned for the whole of an installation, plan or check. A table
 * whose definition names no schema is looked for where the session would look: {@link #SCHEMAS}.
 */
public final class PinnedPath {

  /** The schemas of the session's own path, as an array of names; while this is pinned. */
  public static final String SCHEMAS =
      "CAST(pg_catalog.current_setting('pgonce.schemas') AS pg_catalog.name[])";

  // In this order: each name is full, and no operator is needed.
  private static final String REMEMBER =
      """
      SELECT pg_catalog.current_setting('search_path'), pg_catalog.current_setting('quote_all_identifiers'),
             pg_catalog.current_setting('standard_conforming_strings'), CAST(pg_catalog.current_schemas(false) AS pg_catalog.text)
      """;
  private static final String SET =
      """
      SELECT pg_catalog.set_config('search_path', ?, true), pg_catalog.set_config('quote_all_identifiers', ?, true),
             pg_catalog.set_config('standard_conforming_strings', ?, true), pg_catalog.set_config('pgonce.schemas', ?, true)
      """;

  // As each file of sql/ begins and ends. For the session: psql may run it without a transaction.
  private static final String SCRIPT =
      """
      SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
      SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);
      %sSELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
      """;

  private PinnedPath() {}

  /** Statements. */
  @FunctionalInterface
  public interface Work<T> {
    T run() throws SQLException;
  }

  /** Statements that give nothing back. */
  @FunctionalInterface
  public interface Change {
    void run() throws SQLException;
  }

  /**
   * What decides how names and texts are read, and how PostgreSQL prints them.
   *
   * @param schemas those that the path leads to
   */
  private record Settings(
      String searchPath, String quoteAll, String conformingStrings, String schemas) {

    Settings pinned() {
      return new Settings("pg_catalog, pg_temp", "off", "on", schemas);
    }

    void set(Connection transaction) throws SQLException {
      try (var statement = transaction.prepareStatement(SET)) {
        statement.setString(1, searchPath);
        statement.setString(2, quoteAll);
        statement.setString(3, conformingStrings);
        statement.setString(4, schemas);
        statement.execute();
      }
    }
  }

  /**
   * Runs the work, and gives the transaction its own settings back. In autocommit the work has a
   * transaction of its own, which is rolled back: it is to read only.
   */
  public static <T> T during(Connection connection, Work<T> work) throws SQLException {
    if (!connection.getAutoCommit()) {
      return duringTransaction(connection, work);
    }
    connection.setAutoCommit(false);
    try {
      return duringTransaction(connection, work);
    } finally {
      connection.rollback();
      connection.setAutoCommit(true);
    }
  }

  /** The same of what changes something, in a transaction. */
  public static void change(Connection transaction, Change change) throws SQLException {
    var unused =
        duringTransaction(
            transaction,
            () -> {
              change.run();
              return true;
            });
  }

  private static <T> T duringTransaction(Connection transaction, Work<T> work) throws SQLException {
    var before = remember(transaction);
    before.pinned().set(transaction);
    T result;
    try {
      result = work.run();
    } catch (SQLException | RuntimeException e) {
      restoreIfItCan(transaction, before);
      throw e;
    }
    before.set(transaction);
    return result;
  }

  private static Settings remember(Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement();
        var row = statement.executeQuery(REMEMBER)) {
      row.next();
      return new Settings(row.getString(1), row.getString(2), row.getString(3), row.getString(4));
    }
  }

  /** In a transaction that has failed the rollback does it. */
  private static void restoreIfItCan(Connection transaction, Settings before) {
    try {
      before.set(transaction);
    } catch (SQLException e) {
      // What failed before is what the caller is told.
    }
  }

  /** The same for statements that are printed; they may not hold another such part. */
  public static String script(String statements) {
    return statements.isEmpty() ? "" : SCRIPT.formatted(statements);
  }
}
