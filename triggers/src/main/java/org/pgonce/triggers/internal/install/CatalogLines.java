package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Sentences that a query makes of the catalogs. */
final class CatalogLines {

  private CatalogLines() {}

  /** The first column of each row. */
  static List<String> of(Connection connection, String sql, Object... parameters)
      throws SQLException {
    try (var statement = connection.prepareStatement(sql)) {
      for (var i = 0; i < parameters.length; i++) {
        statement.setObject(i + 1, parameters[i]);
      }
      var lines = new ArrayList<String>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          lines.add(row.getString(1));
        }
      }
      return lines;
    }
  }
}
