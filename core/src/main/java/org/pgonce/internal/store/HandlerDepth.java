package org.pgonce.internal.store;

import java.util.concurrent.Callable;

/**
 * The depth of what a handler publishes, kept for its thread: so it counts on any connection. What
 * triggers and SQL publish counts only in the handler's own transaction, by a setting.
 */
public final class HandlerDepth {

  private static final ThreadLocal<Integer> OF_THREAD = ThreadLocal.withInitial(() -> 0);

  private HandlerDepth() {}

  /** Runs the handler of a notification of this depth. */
  public static <R> R within(int depth, Callable<R> handler) throws Exception {
    OF_THREAD.set(depth + 1);
    try {
      return handler.call();
    } finally {
      OF_THREAD.remove();
    }
  }

  /** 0 if no handler runs on this thread. */
  static int ofThisThread() {
    return OF_THREAD.get();
  }
}
