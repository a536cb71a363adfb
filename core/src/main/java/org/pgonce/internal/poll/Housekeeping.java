package org.pgonce.internal.poll;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.concurrent.RepeatedTask;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.jdbc.Failures;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tasks of {@code pgonce.keep_house} (sql/maintenance.sql), apart from the poll and each in a
 * transaction of its own: all tasks at the start, then one with each third heartbeat, in turn. A
 * task that fails is reported, and tried again in its turn.
 */
final class Housekeeping {

  private static final Logger LOG = LoggerFactory.getLogger(Housekeeping.class);

  private static final String GATES = "gates of channels";
  private static final List<String> TASKS =
      List.of("padding rows", GATES, "list of listeners", "leftovers of drops", "delivery keys");

  private static final int HEARTBEATS_PER_TASK = 3;
  private static final Duration BETWEEN_WARNINGS = Duration.ofMinutes(10);

  private final ListenerContext context;
  private final UUID listener;
  private final Queue<String> tasks = new ConcurrentLinkedQueue<>(TASKS);
  private final RepeatedTask work;
  private int heartbeats;
  // By task, when its failure was reported last, by System.nanoTime().
  private final Map<String, Long> reported = new ConcurrentHashMap<>();
  private volatile boolean stopped;

  Housekeeping(ListenerContext context, UUID listener) {
    this.context = context;
    this.listener = listener;
    this.work = new RepeatedTask(context.threads(), this::doNext);
  }

  /** A heartbeat was sent. Called by the poll, one at a time; returns at once. */
  void heartbeat() {
    if (heartbeats > 0 && heartbeats % HEARTBEATS_PER_TASK == 0) {
      tasks.add(TASKS.get(heartbeats / HEARTBEATS_PER_TASK % TASKS.size()));
    }
    heartbeats++;
    work.within(Duration.ZERO);
  }

  /** A gate has a value that does not fit. Returns at once. */
  void mendGates() {
    if (!tasks.contains(GATES)) {
      tasks.add(GATES);
    }
    work.within(Duration.ZERO);
  }

  /** No task begins from now on. Returns at once. */
  void stop() {
    stopped = true;
    work.stop();
  }

  private @Nullable Duration doNext() {
    var task = tasks.poll();
    if (task == null) {
      return null;
    }
    try {
      var isMore =
          context
              .transactions()
              .run(transaction -> PollStatements.keepHouse(transaction, task, listener));
      if (isMore) {
        tasks.add(task);
      }
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws some of what goes wrong on the wire unchecked.
      failed(task, e);
    }
    return Duration.ZERO;
  }

  /** Reports that a task has failed, each at most once in ten minutes. */
  void failed(String task, Exception failure) {
    LOG.debug("pgonce: housekeeping failed, {}", task, failure);
    var now = System.nanoTime();
    var last = reported.get(task);
    if (stopped || (last != null && now - last < BETWEEN_WARNINGS.toNanos())) {
      return;
    }
    reported.put(task, now);
    var reason = Failures.inWords(failure);
    LOG.warn(
        "pgonce: housekeeping failed, {}: {}. Notifications are handled all the same, and it is tried again; this is said once in {} min at the most."
            + " If it goes on, look who locks tables of schema pgonce (pg_locks), whether the disk is full, and whether the schema is as it was installed",
        task,
        reason,
        BETWEEN_WARNINGS.toMinutes());
    context.observer().databaseTrouble("", "housekeeping failed, " + task + ": " + reason);
  }
}
