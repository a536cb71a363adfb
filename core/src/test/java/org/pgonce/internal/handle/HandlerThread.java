package org.pgonce.internal.handle;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** A thread that a handler has started, and that uses its connection. */
final class HandlerThread {

  private static final Duration BOUND = Duration.ofSeconds(10);

  private final CompletableFuture<Void> done = new CompletableFuture<>();

  private final Thread thread;

  private HandlerThread(ThrowingCallable work) {
    thread = new Thread(() -> run(work), "handler-thread");
    thread.setDaemon(true);
  }

  static HandlerThread running(ThrowingCallable work) {
    var started = new HandlerThread(work);
    started.thread.start();
    return started;
  }

  boolean isWaiting() {
    var state = thread.getState();
    return state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING;
  }

  private void run(ThrowingCallable work) {
    try {
      work.call();
      done.complete(null);
    } catch (Throwable t) {
      done.completeExceptionally(t);
    }
  }

  /** Waits for the end, at most 10 s; what was thrown, or null. */
  Throwable failure() throws InterruptedException, TimeoutException {
    try {
      done.get(BOUND.toSeconds(), TimeUnit.SECONDS);
      return null;
    } catch (ExecutionException e) {
      return e.getCause();
    }
  }
}
