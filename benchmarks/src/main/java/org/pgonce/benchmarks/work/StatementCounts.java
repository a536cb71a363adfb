package org.pgonce.benchmarks.work;

import java.sql.SQLException;
import java.util.Map;
import org.pgonce.testkit.TestDatabase;

/**
 * What the server counts in pg_stat_statements of one database: statements that clients sent, not
 * those inside functions. Asked from another database, which is not counted.
 */
public final class StatementCounts {

  /** For an embedded server; another one is to have it. */
  public static final Map<String, String> SETTINGS =
      Map.of(
          "shared_preload_libraries", "pg_stat_statements",
          "pg_stat_statements.track", "top");

  private static final String ALL =
      """
      select coalesce(sum(%s), 0)::bigint from pg_stat_statements s
        join pg_database d on d.oid = s.dbid and d.datname = '%s'
       where s.query ilike '%s' and s.query !~* '^(begin|commit|rollback|start transaction)'
      """;

  private final TestDatabase elsewhere;

  private StatementCounts(TestDatabase elsewhere) {
    this.elsewhere = elsewhere;
  }

  /**
   * Counts from now on.
   *
   * @param elsewhere a database that is not counted
   */
  public static StatementCounts open(TestDatabase elsewhere) throws SQLException {
    elsewhere.execute("create extension if not exists pg_stat_statements");
    return new StatementCounts(elsewhere);
  }

  /** All of a database so far, without those that begin and end transactions. */
  public long of(TestDatabase database) throws SQLException {
    return of(database, "%");
  }

  /**
   * Those that are like this.
   *
   * @param like a pattern of LIKE, in lower case or upper
   */
  public long of(TestDatabase database, String like) throws SQLException {
    return elsewhere.queryLong(ALL.formatted("s.calls", database.name(), like));
  }

  /** For how long the server has executed those that are like this, in microseconds. */
  public long micros(TestDatabase database, String like) throws SQLException {
    return elsewhere.queryLong(ALL.formatted("1000 * s.total_exec_time", database.name(), like));
  }
}
