package org.pgonce.benchmarks.work;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import org.pgonce.testkit.TestDatabase;

/** Writes to the table that has a trigger. For one thread. */
final class WorkTable implements AutoCloseable {

  private static final String INSERT = "insert into work (id, name) values (?, 'Author')";
  private static final String INSERT_MANY =
      "insert into work (id, name) select g, 'Author' from generate_series(?::bigint, ?::bigint) as g";
  private static final int AT_ONCE = 10_000;

  private final Connection connection;
  private final PreparedStatement insert;

  WorkTable(TestDatabase database) throws SQLException {
    connection = database.dataSource().getConnection();
    insert = connection.prepareStatement(INSERT);
  }

  /** Returns when it is committed. */
  void insert(long id) throws SQLException {
    insert.setLong(1, id);
    insert.executeUpdate();
  }

  /** The same for many; a statement for each ten thousand. */
  void insert(long firstId, int count) throws SQLException {
    try (var many = connection.prepareStatement(INSERT_MANY)) {
      for (var done = 0; done < count; done += AT_ONCE) {
        many.setLong(1, firstId + done);
        many.setLong(2, firstId + Math.min(count, done + AT_ONCE) - 1);
        many.executeUpdate();
      }
    }
  }

  void execute(String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  void settle(String tables) throws SQLException {
    execute("vacuum (analyze) " + tables);
    execute("checkpoint");
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
