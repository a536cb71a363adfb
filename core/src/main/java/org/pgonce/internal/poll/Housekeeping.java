package org.pgonce.internal.poll;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.concurrent.RepeatedTask;
import org.pgonce.internal.concurrent.Throttle;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.spi.Event;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the tasks of {@code pgonce.keep_house} (sql/maintenance.sql) apart from the poll, each in a
 * transaction of its own: at the start, and with each fifteenth heartbeat. A task that fails is
 * reported, and tried again the next time.
 */
final class Housekeeping {

  private static final Logger LOG = LoggerFactory.getLogger(Housekeeping.class);

  private static final List<String> TASKS =
      List.of(
          "gates of channels",
          "padding rows",
          "list of listeners",
          "leftovers of drops",
          "delivery keys",
          "history");

  // The server gives a task up after 10 s.
  private static final String BOUND_THE_TASK =
      "SELECT pg_catalog.set_config('statement_timeout', '10s', true)";
  private static final String KEEP_HOUSE = "SELECT pgonce.keep_house(?, ?::text::uuid)";

  private static final int HEARTBEATS_BETWEEN = 15;
  private static final Duration BETWEEN_WARNINGS = Duration.ofMinutes(10);

  private final ListenerContext context;
  private final String listener;
  private final RepeatedTask work;
  private int heartbeats;
  private final Map<String, Throttle> warnings = new ConcurrentHashMap<>();
  private volatile boolean stopped;

  Housekeeping(ListenerContext context, String listener) {
    this.context = context;
    this.listener = listener;
    this.work = new RepeatedTask(context.threads(), this::runAll);
  }

  /** A heartbeat was sent. Called by the poll, one at a time; returns at once. */
  void heartbeat() {
    if (heartbeats % HEARTBEATS_BETWEEN == 0) {
      runSoon();
    }
    heartbeats++;
  }

  /** Returns at once. */
  void runSoon() {
    work.within(Duration.ZERO);
  }

  /** No task begins from now on. Returns at once. */
  void stop() {
    stopped = true;
    work.stop();
  }

  /** As {@link RepeatedTask#awaitEnd}. */
  void awaitEnd(long end) throws InterruptedException {
    work.awaitEnd(end);
  }

  /** Runs all; then again, at once, while one has more to do. */
  private @Nullable Duration runAll() {
    var more = false;
    for (var task : TASKS) {
      more |= !stopped && run(task);
    }
    return more ? Duration.ZERO : null;
  }

  /** Returns whether there may be more to do. */
  private boolean run(String task) {
    try {
      return context.transactions().run(transaction -> keepHouse(transaction, task));
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws some of what goes wrong on the wire unchecked.
      failed(task, e);
      return false;
    }
  }

  private boolean keepHouse(Connection transaction, String task) throws SQLException {
    Statements.execute(transaction, BOUND_THE_TASK);
    return Statements.row(transaction, KEEP_HOUSE, row -> row.getBoolean(1), task, listener);
  }

  /** Reports that a task has failed, each at most once in ten minutes. */
  void failed(String task, Exception failure) {
    LOG.debug("pgonce: housekeeping failed, {}", task, failure);
    if (stopped
        || !warnings.computeIfAbsent(task, any -> new Throttle(BETWEEN_WARNINGS)).permits()) {
      return;
    }
    var reason = Failures.inWords(failure);
    LOG.warn(
        "pgonce: housekeeping failed, {}: {}. Notifications are handled all the same, and it is tried again; this is said once in {} min at the most."
            + " If it goes on, look who locks tables of schema pgonce (pg_locks), whether the disk is full, and whether the schema is as it was installed",
        task,
        reason,
        BETWEEN_WARNINGS.toMinutes());
    context
        .observer()
        .on(new Event.DatabaseTrouble("", "housekeeping failed, " + task + ": " + reason));
  }
}
