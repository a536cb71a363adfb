package org.pgonce.triggers;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.testkit.TestDatabase;

/**
 * What the person on call does, by the SQL functions and views of schema pgonce. The module that
 * wraps them for Java is built beside this one: these tests take the longest but for core's, and
 * wait for nothing that they can do without.
 */
final class OnCall {

  record DeadLetter(String reason, String error) {}

  private OnCall() {}

  /** Of all subscriptions. */
  static List<DeadLetter> deadLetters(TestDatabase database, TriggerChannel<?> channel)
      throws SQLException {
    var letters = new ArrayList<DeadLetter>();
    try (var connection = database.dataSource().getConnection();
        var statement =
            connection.prepareStatement(
                "select reason, error from pgonce.dead_letter_status where channel = ? order by id")) {
      statement.setString(1, channel.name());
      try (var rows = statement.executeQuery()) {
        while (rows.next()) {
          letters.add(new DeadLetter(rows.getString(1), rows.getString(2)));
        }
      }
    }
    return letters;
  }

  /** Calls {@code redrive} or {@code discard} for all dead letters; returns how many they were. */
  static long letters(TestDatabase database, String function, TriggerChannel<?> channel)
      throws SQLException {
    return database.queryLong("select pgonce.%s('%s')".formatted(function, channel.name()));
  }
}
