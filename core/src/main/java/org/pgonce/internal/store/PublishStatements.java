package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** The statements that store notifications from Java. */
public final class PublishStatements {

  private static final String PUBLISH = "SELECT pgonce.publish(?, ?::json)";
  // One text parameter, a JSON array: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9, and
  // executeBatch breaks its protocol.
  private static final String PUBLISH_ALL = "SELECT * FROM pgonce.publish_all(?, ?::json)";

  private PublishStatements() {}

  public static long publish(Connection transaction, String channel, String payload)
      throws SQLException {
    return publish(transaction, PUBLISH, channel, payload).get(0);
  }

  public static List<Long> publishAll(Connection transaction, String channel, List<String> payloads)
      throws SQLException {
    return publish(transaction, PUBLISH_ALL, channel, "[" + String.join(",", payloads) + "]");
  }

  private static List<Long> publish(Connection transaction, String sql, String channel, String json)
      throws SQLException {
    try (var statement = transaction.prepareStatement(sql)) {
      statement.setString(1, channel);
      statement.setString(2, json);
      var ids = new ArrayList<Long>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          ids.add(row.getLong(1));
        }
      }
      return ids;
    }
  }
}
