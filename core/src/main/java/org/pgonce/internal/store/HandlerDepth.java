package org.pgonce.internal.store;

import java.util.concurrent.Callable;

/**
 * The depth of what a handler publishes by a Publisher on its thread, whatever the connection. For
 * triggers and SQL a setting of the handler's transaction has it.
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

  /** Runs what a handler left to be run behind it. */
  public static void runWithin(int depth, Runnable callback) {
    OF_THREAD.set(depth + 1);
    try {
      callback.run();
    } finally {
      OF_THREAD.remove();
    }
  }

  /** 0 if no handler runs on this thread. */
  public static int ofThisThread() {
    return OF_THREAD.get();
  }
}
