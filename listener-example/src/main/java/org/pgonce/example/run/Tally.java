package org.pgonce.example.run;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Counts posts (or who heard, in BROADCAST) while they are written, on a connection of its own.
 * While the server is away it keeps to what it saw last. For one thread.
 */
final class Tally implements AutoCloseable {

  // An upper bound that costs one look into an index: handlers that were rolled back leave gaps.
  private static final String AT_MOST = "select coalesce(max(id), 0) from %s";

  private static final String BY_PROCESS =
      "select written_by, count(*) from %s group by written_by";

  // Posts become visible in another order than that of their ids, so some are missed here. The
  // report at the end misses none.
  private static final String WAITS =
      """
      select p.id, (extract(epoch from p.created_at - a.created_at) * 1000000)::bigint
        from %s p join author a on a.id = p.author_id where p.id > ? order by p.id
      """;

  private final DatabaseAddress address;
  private final String table;
  private @Nullable Connection connection;
  private long lastId;
  private long atMost;
  private Counts last = new Counts(Map.of(), new Histogram(3));

  /**
   * What has been handled.
   *
   * @param byProcess posts by the name of the process that wrote them
   * @param waits of the last posts that were counted, from insert to post, in microseconds
   */
  record Counts(Map<String, Long> byProcess, Histogram waits) {

    long posts() {
      return byProcess.values().stream().mapToLong(Long::longValue).sum();
    }

    long by(ListenerProcess process) {
      return byProcess.getOrDefault(process.name(), 0L);
    }

    /** Posts by place: those of a killed process and of its successors are one figure. */
    SortedMap<Integer, Long> byPlace() {
      return byProcess.entrySet().stream()
          .collect(
              Collectors.toMap(
                  process -> ListenerProcess.placeOf(process.getKey()),
                  Map.Entry::getValue,
                  Long::sum,
                  TreeMap::new));
    }
  }

  /**
   * @param table {@code post} or {@code heard}
   */
  Tally(DatabaseAddress address, String table) {
    this.address = address;
    this.table = table;
  }

  /** How many posts there are, or a few more. */
  long atMost() {
    try (var statement = connection().createStatement();
        var row = statement.executeQuery(AT_MOST.formatted(table))) {
      row.next();
      atMost = row.getLong(1);
    } catch (SQLException e) {
      lost();
    }
    return atMost;
  }

  Counts count() {
    try {
      var waits = waits();
      // Others count too, so there may be none since: then the figure is that of the last ones.
      last = new Counts(byProcess(), waits.getTotalCount() == 0 ? last.waits() : waits);
    } catch (SQLException e) {
      lost();
    }
    return last;
  }

  private Map<String, Long> byProcess() throws SQLException {
    try (var statement = connection().createStatement();
        var row = statement.executeQuery(BY_PROCESS.formatted(table))) {
      var byProcess = new HashMap<String, Long>();
      while (row.next()) {
        byProcess.put(row.getString(1), row.getLong(2));
      }
      return byProcess;
    }
  }

  private Histogram waits() throws SQLException {
    var waits = new Histogram(3);
    try (var statement = connection().prepareStatement(WAITS.formatted(table))) {
      statement.setLong(1, lastId);
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          lastId = row.getLong(1);
          waits.recordValue(Math.max(0, row.getLong(2)));
        }
      }
    }
    return waits;
  }

  private Connection connection() throws SQLException {
    if (connection == null) {
      connection = address.dataSource().getConnection();
    }
    return connection;
  }

  /** Connects again at the next count; whoever waits for posts gives up if none come. */
  private void lost() {
    close();
    connection = null;
  }

  @Override
  public void close() {
    if (connection != null) {
      try {
        connection.close();
      } catch (SQLException e) {
        // It is lost anyway.
      }
    }
  }
}
