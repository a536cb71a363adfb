package org.pgonce.internal.poll;

import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.concurrent.RepeatedTask;
import org.pgonce.internal.context.BoundedSessions;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.jdbc.Failures;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Does what no notification waits for, on a thread of its own, each task in a transaction of its
 * own: all tasks at the start, then one with each third heartbeat, in turn. A task that fails is
 * reported, and tried again in its turn; it keeps neither a poll nor another task from its work.
 * The tasks are those of {@code pgonce.keep_house} in sql/maintenance.sql.
 */
final class Housekeeping {

  private static final Logger LOG = LoggerFactory.getLogger(Housekeeping.class);

  private static final String GATES = "gates of channels";
  private static final List<String> TASKS =
      List.of("padding rows", GATES, "list of listeners", "leftovers of drops", "delivery keys");

  private static final int HEARTBEATS_PER_TASK = 3;

  // The server gives a task up after 10 s; this is for a server that does not answer.
  private static final Duration LONGEST_TASK = Duration.ofSeconds(30);

  // Of one task in a row. Each does thousands of rows.
  private static final int MOST_ROUNDS = 100;

  private static final Duration BETWEEN_WARNINGS = Duration.ofMinutes(10);

  private final ListenerContext context;
  private final UUID listener;
  private final BoundedSessions sessions;
  private final RepeatedTask rounds;
  private final Queue<String> tasks = new ConcurrentLinkedQueue<>(TASKS);
  private final AtomicInteger heartbeats = new AtomicInteger();
  // By task, when it was said last, by System.nanoTime().
  private final Map<String, Long> said = new HashMap<>();
  private final ReentrantLock lock = new ReentrantLock();
  private volatile boolean stopped;

  Housekeeping(ListenerContext context, UUID listener, BoundedSessions sessions) {
    this.context = context;
    this.listener = listener;
    this.sessions = sessions;
    this.rounds =
        new RepeatedTask(
            context.threads()::runLater, new ReentrantLock(), this::doAll, (done, again) -> null);
  }

  /** A heartbeat was sent; all tasks are done behind the first. Returns at once. */
  void heartbeat() {
    var count = heartbeats.getAndIncrement();
    if (count > 0 && count % HEARTBEATS_PER_TASK == 0) {
      tasks.add(TASKS.get(count / HEARTBEATS_PER_TASK % TASKS.size()));
    }
    if (!tasks.isEmpty()) {
      rounds.within(Duration.ZERO);
    }
  }

  /** A gate has a value that it must not have. Returns at once. */
  void mendGates() {
    if (!tasks.contains(GATES)) {
      tasks.add(GATES);
    }
    rounds.within(Duration.ZERO);
  }

  /** No task begins from now on. Returns at once. */
  void stop() {
    stopped = true;
    rounds.stop();
  }

  private @Nullable Duration doAll() {
    for (var task = tasks.poll(); task != null; task = tasks.poll()) {
      try {
        for (var round = 0; round < MOST_ROUNDS && !stopped && isLeft(task); round++) {
          LOG.trace("pgonce: there is more of {}", task);
        }
      } catch (SQLException | RuntimeException e) {
        // pgjdbc-ng throws some of what goes wrong on the wire unchecked.
        failed(task, e);
      }
    }
    return null;
  }

  /** Does the task; true if there may be more of it. */
  private boolean isLeft(String task) throws SQLException {
    return context
        .transactions()
        .run(
            connection ->
                sessions.within(
                    LONGEST_TASK,
                    connection,
                    same -> PollStatements.keepHouse(same, task, listener)));
  }

  /** Says that a task has failed, but not each time. */
  void failed(String task, Exception failure) {
    LOG.debug("pgonce: housekeeping failed, {}", task, failure);
    if (stopped || !isToBeSaid(task)) {
      return;
    }
    var reason = Failures.inWords(failure);
    LOG.warn(
        "pgonce: housekeeping failed, {}: {}. Notifications are handled all the same, and it is tried again; this is said once in {} min at the most."
            + " If it goes on, look who locks tables of schema pgonce (pg_locks), whether the disk is full, and whether the schema is as it was installed",
        task,
        reason,
        BETWEEN_WARNINGS.toMinutes());
    context.observer().databaseTrouble("", "housekeeping failed, " + task + ": " + reason);
  }

  private boolean isToBeSaid(String task) {
    lock.lock();
    try {
      var now = System.nanoTime();
      var last = said.get(task);
      if (last != null && now - last < BETWEEN_WARNINGS.toNanos()) {
        return false;
      }
      said.put(task, now);
      return true;
    } finally {
      lock.unlock();
    }
  }
}
