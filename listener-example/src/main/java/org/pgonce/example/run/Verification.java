package org.pgonce.example.run;

import java.sql.Connection;
import java.sql.SQLException;
import org.HdrHistogram.Histogram;

/**
 * What the database says when all is over.
 *
 * @param lost authors whose insert was acknowledged and who have no post
 * @param duplicates posts beyond the first of their author
 * @param waiting notifications that are still stored
 * @param deadLetters notifications that were given up
 * @param seconds from the first author to the last post
 * @param waits from insert to post, in microseconds of the database's clock
 */
record Verification(
    long authors,
    long posts,
    long lost,
    long duplicates,
    long waiting,
    long deadLetters,
    double seconds,
    Histogram waits) {

  private static final String COUNTS =
      """
      select (select count(*) from author),
             (select count(*) from post),
             (select count(*) from author a where not exists (select from post p where p.author_id = a.id)),
             (select coalesce(sum(n - 1), 0) from (select count(*) as n from post group by author_id) by_author),
             (select coalesce(sum(backlog + scheduled), 0) from pgonce.channel_status),
             (select coalesce(sum(dead_letters), 0) from pgonce.channel_status),
             (select coalesce(extract(epoch from max(p.created_at) - (select min(a.created_at) from author a)), 0) from post p)
      """;
  private static final String WAITS =
      """
      select (extract(epoch from p.created_at - a.created_at) * 1000000)::bigint
        from post p join author a on a.id = p.author_id
      """;

  /**
   * @param acknowledged how many authors were inserted, as the writers were told
   */
  static Verification of(DatabaseAddress address, long acknowledged) {
    try (var connection = address.dataSource().getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery(COUNTS)) {
      row.next();
      var authors = row.getLong(1);
      return new Verification(
          authors,
          row.getLong(2),
          row.getLong(3) + Math.max(0, acknowledged - authors),
          row.getLong(4),
          row.getLong(5),
          row.getLong(6),
          row.getDouble(7),
          waits(connection));
    } catch (SQLException e) {
      throw new CannotRunException(
          "the result cannot be counted at " + address + ": " + e.getMessage(), e);
    }
  }

  private static Histogram waits(Connection connection) throws SQLException {
    var waits = new Histogram(3);
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(WAITS)) {
      while (row.next()) {
        waits.recordValue(Math.max(0, row.getLong(1)));
      }
    }
    return waits;
  }

  /** Every author has one post, and nothing is left. */
  boolean isKept() {
    return lost == 0 && duplicates == 0 && waiting == 0 && deadLetters == 0;
  }

  /** The table at the end of a run. */
  void print(Console console) {
    row(console, "authors", authors, "inserted and committed");
    row(console, "posts", posts, "written by handlers");
    row(console, "lost", lost, "authors without a post");
    row(console, "duplicates", duplicates, "posts beyond the first of their author");
    if (waiting + deadLetters > 0) {
      row(console, "waiting", waiting, "notifications not handled");
      row(console, "dead letters", deadLetters, "select * from pgonce.dead_letter_status");
    }
    row(
        console,
        "throughput",
        Math.round(posts / Math.max(seconds, 0.001)),
        "posts per second, over " + Text.seconds(seconds));
    console.say(
        "latency      p50 %s, p99 %s, max %s from insert to post, the writer's commit and the backlog included"
            .formatted(
                Text.time(waits.getValueAtPercentile(50)),
                Text.time(waits.getValueAtPercentile(99)),
                Text.time(waits.getMaxValue())));
  }

  static void row(Console console, String what, long number, String explanation) {
    console.say("%-12s %9s  %s".formatted(what, Text.number(number), explanation));
  }
}
