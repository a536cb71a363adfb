package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * Runs statements whose names lead to pg_catalog, whatever search_path the session has. A role may
 * own a function, an operator or a type in a schema of that path that PostgreSQL takes for the
 * better match: it would run with the rights of the role that installs.
 *
 * <p>The installer's connection is pinned for the whole of an installation, plan or check. A table
 * whose definition names no schema is looked for where the session would look: {@link #SCHEMAS}.
 */
public final class PinnedPath {

  /** The schemas of the session's own path, as an array of names; while this is pinned. */
  public static final String SCHEMAS =
      "CAST(pg_catalog.current_setting('pgonce.schemas') AS pg_catalog.name[])";

  // What decides how names and texts are read, and how PostgreSQL prints them. Each name is full,
  // and no operator is needed.
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
   * Runs the work, and gives the transaction its own settings back. In autocommit the work has a
   * transaction of its own, which is rolled back: it may only read.
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

  /** The same for statements that change something, in a transaction. */
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
    String path;
    String quoteAll;
    String conforming;
    String schemas;
    try (var statement = transaction.createStatement();
        var row = statement.executeQuery(REMEMBER)) {
      row.next();
      path = row.getString(1);
      quoteAll = row.getString(2);
      conforming = row.getString(3);
      schemas = row.getString(4);
    }
    set(transaction, "pg_catalog, pg_temp", "off", "on", schemas);
    T result;
    try {
      result = work.run();
    } catch (SQLException | RuntimeException e) {
      try {
        set(transaction, path, quoteAll, conforming, schemas);
      } catch (SQLException failed) {
        // The transaction has failed, so its rollback restores them.
      }
      throw e;
    }
    set(transaction, path, quoteAll, conforming, schemas);
    return result;
  }

  private static void set(Connection transaction, String... settings) throws SQLException {
    try (var statement = transaction.prepareStatement(SET)) {
      for (var i = 0; i < settings.length; i++) {
        statement.setString(i + 1, settings[i]);
      }
      statement.execute();
    }
  }
}
