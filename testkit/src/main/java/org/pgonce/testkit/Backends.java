package org.pgonce.testkit;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.awaitility.Awaitility;

/**
 * The server processes (backends) that serve the connections to one database, found in {@code
 * pg_stat_activity}.
 *
 * <p>Safe for use by several threads.
 */
public final class Backends {

  private static final Duration BOUND = Duration.ofSeconds(30);

  private final TestDatabase database;
  private final Set<Integer> stopped = ConcurrentHashMap.newKeySet();

  Backends(TestDatabase database) {
    this.database = database;
  }

  /** Process ids of the backends whose client set this {@code application_name}. */
  public List<Integer> named(String applicationName) throws SQLException {
    return pids("application_name = ?", applicationName);
  }

  /**
   * Process ids of the backends whose current or, when idle, last query contains the given text.
   */
  public List<Integer> running(String partOfQuery) throws SQLException {
    return pids("position(? IN query) > 0", partOfQuery);
  }

  /** Waits, at most 30 s, until exactly one backend has this {@code application_name}. */
  public int awaitNamed(String applicationName) {
    return Awaitility.await("one backend named " + applicationName)
        .atMost(BOUND)
        .until(() -> named(applicationName), pids -> pids.size() == 1)
        .get(0);
  }

  /**
   * Waits, at most 30 s, until exactly one backend runs, or ran last, a query that contains the
   * given text.
   */
  public int awaitRunning(String partOfQuery) {
    return Awaitility.await("one backend that runs " + partOfQuery)
        .atMost(BOUND)
        .until(() -> running(partOfQuery), pids -> pids.size() == 1)
        .get(0);
  }

  private List<Integer> pids(String condition, String argument) throws SQLException {
    var sql =
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            + " AND application_name <> '%s' AND ".formatted(Asking.APPLICATION_NAME)
            + condition
            + " ORDER BY backend_start";
    try (var connection = database.dataSource().getConnection();
        var statement = connection.prepareStatement(sql)) {
      statement.setString(1, argument);
      try (var rows = statement.executeQuery()) {
        var pids = new ArrayList<Integer>();
        while (rows.next()) {
          pids.add(rows.getInt(1));
        }
        return pids;
      }
    }
  }

  /** Ends the backend by {@code pg_terminate_backend}. */
  public void terminate(int pid) throws SQLException {
    if (database.queryLong("SELECT pg_terminate_backend(%d)::int".formatted(pid)) == 0) {
      throw new IllegalStateException("Backend %d is gone already".formatted(pid));
    }
  }

  /**
   * Freezes the backend: its client sees silence on a connection that stays open. Only on embedded
   * servers; others skip the test.
   */
  public void sigstop(int pid) {
    signal(Signal.STOP, pid);
    stopped.add(pid);
  }

  /** Lets a frozen backend go on. Only on embedded servers; others skip the test. */
  public void sigcont(int pid) {
    signal(Signal.CONT, pid);
    stopped.remove(pid);
  }

  /**
   * Lets those go on that a test left frozen: they could not be ended, nor their database dropped.
   */
  void continueAll() {
    stopped.stream().filter(this::isOurs).forEach(Signal.CONT::send);
    stopped.clear();
  }

  private void signal(Signal signal, int pid) {
    if (!isOurs(pid)) {
      throw new IllegalStateException(
          "Process %d is no backend of %s".formatted(pid, database.server()));
    }
    signal.send(pid);
  }

  /** A backend that has ended may have left its pid to any process of this machine. */
  private boolean isOurs(int pid) {
    var postmaster = database.server().postmasterPid();
    return ProcessHandle.of(pid)
        .flatMap(ProcessHandle::parent)
        .filter(parent -> parent.pid() == postmaster)
        .isPresent();
  }
}
