package org.pgonce.stage;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;
import org.pgonce.Tx;

/**
 * What the person on call does, by the SQL functions of schema pgonce: the module that wraps them
 * for Java, pgonce-operations, stands above this one.
 */
public final class OnCall {

  public record Waiting(String subscription, long id, int attempts, Instant dueAt, int version) {}

  public record DeadLetter(
      String subscription, long id, String reason, String error, int attempts, int version) {}

  private final DataSource dataSource;
  private final String person;
  private final String because;

  public OnCall(DataSource dataSource) {
    this(dataSource, "on call", null);
  }

  private OnCall(DataSource dataSource, String person, String because) {
    this.dataSource = dataSource;
    this.person = person;
    this.because = because;
  }

  public OnCall by(String name) {
    return new OnCall(dataSource, name, because);
  }

  public OnCall because(String reason) {
    return new OnCall(dataSource, person, reason);
  }

  public long pause(Channel<?> channel, String reason) {
    return number("select pgonce.pause(?, ?)", channel.name(), reason);
  }

  public long pause(Channel<?> channel, String subscription, String reason) {
    return number("select pgonce.pause(?, ?, ?)", channel.name(), reason, subscription);
  }

  public long resume(Channel<?> channel, String reason) {
    return number("select pgonce.resume(?, ?)", channel.name(), reason);
  }

  public long resume(Channel<?> channel, String subscription, String reason) {
    return number("select pgonce.resume(?, ?, ?)", channel.name(), reason, subscription);
  }

  /** How many were cancelled. */
  public long cancel(Channel<?> channel, List<Long> ids, String reason) {
    return number(
        "select cancelled from pgonce.cancel(?, ?::text::bigint[], null, ?)",
        channel.name(),
        array(ids),
        reason);
  }

  public long cancelByKey(Channel<?> channel, List<String> keys, String reason) {
    return number(
        "select cancelled from pgonce.cancel(?, null, ?::text::text[], ?)",
        channel.name(),
        array(keys),
        reason);
  }

  public boolean drop(Channel<?> channel, String reason) {
    return number("select pgonce.drop_channel(?, ?)::int", channel.name(), reason) == 1;
  }

  public boolean drop(Channel<?> channel, String subscription, String reason) {
    return number(
            "select pgonce.drop_subscription(?, ?, ?)::int", channel.name(), subscription, reason)
        == 1;
  }

  public void adopt(String reason) {
    number("select 1 from (select pgonce.adopt(?)) as a", reason);
  }

  public long redrive(Channel<?> channel) {
    return redrive(channel, null, null);
  }

  public long redrive(Channel<?> channel, List<Long> ids) {
    return redrive(channel, null, ids);
  }

  public long redrive(Channel<?> channel, String subscription) {
    return redrive(channel, subscription, null);
  }

  public long redrive(Channel<?> channel, String subscription, List<Long> ids) {
    return letters("redrive", channel, subscription, ids);
  }

  public long discard(Channel<?> channel) {
    return discard(channel, null, null);
  }

  public long discard(Channel<?> channel, List<Long> ids) {
    return discard(channel, null, ids);
  }

  public long discard(Channel<?> channel, String subscription) {
    return discard(channel, subscription, null);
  }

  public long discard(Channel<?> channel, String subscription, List<Long> ids) {
    return letters("discard", channel, subscription, ids);
  }

  private long letters(String function, Channel<?> channel, String subscription, List<Long> ids) {
    return number(
        "select pgonce." + function + "(?, ?::text::bigint[], ?, ?)",
        channel.name(),
        ids == null ? null : array(ids),
        because,
        subscription);
  }

  /** What waits, the oldest first. */
  public List<Waiting> peek(Channel<?> channel, int limit) {
    return rows(
        "select subscription, id, attempts, due_at, version from pgonce.peek(?, "
            + limit
            + ", null, false)",
        row ->
            new Waiting(
                row.getString(1),
                row.getLong(2),
                row.getInt(3),
                row.getObject(4, OffsetDateTime.class).toInstant(),
                row.getInt(5)),
        channel.name());
  }

  public List<DeadLetter> deadLetters(Channel<?> channel, int limit) {
    return rows(
        "select subscription, id, reason, error, attempts, version from pgonce.dead_letter_status where channel = ? order by id, subscription limit "
            + limit,
        row ->
            new DeadLetter(
                row.getString(1),
                row.getLong(2),
                row.getString(3),
                row.getString(4),
                row.getInt(5),
                row.getInt(6)),
        channel.name());
  }

  private static String array(List<?> values) {
    return values.stream().map(String::valueOf).collect(Collectors.joining(",", "{", "}"));
  }

  private long number(String sql, String... parameters) {
    return rows(sql, row -> row.getLong(1), parameters).get(0);
  }

  private <R> List<R> rows(String sql, Tx.RowMapper<R> mapper, String... parameters) {
    try (var connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      try {
        rows(connection, "select set_config('pgonce.operator', ?, true)", row -> 1, person);
        var rows = rows(connection, sql, mapper, parameters);
        connection.commit();
        return rows;
      } catch (SQLException e) {
        connection.rollback();
        throw e;
      } finally {
        connection.setAutoCommit(true);
      }
    } catch (SQLException e) {
      throw new PgOnceException(sql + ": " + e.getMessage(), e);
    }
  }

  private static <R> List<R> rows(
      Connection connection, String sql, Tx.RowMapper<R> mapper, String... parameters)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (var i = 0; i < parameters.length; i++) {
        statement.setString(i + 1, parameters[i]);
      }
      var rows = new ArrayList<R>();
      try (ResultSet row = statement.executeQuery()) {
        while (row.next()) {
          rows.add(mapper.map(row));
        }
      }
      return rows;
    }
  }
}
