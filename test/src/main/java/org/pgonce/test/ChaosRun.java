package org.pgonce.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.Handler;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.Tx;
import org.pgonce.internal.handle.ComposedHandler;

/** One notification and one fault: from its first run until it is handled. */
final class ChaosRun<T> implements AutoCloseable {

  // Beyond those that the faults need.
  private static final int MOST_RUNS = 5;

  // For a second holder that did not end in time, and was interrupted: before the first ends, and
  // behind it, as it may wait for the first where no interrupt reaches it.
  private static final Duration LAST_WAIT = Duration.ofSeconds(1);
  private static final Duration WAIT_BEHIND_FIRST = Duration.ofSeconds(20);

  private static final String PID = "SELECT pg_catalog.pg_backend_pid()";
  private static final String TERMINATE = "SELECT pg_catalog.pg_terminate_backend(%s, 10000)::int";

  private final PgOnceTester tester;
  private final Drain.Of<T> what;
  private final @Nullable Fault fault;
  private final @Nullable CommitCut cut;
  private int runs;
  private long id;
  private boolean hasHappened;
  private @Nullable Exception notMade;
  private @Nullable Thread second;

  ChaosRun(PgOnceTester tester, Drain.Of<T> what, @Nullable Fault fault) {
    this.tester = tester;
    this.what = what;
    this.fault = fault;
    this.cut = fault == Fault.LOSE_COMMIT_ANSWER ? CommitCut.before(tester.dataSource()) : null;
  }

  /** How often the handler has run. */
  int runs() {
    return runs;
  }

  /**
   * Returns when the notification is handled.
   *
   * @throws Exception if it is not
   */
  void toItsEnd() throws Exception {
    var over = cut == null ? tester.dataSource() : cut.dataSource();
    var first = step(over, fault == null ? what.handler() : this::withFault);
    awaitSecond();
    if (first.step() == Drain.Step.NOTHING) {
      throw Chaos.tooFew(what.channel().name());
    }
    if (runs == 0) {
      throw new IllegalStateException(
          "the handler did not run: its condition does not hold, or its payload cannot be read",
          first.failure());
    }
    if (fault == null && first.step() != Drain.Step.SETTLED) {
      // Its second run would be taken for what a run without a fault does.
      throw new IllegalStateException(
          "the handler fails without a fault: " + first.failure(), first.failure());
    }
    if (fault != null && !hasHappened) {
      throw new IllegalStateException(
          "the handler failed before the fault: " + first.failure(), first.failure());
    }
    if (notMade != null) {
      // The handler's own failure by now: pgonce would go on, and nothing would have been tried.
      throw new IllegalStateException(notMade.getMessage(), notMade);
    }
    if (cut != null && !cut.hasCut()) {
      throw new IllegalStateException("there was no commit to cut", first.failure());
    }
    var last = first;
    for (var more = 0; isLeft(); more++) {
      if (more == MOST_RUNS) {
        throw new IllegalStateException(
            "it is not handled after %d runs".formatted(runs), last.failure());
      }
      if (more > 0 && last.step() == Drain.Step.FAILED) {
        throw new IllegalStateException(
            "its run %d failed: %s".formatted(runs, last.failure()), last.failure());
      }
      last = step(tester.dataSource(), what.handler());
    }
  }

  private record Result(Drain.Step step, @Nullable Throwable failure) {}

  private Result step(DataSource over, Handler<T> handler) {
    var counted = counted(handler);
    try (var drain = tester.drain(over, what.with(counted))) {
      if (runs > 0) {
        tester.store().makeFirst(drain.subscription(), id);
      }
      var step = drain.next();
      return new Result(step, step == Drain.Step.FAILED ? drain.failure() : null);
    }
  }

  /** A condition stays one, and a list stays a list. */
  private ComposedHandler<T> counted(Handler<T> handler) {
    var whole = ComposedHandler.of(what.handler());
    return new ComposedHandler<>(
        whole.condition(),
        (notifications, tx) -> {
          begins(notifications.get(0).id());
          if (handler == what.handler()) {
            whole.handler().handle(notifications, tx);
          } else {
            handler.handle(notifications.get(0), tx);
          }
        },
        whole.takesList());
  }

  private void begins(long claimed) {
    if (runs > 0 && claimed != id) {
      throw new IllegalStateException(
          "notification %d was claimed before %d was handled: does its key, or another listener, hold it?"
              .formatted(claimed, id));
    }
    id = claimed;
    runs++;
  }

  private boolean isLeft() {
    var left =
        tester.store().all().stream()
            .filter(
                row ->
                    row.id() == id
                        && row.channel().equals(what.channel().name())
                        && row.subscription().equals(what.subscription()))
            .findFirst()
            .orElse(null);
    if (left != null && left.dead() != null) {
      throw new IllegalStateException("it is a dead letter: " + left.error());
    }
    return left != null;
  }

  private void withFault(Notification<T> notification, Tx tx) throws Exception {
    // Before the handler, which may leave the transaction failed.
    var pid = tx.query(PID, row -> row.getLong(1)).get(0);
    ComposedHandler.of(what.handler()).handler().handle(List.of(notification), tx);
    hasHappened = true;
    try {
      happen(pid);
    } catch (Exception e) {
      notMade = e;
      throw e;
    }
    if (fault == Fault.FAIL_ONCE_AFTER) {
      throw new IllegalStateException("chaos: the handler fails after its work");
    }
  }

  private void happen(long pid) throws Exception {
    switch (Objects.requireNonNull(fault)) {
      case KILL_BEFORE_COMMIT -> terminate(pid);
      case LOSE_COMMIT_ANSWER -> cutNextCommit();
      case RUN_TWICE -> {
        // The end of a lease leaves the session to the second holder, which ends it.
        if (what.channel().mode() == Mode.EXACTLY_ONCE) {
          terminate(pid);
        }
        second();
      }
      case FAIL_ONCE_AFTER -> {} // by its end
    }
  }

  private void terminate(long pid) throws SQLException {
    if (tester.count(TERMINATE.formatted(pid)) != 1) {
      throw new SQLException("the server did not end session " + pid + " within 10 s");
    }
  }

  private void cutNextCommit() {
    if (cut != null) {
      cut.cutNextCommit();
    }
  }

  /** Another holder handles it, as when a lease is over: the first does not know. */
  private void second() throws Exception {
    var result = onAThreadOfItsOwn(() -> step(tester.dataSource(), what.handler()));
    if (result.failure() != null) {
      throw new IllegalStateException(
          "its second run failed: " + result.failure(), result.failure());
    }
    if (isLeft()) {
      throw new IllegalStateException("another holder could not handle it");
    }
  }

  /** As another process would: what the first run has bound to its thread is not there. */
  private <R> R onAThreadOfItsOwn(Callable<R> work) throws Exception {
    var task = new FutureTask<>(work);
    var thread = new Thread(task, "pgonce-test second holder");
    thread.setDaemon(true);
    second = thread;
    thread.start();
    try {
      return task.get(tester.longest().toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception failure ? failure : e;
    } catch (TimeoutException e) {
      throw new IllegalStateException(
          "its second run did not end within %s: does it wait for the first? Else raise the time: PgOnceTester.bounds"
              .formatted(tester.longest()),
          e);
    } finally {
      thread.interrupt();
      thread.join(LAST_WAIT.toMillis()); // so that it leaves the next run alone
    }
  }

  /** Else it would work on beside the next fault, and its effects would be counted there. */
  private void awaitSecond() throws InterruptedException {
    if (second == null) {
      return;
    }
    second.join(WAIT_BEHIND_FIRST.toMillis());
    if (second.isAlive()) {
      throw new IllegalStateException(
          "its second run goes on %s behind the first, though it was interrupted: what it does would be counted for the next fault. Let the handler end when it is interrupted, or bound what it waits for"
              .formatted(WAIT_BEHIND_FIRST));
    }
  }

  @Override
  public void close() {
    try {
      if (cut != null) {
        cut.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
