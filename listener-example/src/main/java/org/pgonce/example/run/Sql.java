package org.pgonce.example.run;

import java.sql.SQLException;

/** Statements in a connection of their own. */
public final class Sql {

  private Sql() {}

  public static void execute(DatabaseAddress address, String sql) throws SQLException {
    try (var connection = address.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** The first column of the only row. */
  public static long number(DatabaseAddress address, String sql) throws SQLException {
    try (var connection = address.dataSource().getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery(sql)) {
      row.next();
      return row.getLong(1);
    }
  }
}
