package org.pgonce.benchmarks;

import java.lang.management.ManagementFactory;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import org.pgonce.testkit.TestDatabase;

/**
 * Under what a run was made: without this its figures say nothing.
 *
 * @param settings of the server, by name
 */
record Conditions(Map<String, String> settings, Instant date, double loadBefore) {

  private static final String SETTINGS =
      """
      select name, current_setting(name) from unnest(array[
        'server_version', 'fsync', 'synchronous_commit', 'commit_delay', 'shared_buffers', 'max_wal_size']) as s (name)
      """;

  static Conditions read(TestDatabase database) throws SQLException {
    var settings = new LinkedHashMap<String, String>();
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement();
        var rows = statement.executeQuery(SETTINGS)) {
      while (rows.next()) {
        settings.put(rows.getString(1), rows.getString(2));
      }
    }
    return new Conditions(settings, Instant.now().truncatedTo(ChronoUnit.SECONDS), load());
  }

  /** The machine's load average of the last minute; negative where the system tells none. */
  static double load() {
    return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
  }

  /** All of it, by name, at the end of a run. */
  Map<String, Object> atEnd() {
    var all = new LinkedHashMap<String, Object>(settings);
    all.put("cores", Runtime.getRuntime().availableProcessors());
    all.put("jdk", System.getProperty("java.runtime.version"));
    all.put("date", date.toString());
    all.put("load_before", rounded(loadBefore));
    all.put("load_after", rounded(load()));
    return all;
  }

  private static double rounded(double load) {
    return Math.round(load * 100) / 100.0;
  }
}
