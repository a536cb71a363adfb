package org.pgonce.testkit;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What a run has to give back, the last first, also when it is ended by Ctrl-C or SIGTERM. (By
 * SIGKILL nothing of this runs: listeners and embedded server then notice that the run's process is
 * gone.) Safe for use by several threads.
 */
public final class Cleanup implements AutoCloseable {

  private static volatile boolean jvmEnds;

  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  private final ReentrantLock lock = new ReentrantLock();
  private final Thread hook = new Thread(this::closeAtEndOfJvm, "end-of-run");
  private boolean closed;

  public Cleanup() {
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /** Whether a signal is ending this JVM: whatever fails from now on is no news. */
  public static boolean jvmEnds() {
    return jvmEnds;
  }

  /** Gives it back before what was added earlier; at once if the run is being ended. */
  public <T extends AutoCloseable> T add(T resource) {
    lock.lock();
    try {
      if (!closed) {
        open.push(resource);
        return resource;
      }
    } finally {
      lock.unlock();
    }
    close(resource);
    throw new IllegalStateException("the run is being ended");
  }

  private void closeAtEndOfJvm() {
    jvmEnds = true;
    closeAll();
  }

  @Override
  public void close() {
    closeAll();
    if (!jvmEnds) {
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException shutdownBegan) {
        // The hook finds nothing left to do.
      }
    }
  }

  /** The lock is held throughout: who comes second waits until all is given back. */
  private void closeAll() {
    lock.lock();
    try {
      closed = true;
      while (!open.isEmpty()) {
        close(open.pop());
      }
    } finally {
      lock.unlock();
    }
  }

  private static void close(AutoCloseable resource) {
    try {
      resource.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception e) {
      System.err.println("not given back in order: " + e.getMessage());
    }
  }
}
