package org.pgonce.benchmarks.forms;

/** What a writer does, in one connection. Each statement commits where nothing else is said. */
enum Operation {
  BULK_INSERT("insert, 1,000 rows a statement", Sql.INSERT_MANY, 1_000, 1, 1),
  BULK_UPDATE("update, 1,000 rows a statement", Sql.UPDATE_MANY, 1_000, 1, 1),
  BULK_DELETE("delete, 1,000 rows a statement", Sql.DELETE_MANY, 1_000, 1, 1),
  PARTITIONED_INSERT(
      "insert into 4 partitions, 1,000 rows a statement", Sql.INSERT_MANY, 1_000, 1, 1),
  SINGLE_INSERT("insert, one row a commit", Sql.INSERT_ONE, 1, 1, 20),
  SHARED_INSERT("insert, one row a statement, 100 a commit", Sql.INSERT_ONE, 1, 100, 4),
  SHARED_UPDATE("update, one row a statement, 100 a commit", Sql.UPDATE_ONE, 1, 100, 4),
  SHARED_DELETE("delete, one row a statement, 100 a commit", Sql.DELETE_ONE, 1, 100, 4);

  /**
   * The table's name is put in; parameters are the first id, and the last if it is more than one.
   */
  private static final class Sql {
    static final String INSERT_MANY =
        "insert into %s select g, 'name ' || g, g * 0.01 from generate_series(?, ?) as g";
    static final String UPDATE_MANY = "update %s set price = price + 1 where id between ? and ?";
    static final String DELETE_MANY = "delete from %s where id between ? and ?";
    static final String INSERT_ONE = "insert into %s values (?, ?, ?)";
    static final String UPDATE_ONE = "update %s set price = price + 1 where id = ?";
    static final String DELETE_ONE = "delete from %s where id = ?";
  }

  private final String label;
  private final String sql;
  private final int rowsPerStatement;
  private final int statementsPerCommit;
  private final int share;

  Operation(String label, String sql, int rowsPerStatement, int statementsPerCommit, int share) {
    this.label = label;
    this.sql = sql;
    this.rowsPerStatement = rowsPerStatement;
    this.statementsPerCommit = statementsPerCommit;
    this.share = share;
  }

  String label() {
    return label;
  }

  String sql(String table) {
    return sql.formatted(table);
  }

  int rowsPerStatement() {
    return rowsPerStatement;
  }

  int rowsPerCommit() {
    return rowsPerStatement * statementsPerCommit;
  }

  /** Rows that are written before a turn's time is taken. */
  int warmUpRows() {
    return Math.max(20, rowsPerCommit());
  }

  boolean isInsert() {
    return switch (this) {
      case BULK_INSERT, PARTITIONED_INSERT, SINGLE_INSERT, SHARED_INSERT -> true;
      case BULK_UPDATE, BULK_DELETE, SHARED_UPDATE, SHARED_DELETE -> false;
    };
  }

  /** Whether the rows that it works on have to be there. */
  boolean needsRows() {
    return !isInsert();
  }

  /**
   * Rows of one turn, in whole commits, of which slow operations do fewer.
   *
   * @param bulkRows those of the fastest
   */
  int rowsOf(int bulkRows) {
    return Math.max(1, bulkRows / share / rowsPerCommit()) * rowsPerCommit();
  }
}
