package org.pgonce.operations;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.internal.store.ChannelNames;
import org.pgonce.operations.internal.sql.ArrayText;

/**
 * Calls functions of schema pgonce in the name of a person, each call in its own transaction.
 *
 * @param name what the operation log says did it
 */
record Operator(Transactions transactions, String name) {

  // A million dead letters take their time.
  private static final Duration LONGEST_CALL = Duration.ofHours(1);
  private static final int LONGEST_NAME = 200;
  private static final int LONGEST_REASON = 2_000;
  private static final int HIGHEST_LIMIT = 100_000;

  static Operator over(DataSource dataSource) {
    return new Operator(
        new Transactions(Objects.requireNonNull(dataSource, "dataSource"), LONGEST_CALL),
        "pid " + ProcessHandle.current().pid());
  }

  Operator by(String person) {
    return new Operator(transactions, requireText("person", person, LONGEST_NAME));
  }

  /** Reads the row that the result stands on. */
  @FunctionalInterface
  interface RowReader<R> {
    R read(ResultSet row) throws SQLException;
  }

  /** The only row of a call whose first parameter is the channel. */
  <R> R one(
      String what,
      String sql,
      RowReader<R> reader,
      Channel<?> channel,
      @Nullable Object... parameters) {
    return all(what, sql, reader, channel, parameters).get(0);
  }

  /** All rows of a call whose first parameter is the channel. */
  <R> List<R> all(
      String what,
      String sql,
      RowReader<R> reader,
      Channel<?> channel,
      @Nullable Object... parameters) {
    var all = new ArrayList<@Nullable Object>(List.of(channel.name()));
    all.addAll(Arrays.asList(parameters));
    return call(what + " channel " + channel.name(), sql, reader, all);
  }

  /**
   * Runs one statement and commits it.
   *
   * @param what for the message of a failure, as in «cannot adopt the database»
   * @throws PgOnceException if the database refuses or cannot be reached
   */
  <R> List<R> call(
      String what, String sql, RowReader<R> reader, List<? extends @Nullable Object> parameters) {
    try {
      return transactions.runBounded(
          transaction -> {
            Transactions.nameOperator(transaction, name);
            try (var statement = transaction.prepareStatement(sql)) {
              bind(statement, parameters);
              return read(statement, reader);
            }
          });
    } catch (SQLException e) {
      throw new PgOnceException("pgonce cannot " + what + ": " + Failures.withHint(e), e);
    }
  }

  private static void bind(PreparedStatement statement, List<? extends @Nullable Object> parameters)
      throws SQLException {
    for (var i = 0; i < parameters.size(); i++) {
      var parameter = parameters.get(i);
      if (parameter instanceof Integer number) {
        statement.setInt(i + 1, number);
      } else if (parameter instanceof Boolean flag) {
        statement.setBoolean(i + 1, flag);
      } else {
        statement.setString(i + 1, (String) parameter);
      }
    }
  }

  private static <R> List<R> read(PreparedStatement statement, RowReader<R> reader)
      throws SQLException {
    var rows = new ArrayList<R>();
    try (var row = statement.executeQuery()) {
      while (row.next()) {
        rows.add(reader.read(row));
      }
    }
    return rows;
  }

  /** From microseconds since 1970. */
  static Instant instant(ResultSet row, int column) throws SQLException {
    return Instant.EPOCH.plus(row.getLong(column), ChronoUnit.MICROS);
  }

  static String array(String element, List<?> values) {
    values.forEach(value -> Objects.requireNonNull(value, element));
    return ArrayText.of(values);
  }

  /** The name may be of a subscription that the definition no longer has. */
  static String requireSubscription(String name) {
    return ChannelNames.requireValid("subscription", Objects.requireNonNull(name, "subscription"));
  }

  static int requireLimit(int limit) {
    if (limit < 1 || limit > HIGHEST_LIMIT) {
      throw new IllegalArgumentException("limit " + limit + " is not between 1 and 100,000");
    }
    return limit;
  }

  static String requireReason(String reason) {
    return requireText("reason", reason, LONGEST_REASON);
  }

  private static String requireText(String what, String text, int longest) {
    Objects.requireNonNull(text, what);
    if (text.isBlank() || text.length() > longest) {
      throw new IllegalArgumentException(
          "%s of %d characters: 1 to %,d, not blank".formatted(what, text.length(), longest));
    }
    if (text.codePoints().anyMatch(c -> c == 0 || Character.getType(c) == Character.SURROGATE)) {
      throw new IllegalArgumentException(
          what + " with a NUL or a lone surrogate, which PostgreSQL cannot store: leave it out");
    }
    return text;
  }
}
