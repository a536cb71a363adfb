package org.pgonce.operations.internal.sql;

import java.sql.Array;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.Period;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PGInterval;

/** The statements of one transaction. */
public record Statements(Connection connection) {

  /** Parameters are texts, and cast in the SQL; null for SQL null. */
  public Rows rows(String sql, @Nullable String... parameters) throws SQLException {
    try (var statement = connection.prepareStatement(sql)) {
      for (var i = 0; i < parameters.length; i++) {
        statement.setString(i + 1, parameters[i]);
      }
      try (var result = statement.executeQuery()) {
        return read(result);
      }
    }
  }

  /** The first column of the only row. */
  public @Nullable Object one(String sql, @Nullable String... parameters) throws SQLException {
    return rows(sql, parameters).values().get(0).get(0);
  }

  public long number(String sql, @Nullable String... parameters) throws SQLException {
    return one(sql, parameters) instanceof Number number ? number.longValue() : 0;
  }

  public boolean isTrue(String sql, @Nullable String... parameters) throws SQLException {
    return Boolean.TRUE.equals(one(sql, parameters));
  }

  /** Null for SQL null. */
  public @Nullable String text(String sql, @Nullable String... parameters) throws SQLException {
    var value = one(sql, parameters);
    return value == null ? null : value.toString();
  }

  private static Rows read(ResultSet result) throws SQLException {
    var meta = result.getMetaData();
    var columns = new ArrayList<String>();
    for (var column = 1; column <= meta.getColumnCount(); column++) {
      columns.add(meta.getColumnLabel(column));
    }
    var values = new ArrayList<List<@Nullable Object>>();
    while (result.next()) {
      var row = new ArrayList<@Nullable Object>();
      for (var column = 1; column <= columns.size(); column++) {
        row.add(value(result, column, meta.getColumnTypeName(column)));
      }
      values.add(row);
    }
    return new Rows(columns, values);
  }

  private static @Nullable Object value(ResultSet row, int column, String type)
      throws SQLException {
    if (type.equals("timestamptz")) {
      var time = row.getObject(column, OffsetDateTime.class);
      return time == null ? null : time.toInstant();
    }
    if (type.startsWith("json")) {
      var text = row.getString(column);
      return text == null ? null : new JsonText(text);
    }
    var value = row.getObject(column);
    if (value == null) {
      return null;
    } else if (type.equals("interval")) {
      return duration(value);
    } else if (value instanceof Array array) {
      return list(array);
    } else {
      return value;
    }
  }

  /** Each driver has a type of its own; that of pgjdbc-ng writes itself in ISO 8601. */
  private static Duration duration(Object interval) {
    if (interval instanceof PGInterval known) {
      return days(known.getYears() * 12 + known.getMonths(), known.getDays())
          .plusHours(known.getHours())
          .plusMinutes(known.getMinutes())
          .plus(Math.round(known.getSeconds() * 1_000_000), ChronoUnit.MICROS);
    }
    var text = interval.toString();
    var time = text.indexOf('T');
    var period = time == 1 ? Period.ZERO : Period.parse(time < 0 ? text : text.substring(0, time));
    return days(period.toTotalMonths(), period.get(ChronoUnit.DAYS))
        .plus(time < 0 ? Duration.ZERO : Duration.parse("P" + text.substring(time)));
  }

  /** A month has 30 days, as PostgreSQL compares intervals. */
  private static Duration days(long months, long days) {
    return Duration.ofDays(30 * months + days);
  }

  private static List<@Nullable Object> list(Array array) throws SQLException {
    try {
      return Arrays.asList((@Nullable Object[]) array.getArray());
    } finally {
      array.free(); // pgjdbc-ng keeps a buffer for each element until then
    }
  }
}
