package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The word of a channel, by which writers know that they need not wake anybody; see {@code
 * sql/V013__wake_ups.sql}. Each is to be a transaction of its own.
 */
public final class WordStatements {

  /** What {@link #announceAwake} returns where somebody else is awake. */
  public static final long TAKEN = 0;

  private static final String WAIT = "SELECT pgonce.do_writers_wait(?, ?::text::integer[])";
  private static final String ANNOUNCE = "SELECT pgonce.announce_awake(?, ?::text::integer[])";
  private static final String STAY = "SELECT pgonce.stay_awake(?, ?::text::integer[], ?, ?)";
  private static final String FALL =
      "SELECT f.mine, f.below, f.running FROM pgonce.fall_asleep(?, ?, ?) AS f";
  private static final String LINGER =
      "SELECT l.mine, l.left_over FROM pgonce.linger(?, ?, ?, ?, ?, ?) AS l";
  private static final String ASLEEP = "SELECT pgonce.asleep(?, ?)";
  private static final String LEAVE = "SELECT pgonce.leave_word(?, ?)";
  private static final String HELP = "SELECT pgonce.ask_for_help(?)";
  private static final String WORD = "SELECT w.word, w.is_over FROM pgonce.word(?) AS w";

  private WordStatements() {}

  /**
   * What is owed for the word that was set last: looks for what transactions leave that had an id
   * before below, and had not ended in that snapshot.
   *
   * @param mine the word
   */
  public record Owed(long mine, String below, String running) {

    Owed as(long word) {
      return new Owed(word, below, running);
    }
  }

  /**
   * How it stands with what is owed.
   *
   * @param left how many transactions have not ended
   */
  public record Lingering(Owed owed, int left) {}

  /**
   * A word that is not 0.
   *
   * @param isOver whether it is to be taken from who has it
   */
  public record Word(long value, boolean isOver) {}

  /**
   * Whether somebody on the whole server waits until it may commit with a NOTIFY; null if this
   * process may not be awake.
   */
  public static @Nullable Boolean doWritersWait(
      Connection transaction, String channel, List<Integer> listened) throws SQLException {
    try (var statement = transaction.prepareStatement(WAIT)) {
      statement.setString(1, channel);
      statement.setString(2, array(listened));
      try (var row = statement.executeQuery()) {
        row.next();
        var wait = row.getBoolean(1);
        return row.wasNull() ? null : wait;
      }
    }
  }

  /** The word; {@link #TAKEN}; null if this process may not be awake. */
  public static @Nullable Long announceAwake(
      Connection transaction, String channel, List<Integer> listened) throws SQLException {
    try (var statement = transaction.prepareStatement(ANNOUNCE)) {
      statement.setString(1, channel);
      statement.setString(2, array(listened));
      try (var row = statement.executeQuery()) {
        row.next();
        var word = row.getLong(1);
        return row.wasNull() ? null : word;
      }
    }
  }

  /** The new word; null if it is not this process's any more. */
  public static @Nullable Long stayAwake(
      Connection transaction, String channel, List<Integer> listened, long mine, boolean asks)
      throws SQLException {
    try (var statement = transaction.prepareStatement(STAY)) {
      statement.setString(1, channel);
      statement.setString(2, array(listened));
      statement.setLong(3, mine);
      statement.setBoolean(4, asks);
      try (var row = statement.executeQuery()) {
        row.next();
        var word = row.getLong(1);
        return row.wasNull() ? null : word;
      }
    }
  }

  /**
   * The word is owing from now on.
   *
   * @param calls whether all are to look, and not this process alone
   */
  public static Owed fallAsleep(Connection transaction, String channel, long mine, boolean calls)
      throws SQLException {
    try (var statement = transaction.prepareStatement(FALL)) {
      statement.setString(1, channel);
      statement.setLong(2, mine);
      statement.setBoolean(3, calls);
      try (var row = statement.executeQuery()) {
        row.next();
        return new Owed(row.getLong(1), row.getString(2), row.getString(3));
      }
    }
  }

  /**
   * How much is owed by now.
   *
   * @param left how many had not ended when this was asked last
   * @param calls whether all are to look if there are fewer, and not this process alone
   */
  public static Lingering linger(
      Connection transaction, String channel, Owed owed, int left, boolean calls)
      throws SQLException {
    try (var statement = transaction.prepareStatement(LINGER)) {
      statement.setString(1, channel);
      statement.setLong(2, owed.mine());
      statement.setString(3, owed.below());
      statement.setString(4, owed.running());
      statement.setInt(5, left);
      statement.setBoolean(6, calls);
      try (var row = statement.executeQuery()) {
        row.next();
        return new Lingering(owed.as(row.getLong(1)), row.getInt(2));
      }
    }
  }

  public static void asleep(Connection transaction, String channel, long mine) throws SQLException {
    end(transaction, ASLEEP, channel, mine);
  }

  public static void leave(Connection transaction, String channel, long mine) throws SQLException {
    end(transaction, LEAVE, channel, mine);
  }

  private static void end(Connection transaction, String sql, String channel, long mine)
      throws SQLException {
    try (var statement = transaction.prepareStatement(sql)) {
      statement.setString(1, channel);
      statement.setLong(2, mine);
      statement.execute();
    }
  }

  /** Others who listen to it look, when this is committed. */
  public static void askForHelp(Connection transaction, String channel) throws SQLException {
    try (var statement = transaction.prepareStatement(HELP)) {
      statement.setString(1, channel);
      statement.execute();
    }
  }

  /** Null if nobody is awake, nor owes anything. */
  public static @Nullable Word word(Connection transaction, String channel) throws SQLException {
    try (var statement = transaction.prepareStatement(WORD)) {
      statement.setString(1, channel);
      try (var row = statement.executeQuery()) {
        row.next();
        var word = row.getLong(1);
        return row.wasNull() ? null : new Word(word, row.getBoolean(2));
      }
    }
  }

  // Arrays travel as text: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9.
  private static String array(List<Integer> ids) {
    return ids.stream().map(String::valueOf).collect(Collectors.joining(",", "{", "}"));
  }
}
