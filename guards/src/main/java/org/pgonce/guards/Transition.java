package org.pgonce.guards;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Types;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * Compare-and-set on a column: takes a row from one state to another, if it is still in the first,
 * and tells whether it was this call that did. Of several at once one wins; there is no look before
 * the update that another could come between.
 *
 * <pre>{@code
 * static final Transition CAMPAIGN = Transition.of("campaign", "id", "state");
 *
 * if (CAMPAIGN.move(connection, 42, "approved", "sending")) {
 *   … // nobody else does this
 * }
 * }</pre>
 *
 * <p>Immutable and safe for use by several threads.
 */
public final class Transition {

  private static final Pattern NAME = Pattern.compile("[\\p{L}_][\\p{L}\\p{N}_$]{0,62}");

  private final String sql;
  private final String table;

  private Transition(String sql, String table) {
    this.sql = sql;
    this.table = table;
  }

  /**
   * Names are as PostgreSQL stores them (mostly in lower case), of letters, digits, {@code _} and
   * {@code $}.
   *
   * @param table with its schema and a point before it, or looked for on the connection's search
   *     path
   * @param key a column whose value one row has
   * @param state the column that is compared and set
   * @throws IllegalArgumentException if one is no such name
   */
  public static Transition of(String table, String key, String state) {
    Objects.requireNonNull(table, "table");
    var point = table.indexOf('.');
    var quoted =
        point < 0
            ? quoted(table)
            : quoted(table.substring(0, point)) + "." + quoted(table.substring(point + 1));
    var itsKey = quoted(Objects.requireNonNull(key, "key"));
    var itsState = quoted(Objects.requireNonNull(state, "state"));
    return new Transition(
        "UPDATE %s SET %s = ? WHERE %s = ? AND %s = ?"
            .formatted(quoted, itsState, itsKey, itsState),
        table);
  }

  private static String quoted(String name) {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "\"" + name + "\" is no name of 1 to 63 letters, digits, '_' or '$'");
    }
    return '"' + name + '"';
  }

  /**
   * Moves the row, in the caller's transaction. Where another transaction has moved it and not yet
   * ended, this waits for it (and fails, at REPEATABLE READ or above, if that commits).
   *
   * @param key the row's key, set by {@link java.sql.PreparedStatement#setObject(int, Object)}, as
   *     the states are. A text, or an enum's constant by its name, is read as a value of the
   *     column: of an enum, a uuid
   * @return whether it was in the first state and now is, by this call, in the second; false too if
   *     there is no such row
   * @throws IllegalArgumentException if both states are the same: nobody could win
   * @throws SQLException if the database refuses, or if several rows have the key: roll back then
   */
  public boolean move(Connection transaction, Object key, Object from, Object to)
      throws SQLException {
    Objects.requireNonNull(transaction, "transaction");
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(to, "to");
    if (String.valueOf(value(from)).equals(String.valueOf(value(to)))) {
      throw new IllegalArgumentException("from and to are the same state: " + from);
    }
    try (var statement = transaction.prepareStatement(sql)) {
      bind(statement, 1, to);
      bind(statement, 2, key);
      bind(statement, 3, from);
      var moved = statement.executeUpdate();
      if (moved > 1) {
        throw new SQLException(
            "%d rows of table %s have one key and were moved together: roll back, and give a column whose values are unique"
                .formatted(moved, table),
            "21000");
      }
      return moved == 1;
    }
  }

  /** A text without a type: PostgreSQL compares no column of an enum with a varchar. */
  private static void bind(PreparedStatement statement, int index, Object value)
      throws SQLException {
    if (value(value) instanceof String text) {
      statement.setObject(index, text, Types.OTHER);
    } else {
      statement.setObject(index, value);
    }
  }

  /** As it is bound. */
  private static Object value(Object value) {
    return value instanceof Enum<?> constant ? constant.name() : value;
  }
}
