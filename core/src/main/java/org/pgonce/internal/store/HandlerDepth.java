package org.pgonce.internal.store;

import java.util.concurrent.Callable;

/**
 * How deep what a handler publishes is, known by its thread: so it is counted on whatever
 * connection the handler publishes. What other code writes there is counted only in the handler's
 * own transaction, which is told by a setting.
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

  /** Of what is published now; 0 if no handler runs on this thread. */
  static int ofThisThread() {
    return OF_THREAD.get();
  }
}
